"""Versions of client, scheduler and workers, and whether they go together."""

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from daskdl.checks import some
from daskdl.errors import VersionMismatchError

__all__ = ["check_versions"]

logger = logging.getLogger(__name__)


def check_versions(versions: Mapping[str, Any]) -> None:
    """Refuse a cluster whose packages differ from the client's; warn if they may.

    Parameters
    ----------
    versions : mapping
        As ``distributed.Client.get_versions(packages=["daskdl"])`` returns them.

    Raises
    ------
    VersionMismatchError
        If daskdl or distributed differ at all, or Python or NumPy in the second
        number. The scheduler needs no NumPy.
    """
    client = _packages(versions["client"])
    found = _all_differences(_SIGNIFICANT, client, versions)
    if not found:
        if doubtful := _all_differences(_DOUBTFUL, client, versions):
            logger.warning(
                "connect: scheduler and workers should run the client's versions, got "
                "%s. What is sent between them may not be understood.",
                some(doubtful),
            )
        return
    raise VersionMismatchError(
        "connect: scheduler and workers must run the client's versions, got "
        f"{some(found)}. Install the same versions everywhere."
    )


def _all_differences(
    packages: Mapping[str, Callable[[str | None], Any]],
    client: Mapping[str, str | None],
    versions: Mapping[str, Any],
) -> list[str]:
    return [
        text
        for package, significant in packages.items()
        for text in _differences(package, significant, client, versions)
    ]


def _differences(
    package: str,
    significant: Callable[[str | None], Any],
    client: Mapping[str, str | None],
    versions: Mapping[str, Any],
) -> Iterator[str]:
    mine = client.get(package)
    for who, theirs in _others(package, versions):
        if significant(theirs) != significant(mine):
            yield (
                f"{package} {_shown(package, mine)} here, "
                f"{_shown(package, theirs)} on {who}"
            )


def _others(
    package: str, versions: Mapping[str, Any]
) -> Iterator[tuple[str, str | None]]:
    if package != "numpy":
        yield "the scheduler", _packages(versions["scheduler"]).get(package)
    for address, facts in versions["workers"].items():
        yield f"worker {address}", _packages(facts).get(package)


def _packages(facts: Mapping[str, Any] | None) -> Mapping[str, str | None]:
    packages: Mapping[str, str | None] = facts["packages"] if facts else {}
    return packages


def _whole(version: str | None) -> str | None:
    return version


def _minor(version: str | None) -> tuple[str, ...] | None:
    return tuple(version.split(".")[:2]) if version else None


def _shown(package: str, version: str | None) -> str:
    if not version:
        return "not installed"
    return ".".join(version.split(".")[:3]) if package == "python" else version


# Pickled classes of daskdl and distributed's messages may change with every release;
# Python's byte code and NumPy's pickles hold within a minor version.
_SIGNIFICANT: dict[str, Callable[[str | None], Any]] = {
    "daskdl": _whole,
    "distributed": _whole,
    "python": _minor,
    "numpy": _minor,
}
# What makes and reads messages. Others may differ: pandas, say.
_DOUBTFUL: dict[str, Callable[[str | None], Any]] = {
    "cloudpickle": _whole,
    "dask": _whole,
    "msgpack": _minor,
}
