"""The client's side of a training session.

The driver starts one pinned task a worker, deals the minibatches of every epoch, deals
again what a dead worker left, and brings the network back. It waits for nothing without
a time-out.
"""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np
from distributed import Client, KilledWorker

from daskdl.arrays.namespace import to_host
from daskdl.checks import some
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.cluster.membership import LostMember, PhaseLedger, deal_again
from daskdl.cluster.orders import EndEpoch, Finish, TrainPhase
from daskdl.cluster.reports import LeftOut, MemberFailed, MemberReport, WorkerGone
from daskdl.cluster.session_members import SESSION_ADVICE, SessionMembers
from daskdl.cluster.stats.progress import ProgressMeter
from daskdl.data.plan import Minibatch, deal_rest
from daskdl.errors import (
    BusClosedError,
    ClusterError,
    DaskdlError,
    StepTimeoutError,
    WorkerLostError,
)
from daskdl.nn.fitting.events import FitReport, FitStarted, WorkerLeftOut, WorkerLost
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.preparation import PreparedData
from daskdl.nn.fitting.run_checkpoint import Resumed
from daskdl.nn.fitting.run_state import RunPlan, RunPosition
from daskdl.nn.network import Network
from daskdl.training.state import NetworkState, load_state, state_of

logger = logging.getLogger(__name__)

# How long the other members may take to tell what they sent, once one has returned.
RETURN_WAIT_S = 2.0

# Instead of a rank: the members of an earlier session of the same run.
_EARLIER = -1

_BEGINNING = RunPosition()

_BUSY = "Are they busy with other tasks?"


class Driver:
    """Run one fit on a cluster. A context manager; leaving it ends the session.

    Parameters
    ----------
    client : Client
        A synchronous client.
    network : Network
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
    evaluate : function of (data, **how), optional
        Evaluates the network for listeners.
    threshold : float
        Where an earlier fit left the threshold of gradient sharing; NaN if none did.
    plan : function, optional
        Returns what a later fit must have in common with this one to go on with it.
    resumed : Resumed, optional
        The checkpoint that the network was taken from, whose run goes on.

    Attributes
    ----------
    threshold : float
        After the fit, where it left the threshold.
    """

    def __init__(
        self,
        client: Client,
        network: Network[Any],
        master: TrainingMaster,
        data: PreparedData,
        *,
        workers: Sequence[str] | int | None = None,
        resources: Mapping[str, float] | None = None,
        listeners: Sequence[Listener] = (),
        evaluate: Callable[..., Any] | None = None,
        threshold: float = math.nan,
        plan: Callable[[], RunPlan] = RunPlan,
        resumed: Resumed | None = None,
    ) -> None:
        self._network = network
        self.threshold = threshold
        self._master = master
        self._data = data
        self._resumed = resumed
        self._fit = Fit(listeners, 0, self._brought, evaluate, lambda: self.threshold)
        self._fit.plan = plan
        # Whether the members have finished an epoch that is not in the network.
        self._is_behind = False
        self._members = SessionMembers(client, master, data, workers, resources)
        self._epoch = 0  # of this fit, from 1
        self._epoch_count = network.epoch_count
        self._phase = 0
        self._noticed: dict[int, float] = {}
        self._loads: dict[int, int] = {}
        self._meter = ProgressMeter(time.monotonic())
        if resumed is not None:
            self._fit.go_on(resumed.state, resumed.path)
            self._meter.go_on(self.report, resumed.state)
            self._loads[_EARLIER] = self.report.loads

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

        An epoch that has begun is trained to its end: to stop members in its midst, at
        different minibatches, would take another agreement.

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
            When no worker is left.
        StepTimeoutError
            When the workers are silent for too long.
        DaskdlError
            Whatever ended a member's task.
        """
        network = self._network
        self._fit.epochs = epochs
        self._members.start(state_of(network, self.threshold))
        self._await_ready()
        self._fit.workers = len(self._members.addresses)
        if self._resumed is not None:
            self._resumed.warn_of_workers("Session", self._fit.workers)
        self._fit.begin(
            FitStarted(
                workers=tuple(self._members.addresses.values()),
                examples=self._data.examples,
                minibatches=len(self._data.minibatches),
                epochs=epochs,
            )
        )
        first = network.epoch_count - start_at.epoch
        after = start_at
        for number in range(start_at.epoch + 1, epochs + 1):
            if self._fit.is_stopped():
                break
            if after is not start_at:
                self._let_join(first + number - 1)
            self._fit_epoch(first + number - 1, after, shuffle=shuffle)
            after = RunPosition(epoch=number)
        self._finish()
        return self._close_report()

    def _fit_epoch(self, epoch: int, after: RunPosition, *, shuffle: bool) -> None:
        number = after.epoch + 1
        self._epoch = number
        self._epoch_count = epoch + 1  # of the network, when it has ended
        if after.positions and self._resumed is not None:
            state = self._resumed.state
            self._meter.begin_epoch(number, state.examples, state.score_sum)
        else:
            self._meter.begin_epoch(number)
        self._fit.begin_epoch(number)
        if self._fit.is_stopped():
            return
        shares = self._deal(epoch, after, shuffle=shuffle)
        self._fit.workers = len(shares)
        while any(shares.values()):
            lost_members = self._run_phase(shares, epoch)
            self._tell_lost_members(lost_members)
            shares = deal_again(lost_members, sorted(self._members.addresses))
        self._members.order_all(EndEpoch())
        minibatches = self._meter.minibatches
        if minibatches > self._fit.iteration:
            # Since it was last told how far it is.
            score = self._meter.epoch_score
            self._fit.count(minibatches, self._data.examples, score)
        self._is_behind = True
        self.report.examples = self._meter.examples
        self.report.bytes_sent = self._meter.bytes_sent
        try:
            self._fit.end_epoch(
                self._data.examples,
                self._meter.epoch_score,
                len(self._members.addresses),
            )
        except BaseException:
            # What was trained is not lost to what a listener raises.
            with suppress(DaskdlError):
                self._brought()
            raise
        self._is_behind = False

    def _deal(
        self, epoch: int, after: RunPosition, *, shuffle: bool
    ) -> Mapping[int, Sequence[Minibatch]]:
        """Deal the minibatches of an epoch, or those behind a position in it."""
        ranks = sorted(self._members.addresses)
        how = {"shuffled": shuffle, "seed": self._network.conf.seed}
        if after.positions:
            shares = self._data.epoch(
                epoch, len(after.positions), room=after.room, **how
            )
            in_memory = self._data.source.in_memory
            blocks = deal_rest(
                shares, after.positions, len(ranks), interleaved=in_memory
            )
        else:
            room = self._members.room
            blocks = self._data.epoch(epoch, len(ranks), room=room, **how)
        return dict(zip(ranks, blocks, strict=True))

    def _brought(self) -> Network[Any]:
        """Return the network as the members have it at the end of an epoch."""
        if self._is_behind:
            self._is_behind = False
            state = self._members.snapshot()
            load_state(self._network, state)
            self.threshold = state.threshold
            self._network.epoch_count = self._epoch_count
        return self._network

    def _run_phase(
        self, shares: Mapping[int, Sequence[Minibatch]], epoch: int
    ) -> list[LostMember]:
        ledger = PhaseLedger(shares)
        members = frozenset(shares)
        self._members.order(
            {
                rank: TrainPhase(
                    phase=self._phase,
                    epoch=epoch,
                    members=members,
                    minibatches=tuple(share),
                    partitions=self._members.new_partitions(rank, share),
                )
                for rank, share in shares.items()
            }
        )
        for rank in members - self._members.addresses.keys():
            ledger.lost(rank)
        self._await(lambda: bool(ledger.waiting_for), ledger)
        self._meter.end_phase(ledger.trained_examples, ledger.trained_minibatches)
        self._phase += 1
        return ledger.lost_members()

    def _await_ready(self) -> None:
        deadline = time.monotonic() + self._master.start_timeout_s
        while waiting := self._members.not_ready:
            self._handle_next(None)
            if time.monotonic() > deadline:
                paused = self._members.paused
                states = [f"{a} {paused[a]}" for a in waiting if a in paused]
                raise StepTimeoutError(
                    f"Session: workers {sorted(waiting)} must start within "
                    f"{self._master.start_timeout_s:g} s, they did not. "
                    + (f"{some(states)}." if states else _BUSY)
                )

    def _await(self, waiting: Callable[[], bool], ledger: PhaseLedger | None) -> None:
        # Members that wait for one another give up first, and say for whom.
        limit_s = 2 * self._master.peer_timeout_s
        heard_s = time.monotonic()
        while waiting():
            if self._handle_next(ledger):
                heard_s = time.monotonic()
            elif time.monotonic() - heard_s > limit_s:
                raise StepTimeoutError(
                    f"Session: workers {sorted(self._members.addresses.values())} must "
                    f"report within {limit_s:g} s, none did. Raise peer_timeout_s if a "
                    "minibatch takes longer."
                )

    def _handle_next(self, ledger: PhaseLedger | None) -> bool:
        event = self._members.next_event()
        if isinstance(event, MemberReport):
            self._take_report(event, ledger)
        elif isinstance(event, WorkerGone):
            self._lose(event.address, ledger)
        elif isinstance(event, LeftOut):
            self._tell_left_out(event)
        elif isinstance(event, MemberFailed) and event.rank in self._members.addresses:
            self._take_failure(event, ledger)
        return event is not None

    def _take_report(self, report: MemberReport, ledger: PhaseLedger | None) -> None:
        rank, values = report.rank, report.values
        if report.what == "ready":
            self._members.ready(rank)
        elif report.what == "returned":
            self._meter.returned(rank, values["bytes_sent"])
        if ledger is None or values.get("phase") != self._phase:
            return
        if report.what == "progress":
            ledger.progress(rank, values["trained"])
            self._meter.take(rank, values)
            progress = self._meter.progress(
                ledger.trained_examples,
                ledger.trained_minibatches,
                workers=len(self._members.addresses),
            )
            if progress is not None:
                self._fit.tell(progress)
                self._fit.count(progress.iteration, progress.examples, progress.score)
        elif report.what == "finished":
            positions = {int(peer): at for peer, at in values["positions"].items()}
            ledger.finished(rank, positions)
            self.report.peak_worker_bytes = max(
                self.report.peak_worker_bytes, values["peak_bytes"]
            )
            self._loads[rank] = values["loads"]
            self.report.loads = sum(self._loads.values())

    def _take_failure(self, event: MemberFailed, ledger: PhaseLedger | None) -> None:
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
            self._lose(address, ledger)
        else:
            self._fail(event)

    def _lose(self, address: str, ledger: PhaseLedger | None) -> None:
        took_part = address not in self._members.not_ready
        rank = self._members.lose(address)
        if rank is None:
            return
        self._noticed[rank] = self._fit.time_s
        if ledger is not None:
            ledger.lost(rank)
        elif self._epoch and took_part:
            # Between two phases: everything that was dealt to it is done.
            self._tell_lost_members([LostMember(rank, (), 0)])
        if not self._members.addresses:
            why = self._members.memory.reason(address)
            raise WorkerLostError(
                f"Session: at least one worker must be left, got none after {address} "
                f"went{f', {why}' if why else ''}. {SESSION_ADVICE}"
            )

    def _fail(self, event: MemberFailed) -> None:
        if isinstance(event.error, DaskdlError):
            raise event.error
        address = self._members.addresses[event.rank]
        raise ClusterError(
            f"Session: the task on {address} must end in order, it failed with "
            f"{event.error!r}."
        ) from event.error

    def _tell_lost_members(self, lost_members: Sequence[LostMember]) -> None:
        for lost in lost_members:
            address = self._members.address_of(lost.rank)
            self._fit.tell(
                WorkerLost(
                    time_s=self._noticed[lost.rank],
                    epoch=self._epoch,
                    worker=address,
                    reason=self._members.memory.reason(address),
                    redealt_examples=lost.redealt_examples,
                    repeated_examples=lost.repeated_examples,
                )
            )

    def _tell_left_out(self, event: LeftOut) -> None:
        self._fit.tell(
            WorkerLeftOut(
                time_s=self._fit.time_s,
                worker=event.address,
                reason=event.reason,
            )
        )

    def _let_join(self, epoch: int) -> None:
        if self._master.elastic and self._members.newcomers():
            # The member that answers may not have taken its EndEpoch yet.
            self._members.start(replace(self._members.snapshot(), epoch_count=epoch))
            try:
                self._await_ready()
            except StepTimeoutError as error:
                # Whoever is busy with other tasks does not hold up the others.
                logger.warning("%s The fit goes on without them.", error)
                self._members.dismiss_late()

    def _finish(self) -> None:
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
        is_changed = _differs(self._network, results[0])
        load_state(self._network, results[0])
        if math.isnan(self._network.score):
            # Of a member that had nothing to train, where others had.
            self._network.score = self._meter.epoch_score
        self.threshold = results[0].threshold
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
        self._fit.end()
        return self.report


def _differs(network: Network[Any], state: NetworkState) -> bool:
    pairs = (
        (network.params, state.params),
        (network.updater_state, state.updater_state),
    )
    return not all(np.array_equal(to_host(mine), theirs) for mine, theirs in pairs)
