"""Training in this process, of whatever data there are."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from daskdl.checks import check_count, check_type
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.plan import shuffle as shuffled
from daskdl.data.prefetching import prefetch
from daskdl.data.reader import MinibatchReader
from daskdl.data.room import room_here
from daskdl.data.scan import PartitionFacts, scan_partition
from daskdl.data.sources.partition import Partition
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import OptionError, ShapeError
from daskdl.kernels.jit import numba_is_used
from daskdl.nn.batches import (
    Batch,
    as_arrays,
    check_batch_size,
    check_readable,
    minibatches,
)
from daskdl.nn.data_checks import PartitionCheck
from daskdl.nn.divergence import check_finite
from daskdl.nn.fitting.compiling import start_compiling
from daskdl.nn.fitting.data_kinds import is_several, is_stored
from daskdl.nn.fitting.events import FitStarted
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.preparation import given_options, prepare
from daskdl.nn.fitting.progress import hearing_of
from daskdl.nn.loss_evaluations import check_class_outputs
from daskdl.nn.normalizing import (
    NormalizerChoice,
    check_classes_kept,
    chosen_normalizer,
    settle_axis,
)
from daskdl.nn.passes import is_in_memory, passes_over

if TYPE_CHECKING:
    from daskdl.nn.network import Network

Pass = Callable[[int], Iterable[Batch]]
"""Begins a pass over the minibatches, of the epoch of the network with this number."""

Count = Callable[[], int | None]
"""Returns how many examples a pass has; None where only the end of the data tells."""


@dataclass(frozen=True)
class Task:
    """A fit that is prepared.

    Attributes
    ----------
    who : str
        Named in errors.
    begin : callable
        Begins a pass over the minibatches.
    examples : callable
        Returns the number of examples of a pass, None if nobody knows.
    fit : Fit
        What listeners are told.
    normalizer : Normalizer or None
        What the minibatches go through.
    loads : callable
        Returns how often a part of stored data was read to be trained.
    """

    who: str
    begin: Pass
    examples: Count
    fit: Fit
    normalizer: Normalizer | None
    loads: Callable[[], int]


def prepared(
    network: "Network[Any]",
    data: Any,
    *,
    epochs: int,
    batch_size: int | None,
    shuffle: bool,
    normalizer: NormalizerChoice,
    listeners: Listener | Iterable[Listener] | None,
    options: SourceOptions | None,
    source_options: dict[str, Any],
) -> Task:
    """Check the arguments of ``Network.fit``, and fit normalizers.

    Raises
    ------
    OptionError, DataError, ShapeError
        As that says.
    """
    who = f"{type(network).__name__}.fit"
    check_count(who, "epochs", epochs)
    check_type(who, "shuffle", shuffle, bool)
    hearing = hearing_of(who, listeners)
    used = chosen_normalizer(who, network.normalizer, normalizer)
    if options is not None or source_options:
        options = given_options(who, options, source_options)
    # A list is cut anew as a whole, as on a cluster.
    loads: Callable[[], int] = int
    is_cut_anew = batch_size is not None and is_several(data)
    if options is None and not is_stored(data) and not is_cut_anew:
        begin, examples = _passes_over_given(
            who, network, data, epochs, batch_size, used, shuffle=shuffle
        )
    else:
        if batch_size is not None and isinstance(data, str) and numba_is_used():
            # They are read through first, and the disk leaves time to compile.
            start_compiling(network, batch_size)
        begin, examples, loads = _passes_over_source(
            network, data, options, batch_size, used, shuffle=shuffle
        )
    if used is not None:
        network.normalizer = used
    fit = Fit(hearing, epochs, lambda: network)
    return Task(who, begin, examples, fit, used, loads)


def train(network: "Network[Any]", task: Task) -> None:
    """Train all epochs: the one loop of a process.

    Raises
    ------
    DivergedError
        When a score, or a parameter at the end of an epoch, is no number.
    """
    fit = task.fit
    network.last_fit = fit.report
    fit.begin(FitStarted(epochs=fit.epochs))
    first = network.epoch_count
    for epoch in range(first, first + fit.epochs):
        fit.begin_epoch(epoch - first + 1)
        if fit.is_stopped():
            break
        total, examples = 0.0, 0
        with closing(_each(task.begin(epoch))) as batches:
            for batch in batches:
                # Not around the loop: what makes minibatches may use the network.
                with network.normalizing(task.normalizer):
                    score = network.fit_minibatch(batch)
                total += score * len(batch)
                examples += len(batch)
                fit.count(fit.iteration + 1, examples, score)
                if fit.is_stopped():
                    break
        fit.report.loads = task.loads()
        # Only whole epochs count, as on a cluster, where a stop waits for the end.
        is_whole = not fit.is_stopped() or examples == task.examples()
        network.epoch_count += is_whole
        check_finite(task.who, network)
        fit.report.examples += examples
        if is_whole:
            fit.end_epoch(examples, total / examples, 0)
        if fit.is_stopped():
            break
    fit.report.examples_per_s = fit.report.examples / max(fit.time_s, 1e-9)
    fit.end()
    # A listener may have called fit.
    network.last_fit = fit.report


def _each(batches: Iterable[Batch]) -> Generator[Batch, None, None]:
    """Yield minibatches; closing it ends the thread that reads ahead, if there is one.

    Also when training fails: whoever looks at the error holds on to the rest.
    """
    yield from batches


def _passes_over_given(
    who: str,
    network: "Network[Any]",
    data: Any,
    epochs: int,
    batch_size: int | None,
    normalizer: Any,
    *,
    shuffle: bool,
) -> tuple[Pass, Count]:
    """Begin passes over arrays, DataSets, or iterators of them."""
    check_batch_size(who, data, batch_size)
    check_classes_kept(who, normalizer, network.labels)
    check_class_outputs(network)
    is_unfitted = normalizer is not None and not normalizer.is_fitted
    check_readable(who, data, epochs + is_unfitted)
    if shuffle and not is_in_memory(data):
        raise OptionError(
            f"{who}: shuffle must be False for what yields minibatches in an order of "
            f"its own, got True with {type(data).__name__}. Give a list."
        )
    check = partial(_check_batch, network, network.partition_check(normalizer))
    batches = passes_over(who, data, batch_size, check)
    if normalizer is not None:
        settle_axis(who, normalizer, network.inputs, network.outputs)
    if is_unfitted:
        form = network.partition_check(normalizer).checks.canonical_examples
        # Uncut, as a cluster adds them up: sums of other parts are rounded otherwise.
        whole = minibatches(who, data, None) if is_in_memory(data) else batches()
        normalizer.fit(form(who, batch) for batch in whole)

    def examples() -> int | None:
        # What still comes is not asked for: it may take for ever.
        return sum(map(len, batches())) if is_in_memory(data) else None

    if shuffle:
        held = list(batches())
        return lambda epoch: shuffled(held, network.conf.seed, epoch), examples
    return lambda epoch: batches(), examples


def _check_batch(
    network: "Network[Any]", check: PartitionCheck, who: str, batch: Batch
) -> None:
    """Refuse data of which an example has the wrong shape, or a number is none."""
    if not len(batch):
        return  # no harm where it is cut into minibatches, else refused as one
    looked_at = batch.slice(0, 1)
    try:
        network.check_batch(looked_at)
    except ShapeError:
        # Its message has the whole shape.
        network.check_batch(batch)
    check.check(who, as_arrays(who, batch))


def _passes_over_source(
    network: "Network[Any]",
    data: Any,
    options: SourceOptions | None,
    batch_size: int | None,
    normalizer: Any,
    *,
    shuffle: bool,
) -> tuple[Pass, Count, Callable[[], int]]:
    """Begin passes over data that are stored, or come in chunks; count the loads."""
    partitions: dict[int, Partition] = {}
    room = room_here()
    # What the scan loads is kept as far as there is room: small data are read once.
    reader = MinibatchReader(partitions, room.cache_bytes)
    numbers = count()

    def keep(block: Batch) -> None:
        reader.keep(next(numbers), block)

    def scan(found: Sequence[Partition], how: dict[str, Any]) -> list[PartitionFacts]:
        return [scan_partition(partition, keep=keep, **how) for partition in found]

    prepared = prepare(
        network, data, options, batch_size=batch_size, normalizer=normalizer, scan=scan
    )
    partitions.update(enumerate(prepared.source.partitions))

    if not (fits := prepared.fits(room)):
        reader.cache_bytes = room.window_bytes

    def begin(epoch: int) -> Iterable[Batch]:
        (order,) = prepared.epoch(
            epoch,
            1,
            shuffled=shuffle,
            seed=network.conf.seed,
            room=room,
        )
        batches = reader.read_all(order, epoch)
        if fits:
            # At hand; a thread would cost more than it brings.
            return batches
        return prefetch(batches, ahead_bytes=prepared.ahead_bytes(room))

    return begin, lambda: prepared.examples, lambda: reader.loads
