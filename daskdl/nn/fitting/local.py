"""Training in this process, of whatever data there are."""

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from itertools import count, islice
from typing import TYPE_CHECKING, Any, SupportsFloat

from daskdl.checks import check_count, check_type
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.plan import shuffle as shuffled
from daskdl.data.prefetching import prefetch
from daskdl.data.reader import MinibatchReader
from daskdl.data.room import LEAST_ROOM, Room, room_here
from daskdl.data.scan import PartitionFacts, scan_partition
from daskdl.data.sources.partition import Partition
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DivergedError, OptionError
from daskdl.kernels.jit import numba_is_used
from daskdl.nn.batches import (
    Batch,
    check_batch_size,
    check_readable,
    minibatches,
)
from daskdl.nn.divergence import check_finite
from daskdl.nn.fitting.batch_check import check_batch
from daskdl.nn.fitting.compiling import start_compiling
from daskdl.nn.fitting.data_kinds import is_several, is_stored
from daskdl.nn.fitting.events import FitStarted
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.hearing import hearing_of
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.preparation import given_options, prepare
from daskdl.nn.fitting.run_checkpoint import Resumed, resumed_run
from daskdl.nn.fitting.run_state import DataFingerprint, RunPlan, RunPosition
from daskdl.nn.fitting.score_sum import ScoreSum
from daskdl.nn.fitting.trained import Trained, network_of
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

Pass = Callable[[int, RunPosition], Iterable[Batch]]
"""Begins a pass over the minibatches, of the epoch of the network with this number.

Behind those of a position in it.
"""

Facts = Callable[[], DataFingerprint]
"""Returns what is known of the data of a pass, however often it is asked."""


@dataclass(frozen=True)
class Task:
    """A fit that is prepared.

    Attributes
    ----------
    who : str
        Named in errors.
    begin : callable
        Begins a pass over the minibatches.
    facts : callable
        Returns what is known of the data.
    fit : Fit
        What listeners are told.
    normalizer : Normalizer or None
        What the minibatches go through.
    loads : callable
        Returns how often a part of stored data was read to be trained.
    room : Room
        Decides the order of stored data.
    resumed : Resumed or None
        The checkpoint that training goes on from.
    skipped : int
        Rows of the data that were left out.
    """

    who: str
    begin: Pass
    facts: Facts
    fit: Fit
    normalizer: Normalizer | None
    loads: Callable[[], int]
    room: Room
    resumed: Resumed | None
    skipped: int = 0


def fit_here(
    network: "Network[Any]",
    data: Any,
    *,
    epochs: int,
    resume: str | os.PathLike[str] | None,
    **how: Any,
) -> None:
    """Train `network` in this process; see ``Network.fit``.

    Parameters
    ----------
    network, data, epochs, resume
        As that takes them.
    **how
        The other arguments of :func:`prepared`.
    """
    who = f"{type(network).__name__}.fit"
    check_count(who, "epochs", epochs)
    with network.turns.training(who), network.keeping_threads():
        resumed = resumed_run(who, resume, network, epochs)
        task = prepared(
            network,
            data,
            epochs=epochs,
            passes=epochs,
            who=who,
            resumed=resumed,
            **how,
        )
        if resumed is not None and resumed.is_complete(who, epochs):
            network.last_fit = resumed.state.report
            resumed.tell_complete(task.fit)
            return
        train(network, task)


def prepared(
    trained: Trained,
    data: Any,
    *,
    epochs: int,
    passes: int,
    who: str,
    batch_size: int | None,
    shuffle: bool,
    normalizer: NormalizerChoice,
    listeners: Listener | Iterable[Listener] | None,
    options: SourceOptions | None,
    source_options: dict[str, Any],
    resumed: Resumed | None,
    layers: tuple[str, ...] = (),
) -> Task:
    """Check the arguments of ``Network.fit``, or of ``pretrain``, and fit normalizers.

    Parameters
    ----------
    trained : Network or LayerPretraining
        What the data are for.
    passes : int
        Over the data, of all that is trained on them.
    who : str
        Named in errors.
    layers : tuple of str
        Names of those that are pretrained.

    Raises
    ------
    OptionError, DataError, ShapeError
        As that says.
    """
    network = network_of(trained)
    check_type(who, "shuffle", shuffle, bool)
    hearing = hearing_of(who, listeners)
    if resumed is None:
        used = chosen_normalizer(who, network.normalizer, normalizer)
    else:
        used = resumed.normalizer(who, normalizer)
    if options is not None or source_options:
        options = given_options(who, options, source_options)
    # A list is cut anew as a whole, as on a cluster.
    loads: Callable[[], int] = int
    skipped = 0
    room = LEAST_ROOM
    is_cut_anew = batch_size is not None and is_several(data)
    if options is None and not is_stored(data) and not is_cut_anew:
        begin, facts = _passes_over_given(
            who, trained, data, passes, batch_size, used, shuffle=shuffle
        )
    else:
        if batch_size is not None and isinstance(data, str) and numba_is_used():
            # They are read through first, and the disk leaves time to compile.
            start_compiling(network, batch_size)
        room = room_here()
        begin, facts, loads, skipped = _passes_over_source(
            trained, data, options, batch_size, used, room, shuffle=shuffle
        )
    fit = Fit(hearing, epochs, lambda: network)
    fit.plan = lambda: RunPlan(
        seed=network.conf.seed,
        shuffle=shuffle,
        batch_size=batch_size,
        normalizer=None if used is None else type(used).__name__,
        layers=layers,
        epochs=epochs if layers else None,
        data=facts(),
    )
    if resumed is not None:
        resumed.check(who, fit.plan())
        resumed.take_over(network)
    elif used is not None:
        network.normalizer = used
    return Task(who, begin, facts, fit, used, loads, room, resumed, skipped)


def train(trained: Trained, task: Task) -> None:
    """Train all epochs: the one loop of a process.

    Raises
    ------
    DivergedError
        When a score, or a parameter at the end of an epoch, is no number.
    """
    fit, network = task.fit, network_of(trained)
    after = RunPosition()
    if task.resumed is not None:
        after = task.resumed.state.position
        fit.go_on(task.resumed.state, task.resumed.path)
    network.last_fit = fit.report
    with fit.telling_errors():
        fit.begin(FitStarted(epochs=fit.epochs, skipped=task.skipped, layer=fit.layer))
        try:
            _train_epochs(trained, task, after)
        except DivergedError as error:
            if not fit.takes_divergence(error):
                raise
        fit.report.examples_per_s = fit.report.examples / max(fit.time_s, 1e-9)
        fit.end()
    # A listener may have called fit.
    network.last_fit = fit.report


def _train_epochs(trained: Trained, task: Task, after: RunPosition) -> None:
    """Train all epochs, or those behind a position of the run."""
    fit = task.fit
    first = trained.epoch_count - after.epoch
    for number in range(after.epoch + 1, fit.epochs + 1):
        fit.begin_epoch(number)
        if fit.is_stopped():
            break
        _train_epoch(trained, task, first + number - 1, after)
        if fit.is_stopped():
            break
        after = RunPosition(epoch=number)


def _train_epoch(trained: Trained, task: Task, epoch: int, after: RunPosition) -> None:
    """Train the minibatches of an epoch, or those behind a position in it."""
    fit = task.fit
    total, examples, done = ScoreSum(), 0, 0
    if task.resumed is not None and after.positions:
        (done,) = after.positions
        state = task.resumed.state
        total, examples = ScoreSum(state.score_sum), state.examples

    def here() -> RunPosition:
        return RunPosition(epoch=fit.epoch - 1, positions=(done,), room=room)

    room = after.room if after.positions else task.room
    with closing(_each(task.begin(epoch, after))) as batches:
        for batch in batches:
            # Not around the loop: what makes minibatches may use the network.
            with trained.normalizing(task.normalizer):
                score: SupportsFloat = trained.train_minibatch(batch)
            total.add(score, len(batch))
            examples += len(batch)
            done += 1
            fit.count(fit.iteration + 1, examples, score)
            if fit.is_stopped():
                break
            if fit.is_standstill_wanted:
                fit.stand_still(here(), total.total)
    fit.report.loads = task.loads()
    # Only whole epochs count, as on a cluster, where a stop waits for the end.
    is_whole = not fit.is_stopped() or examples == task.facts().examples
    trained.epoch_count += is_whole
    check_finite(task.who, trained)
    fit.report.examples += examples
    if is_whole:
        fit.end_epoch(examples, total.total / examples, 0)
    else:
        fit.stand_still(here(), total.total)


def _each(batches: Iterable[Batch]) -> Generator[Batch, None, None]:
    """Yield minibatches; closing it ends the thread that reads ahead, if there is one.

    Also when training fails: whoever looks at the error holds on to the rest.
    """
    yield from batches


def _passes_over_given(
    who: str,
    trained: Trained,
    data: Any,
    passes: int,
    batch_size: int | None,
    normalizer: Any,
    *,
    shuffle: bool,
) -> tuple[Pass, Facts]:
    """Begin passes over arrays, DataSets, or iterators of them."""
    network = network_of(trained)
    if trained is network:
        # Of features alone an array is one minibatch, and so may be a pair.
        check_batch_size(who, data, batch_size)
    check_classes_kept(who, normalizer, network.labels)
    check_class_outputs(network)
    is_unfitted = normalizer is not None and not normalizer.is_fitted
    check_readable(who, data, passes + is_unfitted)
    if shuffle and not is_in_memory(data):
        raise OptionError(
            f"{who}: shuffle must be False for what yields minibatches in an order of "
            f"its own, got True with {type(data).__name__}. Give a list."
        )
    check = partial(check_batch, trained, trained.partition_check(normalizer))
    batches = passes_over(who, data, batch_size, check)
    if normalizer is not None:
        settle_axis(who, normalizer, network.inputs, network.outputs)
    if is_unfitted:
        form = trained.partition_check(normalizer).checks.canonical_examples
        # Uncut, as a cluster adds them up: sums of other parts are rounded otherwise.
        whole = minibatches(who, data, None) if is_in_memory(data) else batches()
        normalizer.fit(form(who, batch) for batch in whole)

    @cache
    def facts() -> DataFingerprint:
        # What still comes is not asked for: it may take for ever.
        if not is_in_memory(data):
            return DataFingerprint()
        sizes = list(map(len, batches()))
        return DataFingerprint(examples=sum(sizes), minibatches=len(sizes))

    held = list(batches()) if shuffle else None

    def begin(epoch: int, after: RunPosition) -> Iterable[Batch]:
        given = batches() if held is None else shuffled(held, network.conf.seed, epoch)
        return islice(given, sum(after.positions), None)

    return begin, facts


def _passes_over_source(
    trained: Trained,
    data: Any,
    options: SourceOptions | None,
    batch_size: int | None,
    normalizer: Any,
    room: Room,
    *,
    shuffle: bool,
) -> tuple[Pass, Facts, Callable[[], int], int]:
    """Begin passes over data that are stored, or come in chunks.

    Returned are also a count of the loads, and how many rows were left out.
    """
    partitions: dict[int, Partition] = {}
    # What the scan loads is kept as far as there is room: small data are read once.
    reader = MinibatchReader(partitions, room.cache_bytes)
    numbers = count()

    def keep(block: Batch) -> None:
        reader.keep(next(numbers), block)

    def scan(found: Sequence[Partition], how: dict[str, Any]) -> list[PartitionFacts]:
        return [scan_partition(partition, keep=keep, **how) for partition in found]

    prepared = prepare(
        trained, data, options, batch_size=batch_size, normalizer=normalizer, scan=scan
    )
    partitions.update(enumerate(prepared.source.partitions))

    if not (fits := prepared.fits(room)):
        reader.cache_bytes = room.window_bytes

    def begin(epoch: int, after: RunPosition) -> Iterable[Batch]:
        (order,) = prepared.epoch(
            epoch,
            1,
            shuffled=shuffle,
            seed=trained.conf.seed,
            room=after.room if after.positions else room,
        )
        batches = reader.read_all(order[sum(after.positions) :], epoch)
        if fits:
            # At hand; a thread would cost more than it brings.
            return batches
        return prefetch(batches, ahead_bytes=prepared.ahead_bytes(room))

    skipped = prepared.facts.skipped
    return begin, lambda: prepared.fingerprint, lambda: reader.loads, skipped
