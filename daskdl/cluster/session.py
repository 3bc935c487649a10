"""A member of a training session: the long task that is pinned to a worker.

The driver starts one such task a worker and gives it orders through its mailbox. The
member trains with the single-process trainer, exchanges with its peers over a bus
topic, and reports through scheduler events.
"""

import math
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from typing import Any, NamedTuple

from distributed import get_worker, secede

from daskdl.arrays.thread_count import blas_given, threads_here
from daskdl.cluster.bus import Topic, get_bus
from daskdl.cluster.bus.options import WhenFull
from daskdl.cluster.bus.worker_plugin import BusWorkerPlugin
from daskdl.cluster.exchanges.all_reduce import AllReduceExchange
from daskdl.cluster.exchanges.base import ClusterExchange, Stage
from daskdl.cluster.exchanges.block_momentum import BlockMomentumExchange
from daskdl.cluster.exchanges.gradient_sharing import GradientSharingExchange
from daskdl.cluster.exchanges.parameter_averaging import ParameterAveragingExchange
from daskdl.cluster.exchanges.power_sgd import PowerSgdExchange
from daskdl.cluster.host_memory import host_here
from daskdl.cluster.last_scores import LastScores, ScoreKeeper
from daskdl.cluster.log_filters import asked_often, reported_by_client
from daskdl.cluster.mailbox import PLUGIN_NAME, Mailbox, mailbox_of
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
    PowerSGDTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.cluster.masters.shared_update import merge_waiting
from daskdl.cluster.orders import EndEpoch, Finish, Restore, SessionSpec, TrainPhase
from daskdl.cluster.peak_memory import peak_bytes
from daskdl.cluster.stats.member_spans import MemberSpans
from daskdl.cluster.stats.prometheus import scraped
from daskdl.cluster.worker_device import trained_on_worker
from daskdl.cluster.workload import Workload
from daskdl.data.plan import Minibatch
from daskdl.data.prefetching import prefetch
from daskdl.data.reader import MinibatchReader
from daskdl.errors import ClusterError, DivergedError, OptionError
from daskdl.nn.batches import Batch
from daskdl.nn.divergence import check_finite
from daskdl.nn.fitting.trained import Trained, layer_of, network_of
from daskdl.training.state import NetworkState, state_of

REPORT_EVERY_S = 0.5
# Whoever has said nothing for so long may have been stopped, and the fit have ended.
SILENT_S = 5.0


@reported_by_client
def run_member(
    spec: SessionSpec, rank: int, address: str, state: NetworkState
) -> NetworkState:
    """Take part in a session until the driver ends it. Runs as a Dask task.

    Parameters
    ----------
    spec : SessionSpec
        What all members share.
    rank : int
        Our number in the session; never used twice.
    address : str
        The worker this task must run on.
    state : NetworkState
        Where training starts.

    Returns
    -------
    NetworkState
        The trained network; equal on all members up to rounding, but for the updater
        state of gradient sharing.

    Raises
    ------
    ClusterError
        When Dask ran the task on another worker.
    StepTimeoutError
        When the driver or a peer is silent for too long.
    """
    worker = get_worker()
    if worker.address != address:
        raise ClusterError(
            f"Session worker {rank}: the task must run on {address}, got "
            f"{worker.address}. Was the worker restarted?"
        )
    # The task lasts as long as the fit. Evaluations between two epochs, and a second
    # fit, need the thread of the pool that it would hold: they would wait for ever.
    secede()
    trained = trained_on_worker(state)
    network = network_of(trained)
    network.restore_normalizer(spec.normalizer)
    sharing = isinstance(spec.master, SharedTrainingMaster)
    when_full: WhenFull = merge_waiting(trained.params.size) if sharing else "block"
    # Once: of a fit that ended meanwhile it is gone, and would be waited for.
    bus = get_bus()
    with (
        # Until the topic is closed: then all that was on its way has been sent.
        ExitStack() as counted,
        blas_given(worker.state.nthreads),
        worker.plugins[PLUGIN_NAME].open(spec.session, rank) as mailbox,
        bus.topic(spec.topic, meta={"rank": rank}, when_full=when_full) as topic,
    ):
        # Whatever others in this process do with BLAS meanwhile.
        network.threads = threads_here()
        exchange = _exchange(spec, rank, topic, mailbox, trained, state)
        member = Member(spec, rank, trained, exchange, mailbox, topic, bus)
        member.report("ready", host=host_here())
        counted.enter_context(scraped(member.spans, lambda: topic.stats))
        result = member.run()
    # After the topic is closed: what was on its way has been sent.
    member.report(
        "returned",
        is_late=True,
        last_scores=member.last_scores and asdict(member.last_scores),
        bytes_sent=int(topic.stats.bytes_sent),
        staleness=asdict(exchange.staleness),
        **member.spans.values(with_latest=True),
    )
    member.let_go()
    return result


@asked_often
def snapshot(session: str, rank: int, dask_worker: Any) -> NetworkState:
    """Return the network of a member as it is. Run by ``client.run`` between phases.

    The task thread waits for its next order then, so that nobody writes the vectors.
    """
    mailbox: Any = mailbox_of(session, rank, dask_worker)
    exchange = mailbox.exchange
    return state_of(mailbox.network, exchange.threshold, exchange.velocity)


@asked_often
def member_state(session: str, rank: int, dask_worker: Any) -> dict[str, Any]:
    """Return what a member alone has. Run by ``client.run`` between phases."""
    exchange: Any = mailbox_of(session, rank, dask_worker).exchange
    state: dict[str, Any] = exchange.state_dict()
    return state


def _exchange(
    spec: SessionSpec,
    rank: int,
    topic: Topic,
    mailbox: Mailbox,
    network: Trained,
    state: NetworkState,
) -> ClusterExchange:
    master = spec.master
    if isinstance(master, SharedTrainingMaster):
        return GradientSharingExchange(
            rank,
            topic,
            mailbox,
            master,
            network.params,
            network.running_slots,
            state.threshold,
        )
    if isinstance(master, BlockMomentumTrainingMaster):
        return BlockMomentumExchange(
            rank, topic, mailbox, master, network, state.velocity
        )
    if isinstance(master, ParameterAveragingTrainingMaster):
        return ParameterAveragingExchange(
            rank, topic, mailbox, master, network.updater_state
        )
    if isinstance(master, PowerSGDTrainingMaster):
        return PowerSgdExchange(rank, topic, mailbox, master, network)
    if isinstance(master, AllReduceTrainingMaster):
        return AllReduceExchange(rank, topic, mailbox, master, network)
    raise OptionError(
        "Session: training_master must be a SharedTrainingMaster, a "
        "ParameterAveragingTrainingMaster, an AllReduceTrainingMaster or a "
        "PowerSGDTrainingMaster, got "
        f"{type(master).__name__}."
    )


class _ReadMinibatch(NamedTuple):
    number: int
    batch: Batch

    @property
    def nbytes(self) -> int:
        return self.batch.nbytes


class Member:
    """Obey the driver's orders on one worker."""

    def __init__(
        self,
        spec: SessionSpec,
        rank: int,
        network: Trained,
        exchange: ClusterExchange,
        mailbox: Mailbox,
        topic: Topic,
        bus: BusWorkerPlugin,
    ) -> None:
        self._spec = spec
        self._rank = rank
        self._network = network
        self._exchange = exchange
        self._mailbox = mailbox
        self._topic = topic
        self._reader = MinibatchReader(mailbox.partitions, spec.cache_bytes)
        self._worker, self._bus = get_worker(), bus
        self.spans = MemberSpans(exchange.spans, self._worker)
        self._reported_s = 0.0
        self._said_s = time.monotonic()
        self._score_sum, self._scores = 0.0, 0
        self._kept_scores = ScoreKeeper()
        self.last_scores: LastScores | None = None
        mailbox.network = network
        mailbox.exchange = exchange
        exchange.complain = self._complain

    def run(self) -> NetworkState:
        """Obey orders until the session is finished."""
        while True:
            # Whoever was given up while it was stopped has lost its topic.
            idle_s = self._spec.master.idle_timeout_s
            order = self._mailbox.get(idle_s, self._topic.check_open)
            if isinstance(order, TrainPhase):
                self._train(order)
            elif isinstance(order, Restore):
                self._exchange.load_state_dict(order.state)
            elif isinstance(order, EndEpoch):
                self._network.epoch_count += 1
                self.spans.epochs += 1
                if not self._spec.master.keeps_data:
                    self._reader.forget()
            elif isinstance(order, Finish):
                self._compare_scores()
                self._exchange.finish(self._network, order.phase, order.members)
                check_finite(f"Session worker {self._rank}", self._network)
                return state_of(self._network, self._exchange.threshold)

    def report(self, what: str, *, is_late: bool = False, **values: Any) -> None:
        """Tell the driver, through the scheduler's events.

        Where the fit may have ended, which `is_late` says, too, nothing is logged if it
        has: the event would stay on the scheduler.
        """
        if self._mailbox.is_stopped:
            return
        message = {"what": what, "rank": self._rank, **values}
        now = time.monotonic()
        is_late |= now - self._said_s > SILENT_S
        self._said_s = now
        if is_late:
            self._bus.report(self._spec.topic, message)
        else:
            self._worker.log_event(self._spec.topic, message)

    def _complain(self, ranks: Iterable[int], stage: Stage) -> None:
        self.report("complaint", silent=sorted(ranks), stage=list(stage))

    def _train(self, order: TrainPhase) -> None:
        exchange, network = self._exchange, self._network
        recorder = self.spans.recorder
        workload = self._mailbox.workload
        exchange.begin(network, order.members, workload, order.hosts)
        self._kept_scores.begin_phase(is_wanted=exchange.keeps_residual)
        with (
            closing(self._batches(workload)) as batches,
            _abandoned_at_the_end(workload),
            network.keeping_threads(),
        ):
            while (minibatch := self._next(workload)) is not None:
                with recorder.read:
                    batch = _read_until(minibatch, batches)
                with recorder.compute:
                    score = self._fit(batch)
                self._score_sum += score * batch.num_examples
                self._scores += batch.num_examples
                self._kept_scores.take(batch, score)
                self.spans.trained(batch.num_examples)
                self._report_progress(order.phase)
        exchange.end(network)
        self._report_progress(order.phase, at_once=True)
        self.report(
            "finished",
            phase=order.phase,
            trained=exchange.trained,
            positions=_text_keys(exchange.positions),
            peak_bytes=peak_bytes(),
            loads=self._reader.loads,
        )

    def let_go(self) -> None:
        """Refer to nothing any more, and nothing to vectors and data through us.

        Exchange, mailbox and member refer to one another: all that they hold would stay
        until Python looks for such rings, which may take it twenty fits.
        """
        self._mailbox.network = self._mailbox.exchange = None
        vars(self._exchange).clear()
        vars(self).clear()

    def _compare_scores(self) -> None:
        # Of a layer's pretraining nobody tells the score of what is returned.
        if layer_of(self._network) is None:
            network, untold = network_of(self._network), self._exchange.residual
            self.last_scores = self._kept_scores.compare(network, untold)

    def _next(self, workload: Workload) -> Minibatch | None:
        """Begin the next minibatch; wait until there is one, or the phase is closed."""
        self._mailbox.check_stop()
        deadline = math.inf
        if workload.is_stop_wanted and self._exchange.stops_anywhere:
            workload.end()
        while (minibatch := workload.begin_next()) is None:
            if workload.is_closed:
                # More may have come before that.
                return workload.begin_next()
            now = time.monotonic()
            if deadline == math.inf:
                deadline = now + self._spec.master.idle_timeout_s
                self._report_progress(workload.phase, at_once=True, is_idle=True)
            if now > deadline:
                raise self._mailbox.without_order(self._spec.master.idle_timeout_s)
            self._exchange.idle(self._network)
            self._mailbox.check_stop()
        return minibatch

    def _fit(self, batch: Batch) -> float:
        hooks, network = self._spec.master.training_hooks, network_of(self._network)
        for hook in hooks:
            hook.pre_update(batch, network)
        score = self._fit_one(batch)
        for hook in hooks:
            hook.post_update(batch, network)
        return score

    def _fit_one(self, batch: Batch) -> float:
        try:
            return self._network.fit_minibatch(
                batch, rng_stream=self._rank, exchange=self._exchange
            )
        except DivergedError as error:
            address = get_worker().address
            raise DivergedError(
                f"Session worker {self._rank} at {address}: {error}"
            ) from error

    def _batches(self, workload: Workload) -> Generator[_ReadMinibatch, None, None]:
        ahead = self._spec.master.worker_prefetch_num_batches
        batches = self._read(workload)
        if not ahead:
            return batches
        return prefetch(batches, ahead, ahead_bytes=self._spec.ahead_bytes)

    def _read(self, workload: Workload) -> Generator[_ReadMinibatch, None, None]:
        epoch = self._network.epoch_count
        try:
            for minibatch, behind in workload.to_read():
                if behind is not None:
                    self._reader.expect(behind)
                batch = self._reader.read(minibatch, epoch)
                yield _ReadMinibatch(minibatch.index, batch)
        finally:
            self._reader.close()

    def _report_progress(
        self, phase: int, *, at_once: bool = False, is_idle: bool = False
    ) -> None:
        now = time.monotonic()
        if not at_once and now - self._reported_s < REPORT_EVERY_S:
            return
        self._reported_s = now
        if self._scores:
            self.spans.score = self._score_sum / self._scores
        self.report(
            "progress",
            phase=phase,
            trained=self._exchange.trained,
            is_idle=is_idle,
            may_move=self._exchange.may_move,
            score_sum=float(self._score_sum),
            scores=self._scores,
            bytes_sent=int(self._topic.stats.bytes_sent),
            **self.spans.values_if_due(),
        )
        self._score_sum, self._scores = 0.0, 0
        if measured := self._exchange.take_residuals():
            self.report("residuals", measured=measured)


@contextmanager
def _abandoned_at_the_end(workload: Workload) -> Iterator[None]:
    # Whoever reads ahead may wait for more work, and be waited for.
    try:
        yield
    finally:
        workload.abandon()


def _read_until(minibatch: Minibatch, batches: Iterator[_ReadMinibatch]) -> Batch:
    """Return the examples of a minibatch; drop those that were taken back meanwhile."""
    return next(read.batch for read in batches if read.number == minibatch.index)


def _text_keys(positions: Mapping[int, int]) -> dict[str, int]:
    # Scheduler events are msgpack, whose strict mode refuses integer keys.
    return {str(rank): position for rank, position in positions.items()}
