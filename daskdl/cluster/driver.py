"""The client's side of a training session.

The driver starts one pinned task a worker, deals the minibatches of every epoch, deals
again what a dead worker left, and brings the network back. It waits for nothing without
a time-out.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any

from distributed import Client, KilledWorker

from daskdl.cluster import session_errors
from daskdl.cluster.epoch_order import EpochOrder, Shares
from daskdl.cluster.kept_network import KeptNetwork, NobodyLeftError, Standing
from daskdl.cluster.last_scores import ScoreComparison
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.cluster.member_memory import ended_for_memory
from daskdl.cluster.member_states import MemberStates, States
from daskdl.cluster.membership import LostMember
from daskdl.cluster.orders import EndEpoch, Finish
from daskdl.cluster.phase import Phase
from daskdl.cluster.reports import LeftOut, MemberFailed, MemberReport, WorkerGone
from daskdl.cluster.session_members import SESSION_ADVICE, SessionMembers
from daskdl.cluster.standstill_rule import StandstillRule
from daskdl.cluster.stats.progress import EARLIER, ProgressMeter
from daskdl.cluster.trained_so_far import trained_so_far
from daskdl.cluster.worker_news import WorkerNews
from daskdl.errors import (
    BusClosedError,
    ClusterError,
    DaskdlError,
    DivergedError,
    StepTimeoutError,
    WorkerLostError,
)
from daskdl.nn.fitting.events import FitReport
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.preparation import PreparedData
from daskdl.nn.fitting.run_checkpoint import Resumed
from daskdl.nn.fitting.run_state import RunPlan, RunPosition
from daskdl.nn.fitting.trained import Trained, layer_of, network_of
from daskdl.nn.network import Network
from daskdl.training.state import NetworkState, differs, load_state, state_of

logger = logging.getLogger(__name__)

# How long the other members may take to tell what they sent, once one has returned.
RETURN_WAIT_S = 2.0
# Newcomers wait for the next epoch where this one is over sooner.
WORTH_JOINING_S = 2.0
# And checkpoints and snapshots, for its end.
WORTH_STANDING_S = 0.5

# Behind these nobody answers, or in other states than are wanted.
_LASTING = (DivergedError, StepTimeoutError, WorkerLostError)
_BEGINNING = RunPosition()


class Driver:
    """Run one fit on a cluster. A context manager; leaving it ends the session.

    Parameters
    ----------
    client : Client
        A synchronous client.
    network : Network or LayerPretraining
        Trained in place.
    master : TrainingMaster
        How the workers train together.
    data : PreparedData
        What they train on.
    workers : sequence of str or int, optional
        Addresses, or how many; ``None`` takes all that the cluster has.
    resources : dict of str to float, optional
        What a worker must offer to take part.
    listeners : sequence of Listener
        Called in this thread.
    evaluate, tally : function of (data, **how), (data, empty, **how), optional
        Evaluates the network for listeners, or has a tally count.
    threshold : float
        Where an earlier fit left the threshold of gradient sharing; NaN if none did.
    plan : function, optional
        Returns what a later fit must have in common with this one to go on with it.
    resumed : Resumed, optional
        The checkpoint that the network was taken from, whose run goes on.
    states : sequence of mapping of str to object
        What the members of an earlier session alone had, by rank.
    layer_number : int
        How many layers learn before this one, in pretraining.

    Attributes
    ----------
    threshold : float
        After the fit, where it left the threshold.
    states : MemberStates
        What members alone have; after the fit what they had, as far as it is kept.
    """

    def __init__(
        self,
        client: Client,
        network: Trained,
        master: TrainingMaster,
        data: PreparedData,
        *,
        workers: Sequence[str] | int | None = None,
        resources: Mapping[str, float] | None = None,
        listeners: Sequence[Listener] = (),
        evaluate: Callable[..., Any] | None = None,
        tally: Callable[..., Any] | None = None,
        threshold: float = math.nan,
        plan: Callable[[], RunPlan] = RunPlan,
        resumed: Resumed | None = None,
        states: States = (),
        layer_number: int = 0,
    ) -> None:
        self._network = network
        self.threshold = threshold
        self._master = master
        self._data = data
        self._resumed = resumed
        how = (evaluate, lambda: self.threshold, tally)
        layer: Any = {"layer": layer_of(network), "layer_number": layer_number}
        self._fit = Fit(listeners, 0, self._brought, *how, **layer)
        self._fit.plan, self._fit.master = plan, master
        # Whether the members stand where the network does not.
        self._is_behind = False
        self._members = SessionMembers(client, master, data, workers, resources)
        self.states = MemberStates(self._members, states)
        self._fit.members = self.states.bring
        self._epoch = 0  # of this fit, from 1
        self._epoch_count = network.epoch_count  # where the members stand
        self._standing = Standing(_BEGINNING)  # likewise
        self._phase = 0
        self._rates: Mapping[int, float] = {}  # of members, as the last phase told
        self._kept: KeptNetwork  # from the start of the fit on
        self._news = WorkerNews(self._members, self._fit)
        self._is_started = False
        self._loads: dict[int, int] = {}
        self._meter = ProgressMeter(time.monotonic())
        self._last_scores = ScoreComparison()
        self._standstills = StandstillRule(time.monotonic())
        if resumed is not None:
            self._fit.go_on(resumed.state, resumed.path)
            self._meter.go_on(self.report, resumed.state)
            self._loads[EARLIER] = self.report.loads

    @property
    def report(self) -> FitReport:
        """The report of the fit so far."""
        return self._fit.report

    def __enter__(self) -> "Driver":
        self._members.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._members.__exit__(kind, error, traceback)

    def fit(
        self, epochs: int, *, shuffle: bool, start_at: RunPosition = _BEGINNING
    ) -> FitReport:
        """Train for `epochs` passes over the data, unless a listener ends it.

        An epoch that has begun is trained to its end, unless it ends it within.

        When all workers went, others are waited for, and what was trained since the
        client last had the network is trained again. Whatever ends it, the network is
        as it was trained, as far as that can be had: behind the minibatches that
        members had begun, or at the last snapshot.

        Parameters
        ----------
        epochs : int
            Of the whole run.
        shuffle : bool
        start_at : RunPosition
            Where the network stands: what was trained before it is left out.

        Raises
        ------
        WorkerLostError
            When no worker is left, and none comes.
        StepTimeoutError
            When the workers are silent for too long.
        DaskdlError
            Whatever ended a member's task.
        """
        self._fit.epochs = epochs
        first = self._network.epoch_count - start_at.epoch
        standing = Standing(start_at)
        if self._resumed is not None and start_at.positions:
            trained = self._resumed.state
            standing = Standing(start_at, trained.examples, trained.score_sum)
        self._kept = KeptNetwork(state_of(self._network, self.threshold), standing)
        with self._fit.telling_errors():
            try:
                while error := self._try_to_train(first, epochs, shuffle=shuffle):
                    self._go_back(first, error)
                return self._close_report()
            except BaseException:
                load_state(self._network, self._kept.state)
                raise

    @contextmanager
    def _keeping_trained(self, phase: Phase) -> Iterator[None]:
        try:
            yield
        except _LASTING:
            raise
        except BaseException:
            # Whatever goes wrong now, the first error tells more.
            with suppress(Exception):
                state = trained_so_far(self._members, phase)
                self._kept.state = replace(state, epoch_count=self._epoch_count)
            raise

    def _try_to_train(
        self, first: int, epochs: int, *, shuffle: bool
    ) -> NobodyLeftError | None:
        try:
            self._train(first, epochs, shuffle=shuffle)
        except NobodyLeftError as error:
            return error
        except DivergedError as error:
            if not self._fit.takes_divergence(error):
                raise
            # Of members that end in other states nothing is to be had.
            self._is_behind = False
            load_state(self._network, self._kept.state)
            self.states.let_go()
        return None

    def _train(self, first: int, epochs: int, *, shuffle: bool) -> None:
        """Train from the network that is kept, with members that were just started."""
        if not self._is_started:
            self._is_started = True
            self._members.start(self._kept.state)
        self._await_start()
        self._fit.workers = len(self._members.addresses)
        if not self._epoch:
            self._begin(epochs)
        self._standstills.went_back(time.monotonic())
        self._standing = after = self._kept.standing
        self._epoch_count = self._kept.state.epoch_count
        done = after.position.epoch
        for number in range(done + 1, epochs + 1):
            if self._fit.is_stopped():
                break
            if number > done + 1:
                self._let_join(first + number - 1)
            self._fit_epoch(first + number - 1, after, shuffle=shuffle)
            after = self._standing
            may_return = number < epochs and self._master.rejoin_timeout_s
            if may_return and self._kept.is_due(self._standstills):
                self._keep()
        self._finish()

    def _begin(self, epochs: int) -> None:
        self.states.restore()
        if self._resumed is not None:
            self._resumed.warn_of_workers("Session", self._fit.workers)
        workers = tuple(self._members.addresses.values())
        self._fit.begin(self._data.started(epochs, workers, self._fit.layer))

    def _await_start(self) -> None:
        try:
            self._await_ready()
        except StepTimeoutError as error:
            if not self._epoch or self._members.are_all_waiting():
                raise
            logger.warning("%s The fit goes on without them.", error)
            self._members.dismiss_late()
        if not self._members.addresses:
            raise NobodyLeftError("Session: a worker must start, none could.")

    def _keep(self) -> NetworkState:
        """Bring the network at a standstill, from where the fit may go on."""
        start_s = time.monotonic()
        # The member that answers may not have taken its EndEpoch yet.
        state = replace(self._members.snapshot(), epoch_count=self._epoch_count)
        cost_s = time.monotonic() - start_s
        self._kept.keep(state, self._standing, self._meter.examples, cost_s)
        self._standstills.brought(time.monotonic())
        return state

    def _go_back(self, first: int, error: NobodyLeftError) -> None:
        """Have other workers go on from the network that is kept, or raise `error`."""
        for rank, address in self._members.addresses.items():
            self._members.lose(address)
            self._news.notice(rank)
            self._news.will_tell(rank)
        is_full = self._news.tell_all_lost(self._epoch)
        timeout_s, state = self._master.rejoin_timeout_s, self._kept.state
        repeated = self._meter.examples - self._kept.examples
        goes_on = self._kept.go_back(is_memory_full=is_full, has_trained=repeated > 0)
        what = str(error).removesuffix(SESSION_ADVICE).rstrip()
        if timeout_s and self._kept.is_for_memory:
            given = what, self._network, self._master
            raise ended_for_memory(*given, in_vain=self._kept.is_in_vain) from error
        if not timeout_s or not goes_on:
            raise WorkerLostError(*error.args) from error
        logger.warning("%s Others that come go on with the fit.", what)
        if not self._members.start_again(state, timeout_s):
            raise WorkerLostError(*error.args) from error
        self._phase += 1
        self._is_behind = False
        load_state(self._network, state)
        self._news.tell_rejoined(state.epoch_count - first, repeated)
        self._kept.examples = self._meter.examples

    def _fit_epoch(self, epoch: int, after: Standing, *, shuffle: bool) -> None:
        at = after.position
        self._epoch = number = at.epoch + 1
        self._meter.begin_epoch(number, after.examples, after.score_sum)
        self._fit.begin_epoch(number)
        if self._fit.is_stopped():
            return
        order = EpochOrder(
            data=self._data,
            epoch=epoch,
            shuffled=shuffle,
            seed=self._master.seed(self._network.conf.seed),
            room=at.room if at.positions else self._members.room,
            homes=self._members.homes(),
        )
        shares = order.deal(at, sorted(self._members.addresses))
        self._fit.workers = len(shares)
        while any(shares.values()):
            shares = self._run_phase(shares, epoch)
            if self._is_standstill_wanted() and any(shares.values()):
                self._stand_within(epoch, order.position(at.epoch, shares))
                if self._fit.is_stopped_within:
                    return
        self._members.order_all(EndEpoch())
        self._count(self._data.examples)
        self._stand_at(epoch + 1, Standing(RunPosition(epoch=number)))
        self.report.examples = self._meter.examples
        with self._nothing_lost():
            self._fit.end_epoch(
                self._data.examples,
                self._meter.epoch_score,
                len(self._members.addresses),
            )

    def _stand_within(self, epoch: int, position: RunPosition) -> None:
        """Let listeners write checkpoints amid an epoch, and bring the network."""
        examples = self._meter.epoch_examples
        score_sum = self._meter.epoch_score * examples if examples else 0.0
        self._stand_at(epoch, Standing(position, examples, score_sum))
        if self._fit.is_standstill_wanted:
            self._count(examples)
            self._fit.workers = len(position.positions)
            with self._nothing_lost():
                self._fit.stand_still(position, score_sum)
        if self._is_snapshot_due():
            self._keep()
        # Listeners had their moment: from here on members train.
        self._is_behind = False

    def _is_standstill_wanted(self) -> bool:
        return self._fit.is_standstill_wanted or self._is_snapshot_due()

    def _is_snapshot_due(self) -> bool:
        may_return = bool(self._master.rejoin_timeout_s)
        return may_return and self._standstills.is_due(time.monotonic())

    def _stand_at(self, epoch_count: int, standing: Standing) -> None:
        self._epoch_count, self._standing = epoch_count, standing
        self._is_behind = True
        self.report.bytes_sent = self._meter.bytes_sent

    def _count(self, examples: int) -> None:
        minibatches = self._meter.minibatches
        if minibatches > self._fit.iteration:
            # Since it was last told how far it is.
            self._fit.count(minibatches, examples, self._meter.epoch_score)

    @contextmanager
    def _nothing_lost(self) -> Iterator[None]:
        """Bring what was trained also where a listener raises."""
        try:
            yield
        except BaseException:
            with suppress(DaskdlError):
                self._brought()
            raise
        self._is_behind = False

    def _brought(self) -> Network[Any]:
        """Return the network as the members have it at the last standstill."""
        if self._is_behind:
            self._is_behind = False
            state = self._keep()
            load_state(self._network, state)
            self.threshold = state.threshold
        return network_of(self._network)

    def _run_phase(self, shares: Shares, epoch: int) -> Shares:
        """Return what is left for a further phase, and whose it is."""
        phase = Phase(self._phase, shares, self._members, self._master, self._rates)
        ledger = phase.ledger
        with self._keeping_trained(phase):
            phase.begin(epoch)
            self.states.forget()
            self._await(lambda: bool(ledger.waiting_for), phase)
        self._meter.end_phase(*ledger.trained)
        self._phase += 1
        self._rates = phase.rates
        self._news.tell_lost(ledger.lost_members(), self._epoch)
        if phase.is_cut:
            self._let_join(epoch, patient=False)
        left = phase.leftover(sorted(self._members.addresses))
        is_ours = phase.is_standing and not self._fit.is_standstill_wanted
        if is_ours and any(left.values()):
            self._standstills.stood(phase.first_end_s)
        return left

    def _await_ready(self) -> None:
        deadline = time.monotonic() + self._master.start_timeout_s
        while waiting := self._members.not_ready:
            self._handle_next(None)
            if time.monotonic() > deadline:
                limit_s, paused = self._master.start_timeout_s, self._members.paused
                raise session_errors.some_do_not_start(waiting, paused, limit_s)

    def _await(self, waiting: Callable[[], bool], phase: Phase | None) -> None:
        # Members that wait for one another give up first, and say for whom.
        limit_s = 2 * self._master.peer_timeout_s
        heard_s = time.monotonic()
        while waiting():
            if phase is not None:
                self._tend(phase)
            if self._handle_next(phase):
                heard_s = time.monotonic()
            elif time.monotonic() - heard_s > limit_s:
                addresses = self._members.addresses.values()
                raise session_errors.none_reports(addresses, limit_s)

    def _tend(self, phase: Phase) -> None:
        if self._members.have_newcomers and phase.left_s > WORTH_JOINING_S:
            phase.cut()
        has_begun = phase.ledger.trained_minibatches > 0
        is_worth_it = has_begun and phase.left_s > WORTH_STANDING_S
        if is_worth_it and self._is_standstill_wanted():
            phase.stand_still()
        phase.tend()

    def _handle_next(self, phase: Phase | None) -> bool:
        event = self._members.next_event()
        if isinstance(event, MemberReport):
            self._take_report(event, phase)
        elif isinstance(event, WorkerGone):
            self._lose(event.address, phase)
        elif isinstance(event, LeftOut):
            self._news.tell_left_out(event)
        elif isinstance(event, MemberFailed) and event.rank in self._members.addresses:
            self._take_failure(event, phase)
        return event is not None

    def _take_report(self, report: MemberReport, phase: Phase | None) -> None:
        rank, values = report.rank, report.values
        if report.what == "ready":
            self._members.ready(rank, values["host"])
        elif report.what == "returned":
            self._meter.returned(rank, values["bytes_sent"], values["staleness"])
            self._last_scores.take(values.get("last_scores"))
        self._news.tell_measured(rank, values)
        if phase is None or values.get("phase") != phase.number:
            return
        if report.what == "progress":
            is_idle, may_move = values["is_idle"], values["may_move"]
            phase.progress(rank, values["trained"], is_idle=is_idle, may_move=may_move)
            if phase.ledger.trained_minibatches:
                self._standstills.trained(time.monotonic())
            self._meter.take(rank, values)
            n_workers = len(self._members.addresses)
            progress = self._meter.progress(*phase.ledger.trained, workers=n_workers)
            if progress is not None:
                self._fit.tell(progress)
                self._fit.count(progress.iteration, progress.examples, progress.score)
        elif report.what == "finished":
            phase.finished(rank, values["trained"], values["positions"])
            self._members.trained(rank, values["trained"])
            self.report.peak_worker_bytes = max(
                self.report.peak_worker_bytes, values["peak_bytes"]
            )
            self._loads[rank] = values["loads"]
            self.report.loads = sum(self._loads.values())

    def _take_failure(self, event: MemberFailed, phase: Phase | None) -> None:
        address = self._members.addresses[event.rank]
        if self._epoch and address in self._members.not_ready:
            logger.warning(
                "Session: newcomer %s must start, it failed with %r. The fit goes on "
                "without it.",
                address,
                event.error,
            )
            self._members.dismiss([address], "it failed to start")
        elif isinstance(event.error, BusClosedError | KilledWorker):
            # Its worker is closing or dead, which we may hear of a moment later.
            self._lose(address, phase)
        else:
            if phase is not None and not isinstance(event.error, _LASTING):
                # Others are not to wait for it: they tell what was trained.
                with suppress(ClusterError):
                    self._lose(address, phase)
            raise session_errors.of_member(event, address)

    def _lose(self, address: str, phase: Phase | None) -> None:
        took_part = address not in self._members.not_ready
        rank = self._members.lose(address)
        if rank is None:
            return
        self._news.notice(rank)
        self._standstills.lost(time.monotonic())
        if phase is not None:
            phase.lost(rank)
            self._news.will_tell(rank)
        elif self._epoch and took_part:
            # Between two phases: everything that was dealt to it is done.
            self._news.tell_lost([LostMember(rank, (), 0)], self._epoch)
        if not self._members.addresses:
            if phase is not None:
                # It counts, and will be repeated.
                self._meter.end_phase(*phase.ledger.trained)
            why = self._news.reason_of_last()
            raise session_errors.none_is_left(address, why)

    def _let_join(self, epoch: int, *, patient: bool = True) -> None:
        if self._master.elastic and self._members.newcomers(patient=patient):
            before = self._members.addresses.keys()
            # The member that answers may not have taken its EndEpoch yet.
            state = replace(self._members.snapshot(), epoch_count=epoch)
            self._members.start(state, patient=patient)
            try:
                self._await_ready()
            except StepTimeoutError as error:
                # Whoever is busy with other tasks does not hold up the others.
                logger.warning("%s The fit goes on without them.", error)
                self._members.dismiss_late()
            self._news.tell_joined(before, self._epoch)

    def _finish(self) -> None:
        self.states.settle(self._network)
        members = frozenset(self._members.addresses)
        self._members.order_all(Finish(phase=self._phase, members=members))
        results: list[NetworkState] = []

        def is_waiting() -> bool:
            result = self._members.result()
            if result is not None:
                results.append(result)
            return result is None

        self._await(is_waiting, None)
        self._await_bytes()
        is_changed = differs(self._network, results[0])
        load_state(self._network, results[0])
        self._kept.state = results[0]
        if math.isnan(self._network.score):
            # Of a member that had nothing to train, where others had.
            self._network.score = self._meter.epoch_score
        self.threshold = results[0].threshold
        if warning := self._last_scores.warning(self.threshold):
            logger.warning(warning)
        if is_changed:
            # Gradient sharing gives out its residuals at the end.
            self._fit.stand_still(self._fit.position)

    def _await_bytes(self) -> None:
        """Wait for the other members' counts of bytes; ignore those that fail now."""
        deadline = time.monotonic() + RETURN_WAIT_S
        while self._meter.returned_ranks < self._members.addresses.keys():
            if time.monotonic() > deadline:
                break
            with suppress(DaskdlError):
                self._handle_next(None)

    def _close_report(self) -> FitReport:
        self.report.examples = self._meter.examples
        self.report.examples_per_s = self._meter.examples / self._fit.time_s
        self.report.bytes_sent = self._meter.bytes_sent
        self.report.staleness = self._meter.staleness
        self._fit.end()
        return self.report
