"""The listener that evaluates beside the training, and ends it in time."""

import logging
import math
from collections.abc import Iterable, Mapping
from typing import Any, SupportsFloat

import numpy as np

from daskdl.checks import check_count, check_type
from daskdl.errors import DataError, DivergedError, OptionError, ShapeError
from daskdl.nn.early_stopping.conditions import (
    EpochTerminationCondition,
    IterationTerminationCondition,
    MaxEpochsTerminationCondition,
    TerminationCondition,
    conditions_of,
    is_better,
)
from daskdl.nn.early_stopping.result import EarlyStoppingResult, TerminationReason
from daskdl.nn.early_stopping.savers import EarlyStoppingModelSaver, InMemoryModelSaver
from daskdl.nn.early_stopping.score_calculators import calculator_of
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener

__all__ = ["EarlyStopping"]

logger = logging.getLogger(__name__)


class EarlyStopping(Listener):
    """Evaluate while a network is trained, keep the best one, and end in time.

    In one process and on a cluster alike: there the workers evaluate, and all of them
    stop together.

    Parameters
    ----------
    score_calculator : ScoreCalculator, or data
        What a network is worth. Data stand for a
        :class:`~daskdl.DataSetLossCalculator` of them.
    termination_conditions : condition or several
        When training ends, besides after the epochs of ``fit``. Without one the best
        network is kept all the same.
    model_saver : EarlyStoppingModelSaver, optional
        Where the best network is kept; an :class:`~daskdl.InMemoryModelSaver` if not
        given.
    evaluate_every_n_epochs : int
        At the end of these, and of the last one.
    evaluate_every_n_iterations : int, optional
        Also within epochs, after so many minibatches; on a cluster of all workers
        together, as soon as all stand at a common position. Such a network may become
        the best one; conditions of epochs are asked at the end of epochs.
    save_last_model : bool
        Also have the saver keep the latest network, each time that there is a score.
    name : str
        In front of the figures in the report: ``validation_loss``.
    **how
        Of data, as ``evaluate`` takes it.

    Attributes
    ----------
    result : EarlyStoppingResult or None
        Of the last fit that ended in order.

    Notes
    -----
    The network that ``fit`` was called on is the last one; ``result.best_model`` is the
    best. In one process a condition of iterations ends the fit behind the minibatch; on
    a cluster where all workers stand at a common position.

    Unlike DL4J: a score that is no number is never the best one; the last epoch has a
    score, whatever `evaluate_every_n_epochs` says; conditions that need no score are
    asked after every epoch; and an error is raised.

    References
    ----------
    DL4J, ``EarlyStoppingConfiguration``, ``EarlyStoppingTrainer``,
    ``SparkEarlyStoppingTrainer``.

    Examples
    --------
    >>> import daskdl, numpy as np
    >>> x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]
    >>> network = daskdl.MultiLayerNetwork(
    ...     daskdl.MultiLayerConfiguration(
    ...         layers=[daskdl.Output(n_out=1, loss="mse", activation="identity")],
    ...         input=daskdl.FeedForward(size=1),
    ...         updater=daskdl.Sgd(learning_rate=0.1),
    ...     )
    ... )
    >>> stopping = daskdl.EarlyStopping(
    ...     (x, 2 * x), daskdl.BestScoreEpochTerminationCondition(0.01)
    ... )
    >>> _ = network.fit((x, 2 * x), epochs=100, batch_size=16, listeners=stopping)
    >>> stopping.result.best_model_score < 0.01
    True
    """

    def __init__(
        self,
        score_calculator: Any,
        termination_conditions: TerminationCondition
        | Iterable[TerminationCondition] = (),
        *,
        model_saver: EarlyStoppingModelSaver | None = None,
        evaluate_every_n_epochs: int = 1,
        evaluate_every_n_iterations: int | None = None,
        save_last_model: bool = False,
        name: str = "validation",
        **how: Any,
    ) -> None:
        who = type(self).__name__
        self._calculator = calculator_of(who, score_calculator, how)
        conditions = conditions_of(who, termination_conditions)
        self._conditions = conditions
        self._of_epochs = _of_kind(EpochTerminationCondition, conditions)
        self._of_iterations = _of_kind(IterationTerminationCondition, conditions)
        if model_saver is not None:
            check_type(who, "model_saver", model_saver, EarlyStoppingModelSaver)
        self._saver = InMemoryModelSaver() if model_saver is None else model_saver
        self._every_n_epochs = check_count(
            who, "evaluate_every_n_epochs", evaluate_every_n_epochs
        )
        if evaluate_every_n_iterations is not None:
            check_count(who, "evaluate_every_n_iterations", evaluate_every_n_iterations)
        self._every_n_iterations = evaluate_every_n_iterations
        check_type(who, "save_last_model", save_last_model, bool)
        self._saves_last = save_last_model
        check_type(who, "name", name, str)
        self.reports_as = name
        self.result: EarlyStoppingResult | None = None
        self._is_restored = False
        self._reset()

    def _reset(self) -> None:
        self._reason: TerminationReason | None = None
        self._details = ""
        self._by_epoch: dict[int, float] = {}
        self._by_iteration: dict[int, float] = {}
        self._best_epoch: int | None = None
        self._best_iteration: int | None = None
        self._best_score = math.nan
        self._whole_epochs = 0
        self._scored_at: tuple[int, int] | None = None  # epoch and iteration
        self._asked_at = 0  # the iteration at which a standstill was asked for
        self._is_asked = False  # and whether that is to come

    def on_fit_start(self, fit: Fit) -> None:
        """Begin anew, or go on with what a checkpoint holds."""
        calculator = self._calculator
        calculator.check(fit.network)
        calculator.check_data(self.reports_as or type(calculator).__name__, fit)
        self._begin(fit)

    def on_complete_run(self, fit: Fit) -> None:
        """Make the result of what a checkpoint holds."""
        self._begin(fit)
        self.on_fit_end(fit)

    def _begin(self, fit: Fit) -> None:
        goes_on, self._is_restored = self._is_restored, False
        if not goes_on:
            self._reset()
            for condition in self._conditions:
                condition.initialize()
        self.result = None
        self._saver.begin(fit.network, goes_on=goes_on)
        self._asked_at = fit.iteration

    def iteration_done(self, fit: Fit) -> None:
        """Ask the conditions of iterations, and for an evaluation if it is time."""
        if fit.is_stopped():
            return
        for condition in self._of_iterations:
            if condition.terminate(fit.score):
                self._end(TerminationReason.ITERATION_TERMINATION_CONDITION, condition)
                fit.stop(within_epoch=True)
                return
        every = self._every_n_iterations
        if every is not None and fit.iteration // every > self._asked_at // every:
            self._asked_at, self._is_asked = fit.iteration, True
            fit.want_standstill(self._evaluate_within)

    def _evaluate_within(self, fit: Fit) -> None:
        # The end of an epoch may have come first.
        if self._is_asked and not fit.is_stopped():
            self._take_score(fit)

    def on_epoch_end(self, fit: Fit) -> None:
        """Evaluate if it is time, and ask the conditions of epochs."""
        self._whole_epochs = fit.epoch
        is_last = fit.epoch == fit.epochs
        is_time = self._is_asked or fit.epoch % self._every_n_epochs == 0 or is_last
        score = math.nan
        if is_time:
            score = self._take_score(fit)
            self._by_epoch[fit.epoch] = score
        if fit.is_stopped():
            return
        for condition in self._of_epochs:
            if condition.requires_score and not is_time:
                continue
            minimize = self._calculator.minimize_score
            if condition.terminate(fit.epoch, score, minimize=minimize):
                self._end(TerminationReason.EPOCH_TERMINATION_CONDITION, condition)
                fit.stop()
                return

    def on_standstill(self, fit: Fit) -> None:
        """Evaluate the last epoch of a fit that ends before its time, too.

        Whoever ends it: a condition of ours, or a listener that is told behind us.
        """
        is_last = fit.is_stopped() and 0 < fit.epoch == self._whole_epochs
        if is_last and fit.epoch not in self._by_epoch:
            self._by_epoch[fit.epoch] = self._take_score(fit)

    def _take_score(self, fit: Fit) -> float:
        """Evaluate, and keep the network if it is the best one so far."""
        now, self._is_asked = (fit.epoch, fit.iteration), False
        if now == self._scored_at:
            # Behind the last minibatch of an epoch, whose end this is.
            return self._by_iteration[fit.iteration]
        calculator = self._calculator
        score = self._calculated(fit)
        front = f"{self.reports_as}_" if self.reports_as else ""
        figures = calculator.figures or {"score": score}
        fit.report_values(**{front + name: figures[name] for name in figures})
        is_first = self._best_epoch is None and not math.isnan(score)
        minimize = calculator.minimize_score
        if is_first or is_better(score, self._best_score, minimize=minimize):
            self._saver.save_best_model(fit.network, score)
            # Behind it: a store that fails leaves the best one that is there.
            self._best_score = score
            self._best_epoch, self._best_iteration = fit.epoch, fit.iteration
        if self._saves_last:
            self._saver.save_latest_model(fit.network, score)
        self._by_iteration[fit.iteration], self._scored_at = score, now
        logger.info(
            "epoch %d, iteration %d: score %.6g, the best %.6g of epoch %s",
            *(fit.epoch, fit.iteration, score, self._best_score, self._best_epoch),
        )
        return score

    def _calculated(self, fit: Fit) -> float:
        who = type(self._calculator).__name__
        try:
            score = self._calculator.calculate_score(fit)
        except (DataError, OptionError, ShapeError) as error:
            # They speak of data, and there are those of the training, too.
            raise type(error)(f"{self.reports_as or who}: {error}") from error
        if not isinstance(score, SupportsFloat) or np.ndim(score):
            raise OptionError(
                f"{who}: calculate_score must return a number, got {score!r}."
            )
        return float(score)

    def on_divergence(self, fit: Fit, error: DivergedError) -> bool:
        """End in order if a condition says so, and there is a best network."""
        if self._best_epoch is None:
            return False
        for condition in self._of_iterations:
            if condition.terminate(math.nan):
                self._end(TerminationReason.ITERATION_TERMINATION_CONDITION, condition)
                logger.warning("The training ends, with the best network: %s", error)
                return True
        return False

    def on_fit_end(self, fit: Fit) -> None:
        """Make the result."""
        if self._reason is None and self._whole_epochs >= fit.epochs:
            last = MaxEpochsTerminationCondition(fit.epochs)
            self._end(TerminationReason.EPOCH_TERMINATION_CONDITION, last)
        if self._best_epoch is None:
            had_scores = self._by_epoch or self._by_iteration
            logger.warning(
                "There is no best network: %s. The result has the last one.",
                "no score was a number, or could be kept"
                if had_scores
                else "the training ended before it was first evaluated",
            )
        best = self._saver.get_best_model()
        self.result = EarlyStoppingResult(
            termination_reason=self._reason or TerminationReason.STOPPED,
            termination_details=self._details or "another listener",
            score_vs_epoch=dict(self._by_epoch),
            score_vs_iteration=dict(self._by_iteration),
            best_model_epoch=self._best_epoch,
            best_model_iteration=self._best_iteration,
            best_model_score=self._best_score,
            total_epochs=self._whole_epochs,
            best_model=fit.network if best is None else best,
        )
        logger.info("%r", self.result)

    def _end(self, reason: TerminationReason, condition: TerminationCondition) -> None:
        self._reason, self._details = reason, repr(condition)

    def kept_state(self) -> Mapping[str, Any]:
        """Return scores, what conditions remember, and the best network."""
        saved = self._saver.kept_state()
        return {
            "reason": None if self._reason is None else self._reason.value,
            "details": self._details,
            # JSON has no numbers for keys.
            "by_epoch": list(self._by_epoch.items()),
            "by_iteration": list(self._by_iteration.items()),
            "best_epoch": self._best_epoch,
            "best_iteration": self._best_iteration,
            "best_score": self._best_score,
            "whole_epochs": self._whole_epochs,
            "calculator": self._calculator.in_words(),
            "kinds": [type(one).__name__ for one in self._conditions],
            "conditions": [dict(one.kept_state()) for one in self._conditions],
            **{f"saver_{name}": value for name, value in saved.items()},
        }

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Take them over, as a run goes on.

        Raises
        ------
        OptionError
            If the run had conditions of other kinds, or another score calculator, whose
            scores cannot be compared with those of this one.
        """
        kinds = [type(one).__name__ for one in self._conditions]
        for name, kept_one, given in (
            ("termination_conditions", state["kinds"], kinds),
            ("score_calculator", state["calculator"], self._calculator.in_words()),
        ):
            if kept_one != given:
                raise OptionError(
                    f"EarlyStopping: {name} must be of the kind of the run that goes "
                    f"on, {kept_one}, got {given}."
                )
        kept = state["conditions"]
        for condition, remembered in zip(self._conditions, kept, strict=True):
            condition.initialize()
            if remembered:
                condition.restore_state(remembered)
        reason = state["reason"]
        self._reason = None if reason is None else TerminationReason(reason)
        self._details = state["details"]
        self._by_epoch = {int(epoch): score for epoch, score in state["by_epoch"]}
        self._by_iteration = {int(at): score for at, score in state["by_iteration"]}
        self._best_epoch = state["best_epoch"]
        self._best_iteration = state["best_iteration"]
        self._best_score = state["best_score"]
        self._whole_epochs = state["whole_epochs"]
        of_saver = {
            name.removeprefix("saver_"): value
            for name, value in state.items()
            if name.startswith("saver_")
        }
        if of_saver:
            self._saver.restore_state(of_saver)
        self._is_restored = True


def _of_kind(kind: Any, conditions: Iterable[TerminationCondition]) -> list[Any]:
    return [one for one in conditions if isinstance(one, kind)]
