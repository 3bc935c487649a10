"""The check of data that a listener evaluates on, before a network is trained.

What is in memory is looked at whole, as data of the training are. Of files the first
minibatch is: to read them through may take as long as to evaluate on them.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.memory import MemorySources
from daskdl.data.sources.partition import LoadedRows, Source, StoredThrough
from daskdl.data.sources.source import SourceOptions, open_source, opened_by
from daskdl.errors import DataError, OptionError, ShapeError
from daskdl.nn.batches import Batch, minibatches
from daskdl.nn.fitting.batch_check import check_batch
from daskdl.nn.fitting.class_names import check_class_names
from daskdl.nn.fitting.data_kinds import is_stored
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.preparation import check_scanned, given_options, options_for
from daskdl.nn.fitting.trained import Trained, network_of
from daskdl.nn.normalizing import NormalizerChoice, chosen_normalizer
from daskdl.nn.passes import is_in_memory
from daskdl.nn.pretraining import LayerPretraining

__all__ = ["check_evaluated"]

# What evaluations on a cluster take besides.
_OF_CLUSTERS = ("eval_num_workers", "resources", "start_timeout_s", "workers")


def check_evaluated(
    name: str,
    fit: Fit,
    data: Any,
    *,
    trained: "Trained | None" = None,
    restorable: bool = False,
    **how: Any,
) -> None:
    """Refuse data that the network of a fit cannot be evaluated on.

    Parameters
    ----------
    name : str
        Of the evaluation, in front of messages: they speak of data, and there are those
        of the training, too.
    fit : Fit
        As it begins.
    data, **how
        As ``evaluate`` takes them. Iterators, collections of Dask, and DataFrames and
        RDDs of Spark are not looked at: that could be done only once, or would take a
        cluster. An iterator is refused where there are several epochs.
    trained : LayerPretraining, optional
        If a layer is evaluated: then no labels are needed.
    restorable : bool
        Refuse arrays and DataSets that the layer cannot restore, as its training does.

    Raises
    ------
    DataError, ShapeError, OptionError
        As ``fit`` says it of such data.
    """
    if isinstance(data, Iterator) and fit.epochs > 1:
        raise OptionError(
            f"{name}: data must be there in each of {fit.epochs} epochs, got "
            f"{type(data).__name__}, which yields once. Give a list."
        )
    given = {key: value for key, value in how.items() if key not in _OF_CLUSTERS}
    on_cluster = fit.master is not None
    try:
        _check(
            trained or fit.network,
            data,
            on_cluster=on_cluster,
            restorable=restorable,
            **given,
        )
    except (DataError, OptionError, ShapeError) as error:
        raise type(error)(f"{name}: {error}") from error


def _check(
    trained: Trained,
    data: Any,
    *,
    on_cluster: bool,
    restorable: bool,
    batch_size: int | None = None,
    normalizer: NormalizerChoice = "own",
    options: SourceOptions | None = None,
    **source_options: Any,
) -> None:
    network = network_of(trained)
    who = f"{type(network).__name__}.evaluate"
    used = chosen_normalizer(who, network.normalizer, normalizer)
    if used is not None and not used.is_fitted:
        used = None
    asked = given_options(who, options, source_options)
    is_given_options = options is not None or bool(source_options)
    if on_cluster and not isinstance(data, Source):
        # In its words: it takes no iterators, nor lists that are empty.
        opened_by(data)
    if is_stored(data) or (is_given_options and MemorySources().accepts(data)):
        if _is_at_hand(data):
            _check_source(trained, data, asked, used)
    elif not isinstance(data, Iterator):
        check = partial(check_batch, trained, trained.partition_check(used), who)
        _check_given(who, trained, data, batch_size, check)
        # What an open normalizer will make of the data, nobody knows yet.
        is_settled = used is not None or network.normalizer is None
        if restorable and is_settled and is_in_memory(data):
            with network.normalizing(normalizer):
                _check_restorable(trained, minibatches(who, data, batch_size))


def _is_at_hand(data: Any) -> bool:
    """Return whether data can be looked at here: arrays, tables and files."""
    if isinstance(data, Source | str | os.PathLike) or MemorySources().accepts(data):
        return True
    if isinstance(data, list | tuple):
        return all(isinstance(item, str | os.PathLike) for item in data)
    return type(data).__module__.partition(".")[0] in ("pandas", "pyarrow")


def _check_given(
    who: str, trained: Trained, data: Any, batch_size: int | None, check: Any
) -> None:
    """Look at arrays and DataSets, of what yields some at the first."""
    if not is_in_memory(data):
        check(next(minibatches(who, data, batch_size)))
        return
    for batch in minibatches(who, data, None):
        check(batch)
    for batch in minibatches(who, data, batch_size):
        _check_not_empty(who, batch)


def _check_restorable(trained: Trained, batches: Iterator[Batch]) -> None:
    if isinstance(trained, LayerPretraining):
        trained.check_restorable(batches)


def _check_not_empty(who: str, batch: Batch) -> None:
    if not len(batch):
        raise DataError(f"{who}: a minibatch must hold an example, got none.")


def _check_source(
    trained: Trained, data: Any, options: SourceOptions, normalizer: Any
) -> None:
    network = network_of(trained)
    if trained is not network:
        options = replace(options, require_labels=False)
    source = open_source(data, options_for(network, options, data))
    check_class_names(network, source)
    looked_at: Sequence[Any] = source.partitions
    if not source.in_memory:
        looked_at = [_FirstExamples(one) for one in source.partitions]
    n_examples = 0
    for partition in looked_at:
        n_examples += check_scanned(trained, source, partition, normalizer)
        if n_examples and not source.in_memory:
            return
    if not n_examples:
        raise DataError(f"{source.name}: must hold at least one example, got none.")


class _FirstExamples(StoredThrough):
    """The first block of a partition that has examples."""

    def __init__(self, stored: Any) -> None:
        self.stored, self.name, self.rows = stored, stored.name, None

    def load(self) -> DataSet | MultiDataSet:
        """Load them."""
        return next(self.load_rows()).examples

    def load_rows(self) -> Iterator[LoadedRows]:
        """Yield the first block with examples, or the last."""
        for rows in self.stored.load_rows():
            if len(rows.examples):
                break
        yield rows
