"""From the user's data to minibatches that are known to fit the network.

Everything that can be refused is refused here, before a worker trains: every partition
is loaded once, its rows are counted and checked, and the shapes are held against the
network. The same pass collects what a normalizer needs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskdl.checks import check_count, check_type, did_you_mean, some
from daskdl.data.blocks import block_streams
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.pairs import is_pair
from daskdl.data.plan import (
    Minibatch,
    deal,
    plan_given,
    plan_minibatches,
    shuffle,
    shuffle_in_windows,
)
from daskdl.data.pre_processors.partition import keep_features
from daskdl.data.room import LEAST_ROOM, Room
from daskdl.data.scan import PartitionFacts, merge_facts, scan_partition
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.data.sources.text_options import hint_at_option
from daskdl.errors import DataError, OptionError, ShapeError
from daskdl.nn.conf.axes import feature_axis
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.conf.network import ComputationGraphConfiguration
from daskdl.nn.fitting.class_names import take_class_names
from daskdl.nn.fitting.events import FitStarted
from daskdl.nn.fitting.run_state import DataFingerprint
from daskdl.nn.fitting.trained import Trained, network_of
from daskdl.nn.loss_evaluations import CLASS_LOSSES, check_class_outputs, tells_classes
from daskdl.nn.normalizing import check_classes_kept, settle_axis

if TYPE_CHECKING:
    from daskdl.nn.network import Network

_OF_ALL = ("batch_size", "normalizer", "options")
_OF_FIT = ("epochs", "shuffle", "listeners", "resume")
# What others call it.
_ELSEWHERE = {
    "training_hooks": " They are those of a training master, which DaskMultiLayer, "
    "DaskComputationGraph and ParallelWrapper take; in one process give listeners.",
    "training_master": " DaskMultiLayer and DaskComputationGraph take it, which train "
    "on a cluster.",
    "callbacks": " Use listeners.",
    "validation_data": " Give listeners=daskdl.EvaluativeListener(data), or "
    "daskdl.EarlyStopping(data).",
}

Scan = Callable[[Sequence[Partition], dict[str, Any]], list[PartitionFacts]]


@dataclass(frozen=True)
class PreparedData:
    """A source whose every row was checked, cut into minibatches.

    Attributes
    ----------
    source : Source
        Where the rows come from; blocks of large partitions are partitions here.
    facts : PartitionFacts
        Rows and shapes of all partitions together.
    minibatches : tuple of Minibatch
        In the order of the source.
    normalizer : Normalizer or None
        Fitted; what the network applies to every minibatch.
    nbytes : tuple of int
        What each partition holds when it is loaded.
    streams : tuple of int
        Which partitions are blocks of one that is stored: those of one number.
    """

    source: Source
    facts: PartitionFacts
    minibatches: tuple[Minibatch, ...]
    normalizer: Normalizer | None
    nbytes: tuple[int, ...]
    streams: tuple[int, ...]

    @property
    def examples(self) -> int:
        """Number of examples."""
        return self.facts.rows

    @property
    def fingerprint(self) -> DataFingerprint:
        """What shows that a run that goes on has the same data."""
        return DataFingerprint.of(self.source, self.minibatches)

    def started(
        self, epochs: int, workers: tuple[str, ...], layer: str | None = None
    ) -> FitStarted:
        """Return what listeners hear when workers begin to train on these data."""
        return FitStarted(
            workers=workers,
            examples=self.examples,
            minibatches=len(self.minibatches),
            epochs=epochs,
            skipped=self.facts.skipped,
            layer=layer,
        )

    def fits(self, room: Room, n_workers: int = 1) -> bool:
        """Whether memory holds all examples: nothing has to be read ahead."""
        held = sum(self.nbytes) // max(1, n_workers)
        return self.source.in_memory or held <= room.cache_bytes

    def ahead_bytes(self, room: Room) -> int:
        """Return how much is read ahead of data that do not fit: a window, or a block.

        As long as one is trained the next can be read.
        """
        return max(room.window_bytes, *self.nbytes)

    def epoch(
        self,
        epoch: int,
        n_workers: int,
        *,
        shuffled: bool,
        seed: int,
        room: Room = LEAST_ROOM,
    ) -> list[list[Minibatch]]:
        """Return the minibatches of each worker in an epoch, in its order.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 0.
        n_workers : int
        shuffled : bool
            Whether the order is random.
        seed : int
            Of the run.
        room : Room
            In each worker; decides the order of data that it does not hold.

        Notes
        -----
        Data in memory are dealt in turn, so that the order of training is that of one
        process. Stored data are dealt in contiguous blocks, so that each file is read
        by as few workers as can be, and each worker visits its block in another order
        every epoch: a random one where it can be held in memory, else one in which each
        partition is loaded once.
        """
        if self.source.in_memory:
            order = (
                shuffle(self.minibatches, seed, epoch)
                if shuffled
                else list(self.minibatches)
            )
            return deal(order, n_workers, interleaved=True)
        blocks = deal(self.minibatches, n_workers, interleaved=False)
        if not shuffled:
            return blocks
        return [
            shuffle_in_windows(block, self.nbytes, self.streams, room, seed, epoch)
            for block in blocks
        ]


def scan_here(
    partitions: Sequence[Partition], how: dict[str, Any]
) -> list[PartitionFacts]:
    """Scan the partitions one after the other in this process.

    Parameters
    ----------
    partitions : sequence of Partition
    how : dict
        Of :func:`scan_options`.
    """
    return [scan_partition(partition, **how) for partition in partitions]


def scan_options(
    trained: Trained,
    normalizer: Normalizer | None,
) -> dict[str, Any]:
    """Return the arguments of a scan of data for a network, or a layer of one.

    So that the normalizer can be fitted, if it is one that is not; and so that what the
    network would not take is refused.
    """
    how: dict[str, Any] = {
        "statistics": False,
        "check": trained.partition_check(normalizer),
    }
    if normalizer is None or normalizer.is_fitted:
        return how
    return how | {
        "statistics": True,
        "label_statistics": normalizer.is_fit_label,
        "feature_axis": normalizer.feature_axis,
    }


def prepare(
    trained: Trained,
    data: Any,
    options: SourceOptions | None = None,
    *,
    batch_size: int | None = None,
    normalizer: Normalizer | None = None,
    scan: Scan = scan_here,
) -> PreparedData:
    """Open, check and cut `data` for a network, or for pretraining a layer of one.

    A network without names of classes takes those that are stored with the labels;
    pretraining reads none.

    Parameters
    ----------
    trained : Network or LayerPretraining
        What the data are for.
    data, options
        See :func:`daskdl.data.sources.source.open_source`. The number of classes and
        the width of the features are taken from the network unless given.
    batch_size : int, optional
        Examples of a minibatch. Data that are minibatches already keep theirs unless
        this is given; all others need it.
    normalizer : Normalizer, optional
        Fitted in the same pass unless it is already.
    scan : callable
        Runs the scan; a cluster runs one task a partition.

    Returns
    -------
    PreparedData

    Raises
    ------
    DataError, ShapeError
        When a row cannot be used, or shapes do not fit the network.
    OptionError
        When `batch_size` is needed and missing.
    """
    network = network_of(trained)
    if trained is not network:
        options = replace(options or SourceOptions(), require_labels=False)
    for one in (normalizer, *_single(options.pre_processor if options else ())):
        check_classes_kept("fit", one, network.labels)
    source = open_source(data, options_for(network, options, data))
    _check_batch_size(source, batch_size)
    unfitted = None if normalizer is None or normalizer.is_fitted else normalizer
    if normalizer is not None:
        settle_axis("fit", normalizer, network.inputs, network.outputs)
    how = scan_options(trained, normalizer)
    each = (scan_here if source.in_memory else scan)(source.partitions, how)
    if not any(entry.rows for entry in each):
        raise DataError(f"{source.name}: must hold at least one example, got none.")
    facts = merge_facts(each, align=source.partitions[0].align)
    _check_fits(trained, source, facts, None)
    if unfitted is not None:
        unfitted.fit_statistics(facts.statistics or (), facts.label_statistics or ())
    _check_fits(trained, source, facts, normalizer)
    if trained is network:
        take_class_names(network, source)
    partitions, streams = block_streams(
        source.partitions, [entry.blocks for entry in each]
    )
    sizes = [size for entry in each for size in entry.blocks]
    rows = [size.rows for size in sizes]
    minibatches = (
        plan_given(rows) if batch_size is None else plan_minibatches(rows, batch_size)
    )
    return PreparedData(
        replace(source, partitions=partitions),
        facts,
        tuple(minibatches),
        normalizer,
        tuple(size.nbytes for size in sizes),
        streams,
    )


def given_options(
    who: str, options: SourceOptions | None, changes: Mapping[str, Any]
) -> SourceOptions:
    """Return options with those that were given by name to the method `who`.

    Raises
    ------
    OptionError
        If there is no such option.
    """
    if options is None:
        options = SourceOptions()
    check_type(who, "options", options, SourceOptions)
    known = {field.name for field in fields(SourceOptions)}
    for name in changes:
        if name not in known:
            called = who.rpartition(".")[2]
            raise OptionError(
                f"{who}: options must be those of {called} or SourceOptions, got "
                f"{name!r}.{_meant(name, called, known)}"
            )
    return replace(options, **changes)


def _meant(name: str, called: str, known: set[str]) -> str:
    """Return a hint at the option that is meant by a name that is none."""
    own = {*known, *_OF_ALL}
    if hint := hint_at_option(name):
        return hint
    if called != "fit":
        return did_you_mean(name, own)
    return _ELSEWHERE.get(name) or did_you_mean(name, {*own, *_OF_FIT})


def options_for(
    network: "Network[Any]", options: SourceOptions | None, data: Any
) -> SourceOptions:
    """Return `options` with the network's dtype, classes and shapes filled in.

    Columns that are named by input or output are expanded into the network's order.

    Raises
    ------
    OptionError
        If the names are not those of the network's inputs and outputs.
    """
    options = options if options is not None else SourceOptions()
    options = replace(_columns_in_order(network, options), dtype=str(network.dtype))
    first = data[0] if isinstance(data, list) and data else data
    if isinstance(first, MultiDataSet):
        return options
    changes: dict[str, Any] = {}
    n_classes = _n_classes(network)
    # The network itself makes rows of the classes of data in memory.
    if options.n_classes is None and not _is_in_memory(data):
        changes["n_classes"] = n_classes
    if options.class_names is None and network.class_names is not None:
        changes["class_names"] = network.class_names
    # The network knows what comes out of preprocessors, not what goes in.
    if options.align is not None:
        changes |= _series(network)
    is_known = keep_features(options.pre_processor)
    if isinstance(options.features, dict) or len(network.inputs) > 1 or not is_known:
        return replace(options, **changes)
    shape = network.inputs[0].type.border_shape
    if options.n_features is None and len(shape) == 1:
        changes["n_features"] = shape[0]
    # Sizes that a network leaves open, the data must tell.
    if options.feature_shape is None and len(shape) > 2 and None not in shape:
        changes["feature_shape"] = shape
    return replace(options, **changes)


def _series(network: "Network[Any]") -> dict[str, Any]:
    """Return which inputs and outputs are time series, for sources that align them."""
    who = type(network).__name__
    types = [spec.type for spec in (*network.inputs, *network.outputs)]
    flags = [isinstance(one, Recurrent) and one.data_format for one in types]
    features = tuple(flags[: len(network.inputs)])
    if not any(features):
        raise OptionError(
            f"{who}: align is for time series, but no input is one. Leave it out."
        )
    return {"series_features": features, "series_labels": tuple(flags[len(features) :])}


def _single(pre_processors: Iterable[Any]) -> Iterator[Any]:
    """Yield single preprocessors and normalizers, out of those that hold several."""
    for one in pre_processors:
        held = getattr(one, "pre_processors", None)
        yield from [one] if held is None else _single(held)


def _is_in_memory(data: Any) -> bool:
    items = data if isinstance(data, list | tuple) and not is_pair(data) else [data]
    return all(isinstance(item, DataSet) or is_pair(item) for item in items)


def class_axes(network: "Network[Any]") -> list[int | None]:
    """Return which axis of each output holds classes; None where there are none."""
    return [
        feature_axis(spec.type) if tells_classes(loss) else None
        for spec, loss in zip(network.outputs, network.output_losses, strict=True)
    ]


def _check_batch_size(source: Source, batch_size: int | None) -> None:
    if batch_size is not None:
        check_count("fit", "batch_size", batch_size)
    elif not source.minibatches:
        raise OptionError(
            f"fit: batch_size must be given for {source.name}, got None. Only lists "
            "of DataSets and minibatch files bring their own."
        )


def _columns_in_order(network: "Network[Any]", options: SourceOptions) -> SourceOptions:
    """Hold the names of inputs and outputs against the network's own."""
    if not isinstance(network.conf, ComputationGraphConfiguration):
        for option, columns in (
            ("features", options.features),
            ("label", options.label),
        ):
            if isinstance(columns, dict):
                raise OptionError(
                    f"{type(network).__name__}: {option} must be columns, not a "
                    f"mapping, since there is one input and output, got {columns!r}."
                )
        return options
    names = {"features": list(network.conf.inputs), "label": list(network.conf.outputs)}
    changes = {
        option: _in_order(option, getattr(options, option), wanted)
        for option, wanted in names.items()
        # Predictions read no labels.
        if option == "features" or options.require_labels
    }
    if all(len(wanted) == 1 for wanted in names.values()):
        # One input and one output make plain data sets.
        for option, columns in changes.items():
            if isinstance(columns, dict):
                (changes[option],) = columns.values()
    if "label" not in changes:
        changes["label"] = None
    return replace(options, **changes)


def _in_order(option: str, columns: Any, names: list[str]) -> Any:
    what = "input" if option == "features" else "output"
    if not isinstance(columns, dict):
        if columns is not None and len(names) > 1:
            raise OptionError(
                f"ComputationGraph: {option} must map each {what} to its columns, "
                f"{some(names)}, got {columns!r}."
            )
        return columns
    for name in columns:
        if name not in names:
            raise OptionError(
                f"ComputationGraph: {option} must name its {what}s, {some(names)}, got "
                f"{name!r}.{did_you_mean(name, names)}"
            )
    for name in names:
        if name not in columns:
            raise OptionError(
                f"ComputationGraph: {option} must name the columns of every {what}, "
                f"got none for {name!r}."
            )
    return {name: columns[name] for name in names}


def _n_classes(network: "Network[Any]") -> int | tuple[int | None, ...] | None:
    """Return the number of classes of each output, None where there are none."""
    check_class_outputs(network)
    outputs = zip(network.output_losses, network.output_layer_n_out, strict=True)
    classes = tuple(n_out if loss in CLASS_LOSSES else None for loss, n_out in outputs)
    return classes[0] if len(classes) == 1 else classes


def check_scanned(
    trained: Trained,
    source: Source,
    partition: Partition,
    normalizer: Normalizer | None,
) -> int:
    """Refuse a partition whose examples do not fit; return how many it has.

    Parameters
    ----------
    trained : Network or LayerPretraining
        What the data are for.
    source : Source
        Named in errors.
    partition : Partition
        Read through.
    normalizer : Normalizer or None
        Fitted; what the data will go through.

    Raises
    ------
    DataError, ShapeError
        As :func:`prepare` does.
    """
    facts = scan_partition(
        partition, statistics=False, check=trained.partition_check(normalizer)
    )
    if facts.rows:
        _check_fits(trained, source, facts, None)
        _check_fits(trained, source, facts, normalizer)
    return facts.rows


def _check_fits(
    trained: Trained,
    source: Source,
    facts: PartitionFacts,
    normalizer: Normalizer | None,
) -> None:
    sample = _sample(facts)
    try:
        trained.check_batch(sample)
        if normalizer is not None:
            normalizer.transform(MultiDataSet.of(sample))
    except ShapeError as error:
        raise ShapeError(f"{source.name}: {error}") from error


def _sample(facts: PartitionFacts) -> DataSet | MultiDataSet:
    """Return one example of zeros with the shapes that were found."""
    features = [np.zeros((1, *shape), np.float32) for shape in facts.features]
    labels = [np.zeros((1, *shape), np.float32) for shape in facts.labels]
    masks = [
        [
            None if shape is None else np.ones((1, *shape), np.float32)
            for shape in shapes
        ]
        or None
        for shapes in (facts.features_masks, facts.labels_masks)
    ]
    if len(features) == 1 and len(labels) <= 1:
        firsts = [None if mask is None else mask[0] for mask in masks]
        return DataSet(features[0], labels[0] if labels else None, *firsts)
    return MultiDataSet(features, labels, *masks)
