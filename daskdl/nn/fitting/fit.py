"""The state of a fit, which listeners get with every event."""

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeVar

import numpy as np

from daskdl.errors import DivergedError, OptionError, OutputError, StorageError
from daskdl.nn.fitting.events import (
    CheckpointFailed,
    EpochFinished,
    Event,
    FitFinished,
    FitReport,
)
from daskdl.nn.fitting.listener import Listener, kept_states, restore_states
from daskdl.nn.fitting.pretraining_state import PretrainingState
from daskdl.nn.fitting.run_state import RunPlan, RunPosition, RunState
from daskdl.nn.tallies import Tally, tally_here

if TYPE_CHECKING:
    from daskdl.nn.network import Network

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=Tally)


class Fit:
    """The state of a fit, as listeners see it.

    Parameters
    ----------
    listeners : sequence of Listener
    epochs : int
        Passes over the data.
    network : function
        Returns the network that is trained.
    evaluate : function of (data, ``**how``), optional
        Evaluates it, if that is not to be done in this process.
    threshold : function, optional
        Returns where the threshold of gradient sharing stands.
    tally : function of (data, empty, ``**how``), optional
        Makes a pass over data with it, likewise.
    layer : str, optional
        The layer that is pretrained.
    layer_number : int
        Its number among those that are, from 0.

    Attributes
    ----------
    layer : str or None
        In pretraining the name of the layer that learns; None where the network does.
    layer_number : int
        How many layers learn before it, in the same call.
    epochs : int
        How many there will be.
    epoch : int
        The one that runs, from 1.
    plan : function
        Returns what a later fit must have in common with this one to go on with it.
    members : function
        Returns what each worker alone has, by rank, at a standstill.
    resumed_from : str or None
        The checkpoint of the run that this fit goes on with.
    master : TrainingMaster or None
        How workers train together; None in one process.
    workers : int
        How many train; 0 in one process.
    iteration : int
        Minibatches trained since the start of the run.
    examples : int
        Examples trained in this epoch.
    score : float
        Of the last minibatch; at the end of an epoch the mean by examples. On a cluster
        the mean since it was told last, and of the epoch.
    values : dict of str to float
        What listeners reported of this epoch.
    report : FitReport
        What was done so far.
    """

    def __init__(
        self,
        listeners: Sequence[Listener],
        epochs: int,
        network: "Callable[[], Network[Any]]",
        evaluate: Callable[..., Any] | None = None,
        threshold: Callable[[], float] = lambda: math.nan,
        tally: Callable[..., Any] | None = None,
        *,
        layer: str | None = None,
        layer_number: int = 0,
    ) -> None:
        self.layer, self.layer_number = layer, layer_number
        self.epochs = epochs
        self.epoch = 0
        self.plan: Callable[[], RunPlan] = RunPlan
        self.members: Callable[[], tuple[Mapping[str, Any], ...]] = tuple
        self.resumed_from: str | None = None
        self.master: Any = None
        self.workers = 0
        self.iteration = 0
        self.examples = 0
        self._score: SupportsFloat = float("nan")
        self.report = FitReport()
        self._is_stopped = False
        self._is_stopped_within = False
        self._is_standstill_wanted = False
        self._is_checkpoint_wanted = False
        self._at_standstill: list[Callable[[Fit], None]] = []
        self._position = RunPosition()
        self._score_sum = 0.0
        self._threshold = threshold
        self._listeners = listeners
        # Else nobody has to be called after every minibatch.
        self._counting = [
            one
            for one in listeners
            if type(one).iteration_done is not Listener.iteration_done
        ]
        self._network = network
        self._evaluate = evaluate
        self._tally = tally
        self.values: dict[str, float] = {}
        self._start_s = self._epoch_start_s = time.monotonic()

    @property
    def listeners(self) -> Sequence[Listener]:
        """Who hears of it."""
        return self._listeners

    @property
    def network(self) -> "Network[Any]":
        """The network; on a cluster a copy, as it was at the last standstill.

        What a listener changes in it, the workers do not hear of.
        """
        return self._network()

    def evaluate(self, data: Any, **how: Any) -> Any:
        """Evaluate the network where it is trained.

        Parameters
        ----------
        data, **how
            As ``evaluate`` of what ``fit`` was called on takes them.
        """
        # Also where others evaluate it: only then is it the network of this moment.
        network = self.network
        evaluate = self._evaluate or network.evaluate
        return evaluate(data, **how)

    def tally(self, data: Any, empty: T, **how: Any) -> T:
        """Have a tally count data where the network is trained, as that answers.

        Parameters
        ----------
        data, **how
            As ``evaluate`` of what ``fit`` was called on takes them.
        empty : Tally
            Not changed.

        Returns
        -------
        Tally
            Another one, of all data.
        """
        network = self.network
        tally = self._tally or partial(tally_here, network)
        filled: T = tally(data, empty, **how)
        return filled

    def stop(self, *, within_epoch: bool = False) -> None:
        """End the fit: after this minibatch, on a cluster after this epoch.

        An epoch that ends in its midst is none: it does not count in the network's
        `epoch_count`, which schedules follow, nor in the report's epochs, and no
        listener hears of its end.

        Parameters
        ----------
        within_epoch : bool
            On a cluster too: where all workers stand at a common position.
        """
        self._is_stopped = True
        if within_epoch:
            self._is_stopped_within = self._is_standstill_wanted = True

    def want_standstill(self, then: Callable[["Fit"], None] | None = None) -> None:
        """Ask to hear :meth:`Listener.on_standstill` soon.

        In one process that is after this minibatch, on a cluster where all workers
        stand at a common position: at the end of the epoch at the latest.

        Parameters
        ----------
        then : function of (fit), optional
            Called there in front of that, so that what it does is in a checkpoint.
        """
        self._is_standstill_wanted = True
        if then is not None:
            self._at_standstill.append(then)

    def want_checkpoint(self) -> None:
        """Ask to hear it, and whoever writes checkpoints to write one then."""
        self._is_standstill_wanted = self._is_checkpoint_wanted = True

    @property
    def is_standstill_wanted(self) -> bool:
        """Whether a listener waits for a standstill."""
        return self._is_standstill_wanted

    @property
    def is_checkpoint_wanted(self) -> bool:
        """Whether a listener waits for a checkpoint; true until all have heard."""
        return self._is_checkpoint_wanted

    @property
    def position(self) -> RunPosition:
        """Where training stood still last."""
        return self._position

    def run_state(self) -> RunState:
        """Return what is needed beside :attr:`network` to go on from this standstill.

        To be asked in :meth:`Listener.on_standstill` only: between two of them nobody
        knows a position that all workers share.
        """
        # On a cluster the threshold comes with it.
        network = self._network()
        layers = None
        if self.layer is not None:
            layers = PretrainingState.of(network.pretraining, self.layer_number)
        return RunState(
            plan=self.plan(),
            position=self._position,
            workers=self.workers,
            iteration=self.iteration,
            examples=self.examples if self._position.positions else 0,
            score_sum=self._score_sum,
            is_stopped=self._is_stopped,
            threshold=self._threshold(),
            report=replace(self.report, wall_s=self.time_s),
            listeners=kept_states(self._listeners),
            members=self.members(),
            pretraining=layers,
        )

    def go_on(self, state: RunState, resumed_from: str) -> None:
        """Take over report, counters and listeners of a run that was stopped.

        Parameters
        ----------
        state : RunState
        resumed_from : str
            Path or URL of its checkpoint.
        """
        self.report = state.report
        self.resumed_from = resumed_from
        self.epoch = state.position.epoch
        self.iteration, self.examples = state.iteration, state.examples
        self._position, self._score_sum = state.position, state.score_sum
        self._start_s = time.monotonic() - state.report.wall_s
        restore_states(self._listeners, state.listeners)

    def report_values(self, **values: float) -> None:
        """Add values to the report of this epoch.

        Raises
        ------
        OptionError
            If one is no number, or is called as the score of the training is.
        """
        if "score" in values:
            raise OptionError(
                "Fit: values must have other names than the score of the training, "
                "got 'score'. Call it validation_score, or what it is of."
            )
        for name, value in values.items():
            self.values[name] = _reported(name, value)

    def is_stopped(self) -> bool:
        """Return whether a listener ends the fit."""
        return self._is_stopped

    @property
    def is_stopped_within(self) -> bool:
        """Whether it ends within an epoch on a cluster, too."""
        return self._is_stopped_within

    def takes_divergence(self, error: DivergedError) -> bool:
        """Tell listeners that the network diverged; whether one ends the fit in order.

        Parameters
        ----------
        error : DivergedError
            What ends it otherwise.
        """
        taken = [one.on_divergence(self, error) for one in self._listeners]
        return any(taken)

    @property
    def time_s(self) -> float:
        """Seconds since the start of the fit."""
        return time.monotonic() - self._start_s

    def tell(self, event: Event) -> None:
        """Take an event into the report, and tell it to the listeners."""
        self.report.add(event)
        self._tell_listeners(event)

    def begin(self, started: Event) -> None:
        """Tell listeners that training begins, and stands still until then."""
        self.tell(started)
        for listener in self._listeners:
            listener.on_fit_start(self)
        # Whatever a store says against it: nothing is trained yet.
        for listener in self._listeners:
            listener.on_standstill(self)

    def end_again(self) -> None:
        """Tell listeners of the start and the end of what has nothing left to train.

        Without events, as nothing happens.
        """
        for listener in self._listeners:
            listener.on_fit_start(self)
        for listener in self._listeners:
            listener.on_fit_end(self)

    def begin_epoch(self, epoch: int) -> None:
        """Tell listeners that an epoch begins."""
        self.epoch, self.examples, self.values = epoch, 0, {}
        self._epoch_start_s = time.monotonic()
        for listener in self._listeners:
            listener.on_epoch_start(self)

    @property
    def score(self) -> float:
        """Of the last minibatch, or at the end of an epoch its; may wait for it."""
        return float(self._score)

    def count(self, iteration: int, examples: int, score: SupportsFloat) -> None:
        """Tell listeners how many iterations and examples are done."""
        self.iteration, self.examples, self._score = iteration, examples, score
        for listener in self._counting:
            listener.iteration_done(self)

    def stand_still(self, position: RunPosition, score_sum: float = 0.0) -> None:
        """Tell listeners that all stand at a position from which a run can go on.

        Errors of a store become warnings.

        Parameters
        ----------
        position : RunPosition
        score_sum : float
            Of the examples of an epoch that is not whole.
        """
        self._position, self._score_sum = position, score_sum
        self._is_standstill_wanted = False
        asked, self._at_standstill = self._at_standstill, []
        for then in asked:
            self._tell_or_warn(then)
        for listener in self._listeners:
            self._tell_or_warn(listener.on_standstill)
        self._is_checkpoint_wanted = False

    def end_epoch(self, examples: int, score: float, workers: int) -> None:
        """Tell listeners that an epoch has ended; errors of a store become warnings."""
        self.examples, self._score = examples, score
        time_s = self.time_s
        wall_s = time.monotonic() - self._epoch_start_s
        for listener in self._listeners:
            self._tell_or_warn(listener.on_epoch_end)
        finished = EpochFinished(
            time_s=time_s,
            epoch=self.epoch,
            examples=examples,
            score=score,
            wall_s=wall_s,
            workers=workers,
            values=self.values,
        )
        self.report.add(finished)
        # Behind all that listeners did at the end of the epoch: a run that goes on from
        # here begins with the next one.
        self.stand_still(RunPosition(epoch=self.epoch))
        # Last: whoever reads that the epoch is done may count on its checkpoint.
        self._tell_listeners(finished)

    @contextmanager
    def telling_errors(self) -> Iterator[None]:
        """Tell listeners of the error that ends the block, and let it go on."""
        try:
            yield
        except BaseException as error:
            for listener in self._listeners:
                self._tell_error(listener, error)
            raise

    def _tell_error(self, listener: Listener, error: BaseException) -> None:
        try:
            listener.on_fit_error(self, error)
        except Exception as another:  # noqa: BLE001 - the first one says more
            logger.warning(
                "%s: on_fit_error must not fail, it did: %r",
                type(listener).__name__,
                another,
            )

    def complete(self) -> None:
        """Tell listeners that a run has nothing left to train."""
        for listener in self._listeners:
            listener.on_complete_run(self)

    def end(self) -> None:
        """Tell listeners that the network is trained."""
        self.report.wall_s = self.time_s
        self.tell(FitFinished(time_s=self.report.wall_s))
        for listener in self._listeners:
            listener.on_fit_end(self)

    def _tell_listeners(self, event: Event) -> None:
        for listener in self._listeners:
            listener.on_event(event)

    def _tell_or_warn(self, moment: Callable[["Fit"], None]) -> None:
        try:
            moment(self)
        except (OutputError, StorageError) as error:
            logger.warning(
                "epoch %d: no checkpoint, the training goes on: %s", self.epoch, error
            )
            reason = str(error)
            self.tell(
                CheckpointFailed(time_s=self.time_s, epoch=self.epoch, reason=reason)
            )


def _reported(name: str, value: Any) -> float:
    if np.ndim(value) or not isinstance(value, SupportsFloat):
        raise OptionError(
            f"Fit: {name} must be a number to be reported, got {value!r}."
        )
    try:
        return float(value)
    except OverflowError as error:
        raise OptionError(
            f"Fit: {name} must be a number that fits a float to be reported: {error}."
        ) from error
