"""How many copies of a file HDFS keeps, and in blocks of which size."""

from dataclasses import dataclass

from daskdl.checks import check_positive
from daskdl.errors import OptionError

__all__ = ["HdfsWriteOptions"]

# What a checksum of HDFS covers; a NameNode refuses blocks that are no multiple.
_CHECKED_BYTES = 512


@dataclass(frozen=True, kw_only=True)
class HdfsWriteOptions:
    """Options of files that are written to HDFS.

    Parameters
    ----------
    replication : int, optional
        Copies of each block; the cluster's ``dfs.replication`` if not given.
    block_size : int, optional
        Bytes of a block, a multiple of 512; ``dfs.blocksize`` if not given.

    Raises
    ------
    OptionError
        If a value is not possible.
    """

    replication: int | None = None
    block_size: int | None = None

    def __post_init__(self) -> None:
        for name in ("replication", "block_size"):
            value = getattr(self, name)
            if value is not None:
                check_positive("storage_options", name, value)
        if self.block_size is not None and self.block_size % _CHECKED_BYTES:
            raise OptionError(
                f"storage_options: block_size must be a multiple of {_CHECKED_BYTES}, "
                f"got {self.block_size}."
            )


def write_options_from(
    replication: int | str | None, block_size: int | str | None
) -> HdfsWriteOptions:
    """Return the options of values that may come as text.

    Raises
    ------
    OptionError
        If one is no whole number, or not possible.
    """
    return HdfsWriteOptions(
        replication=_whole("replication", replication),
        block_size=_whole("block_size", block_size),
    )


def _whole(name: str, value: int | str | None) -> int | None:
    if value is None:
        return None
    try:
        return int(str(value))
    except ValueError as error:
        raise OptionError(
            f"storage_options: {name} must be a whole number, got {value!r}."
        ) from error
