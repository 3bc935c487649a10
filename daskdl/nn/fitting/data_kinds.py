"""Kinds of data: those that a source opens, and minibatches in memory."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from daskdl.data.pairs import is_pair
from daskdl.data.sources.memory import MemorySources
from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions, open_source, opened_by
from daskdl.errors import OptionError
from daskdl.nn.batches import Batch, minibatches
from daskdl.nn.fitting.class_names import check_class_names
from daskdl.nn.fitting.preparation import given_options, options_for

if TYPE_CHECKING:
    from daskdl.nn.network import Network

# Of one forward pass over data in files and columns, if nothing is said.
_BATCH_SIZE = 256


def is_stored(data: Any) -> bool:
    """Return whether data are opened by a source of columns, chunks or files."""
    if isinstance(data, Source):
        return True
    # Asked first: looking for the others takes longer than a small fit.
    if isinstance(data, Iterator) or MemorySources().accepts(data):
        return False
    try:
        opened_by(data)
    except OptionError:
        return False
    return True


def is_several(data: Any) -> bool:
    """Return whether data are a list of minibatches in memory."""
    is_list = isinstance(data, list | tuple) and not is_pair(data)
    return is_list and bool(data) and MemorySources().accepts(data)


def batches_of(
    who: str,
    network: "Network[Any]",
    data: Any,
    batch_size: int | None,
    options: SourceOptions | None,
    source_options: dict[str, Any],
) -> Iterator[Batch]:
    """Return the minibatches of one pass over data with labels.

    Parameters
    ----------
    who : str
        Named in errors.
    network : Network
        What the data are for.
    data, batch_size, options, source_options
        As :meth:`daskdl.nn.network.Network.fit` takes them.

    Raises
    ------
    DataError, OptionError
        If there is no minibatch, or an option does not go with the data.
    """
    if options is None and not source_options and not is_stored(data):
        return minibatches(who, data, batch_size)
    asked = options_for(network, given_options(who, options, source_options), data)
    source = open_source(data, asked)
    check_class_names(network, source)
    loaded = _counted(network, source)
    return minibatches(source.name, loaded, batch_size or _BATCH_SIZE)


def _counted(network: "Network[Any]", source: Source) -> Iterator[Batch]:
    """Yield the blocks of a source; the network is told what was left out."""
    network.last_skipped = 0
    for partition in source.partitions:
        for rows in partition.load_rows():
            network.last_skipped += rows.skipped
            yield rows.examples
