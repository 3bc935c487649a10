"""Train trials side by side up to one epoch, each on workers of its own."""

import logging
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from daskdl.cluster.worker_selection import WorkerSelection
from daskdl.errors import (
    ClusterError,
    DataError,
    DivergedError,
    OptionError,
    SchedulerUnreachableError,
    ShapeError,
    VersionMismatchError,
    WorkerLostError,
)
from daskdl.nn.early_stopping.result import EarlyStoppingResult
from daskdl.tuning.attempt import Attempt, Shared
from daskdl.tuning.search_directory import OtherDataError
from daskdl.tuning.trial import Trial, TrialState
from daskdl.tuning.trial_setup import TrialSetup
from daskdl.tuning.worker_pool import WorkerPool

__all__ = ["Rung"]

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 0.5
TELL_EVERY_S = 5.0

# No other workers would do better.
_LASTING = (SchedulerUnreachableError, VersionMismatchError)
# These parameters may be the cause, or the call, which all trials have in common.
_DOUBTFUL = (OptionError, ShapeError)

# Of no trial more than of others.
_OF_ALL = (DataError, OtherDataError)

Running = dict[Future[EarlyStoppingResult], Attempt]


class Rung:
    """Deals workers to trials, and takes in what comes of them.

    All but the fits happens in the thread that calls :meth:`run`.

    Parameters
    ----------
    shared : Shared
    setup : TrialSetup
    selection : WorkerSelection
        Which workers may be used.
    workers_per_trial : int
    max_attempts : int
        How often a trial is tried in a rung, until the search is resumed.
    start_timeout_s : float
        How long workers may take to come when too few are left.
    """

    def __init__(
        self,
        shared: Shared,
        setup: TrialSetup,
        selection: WorkerSelection,
        *,
        workers_per_trial: int,
        max_attempts: int,
        start_timeout_s: float,
    ) -> None:
        self._shared, self._setup = shared, setup
        self._selection = selection
        self._pool = WorkerPool(selection.most)
        self._per_trial = workers_per_trial
        self._max_attempts = max_attempts
        self._start_timeout_s = start_timeout_s
        # Attempts that failed since a trial last came to the end of a rung.
        self._failures: Counter[int] = Counter()  # by number of the trial
        # Trials that failed before anything showed that others can be trained.
        self._doubtful: list[tuple[Trial, Exception]] = []
        self._can_train = False
        self._short_since_s: float | None = None
        self._told_s = 0.0

    def run(self, trials: Sequence[Trial], epochs: int) -> None:
        """Train trials until they have so many epochs, ended early or are lost.

        Raises
        ------
        WorkerLostError
            When too few workers are left, and no others come.
        DaskdlError
            What ends the search: data that cannot be used, a store that takes no file,
            a call that suits none of its trials. Of these nothing is written.
        """
        self._can_train |= any(one.examples for one in trials)
        waiting = deque(
            one for one in trials if not (one.is_lost or one.has_reached(epochs))
        )
        with self._threads(len(waiting)) as (threads, running):
            while waiting or running:
                self._pool.look(self._selection.suitable())
                self._deal(waiting, epochs, threads, running)
                self._check_workers(running, waiting)
                self._await(waiting, running)
                self._settle()
        if self._doubtful:
            raise self._doubtful[0][1]

    @contextmanager
    def _threads(self, count: int) -> Iterator[tuple[ThreadPoolExecutor, Running]]:
        running: Running = {}
        with ThreadPoolExecutor(max(1, count), "daskdl-trial") as threads:
            try:
                yield threads, running
            except BaseException:
                # Leaving waits for them.
                self._shared.is_ending.set()
                raise

    def _deal(
        self,
        waiting: deque[Trial],
        epochs: int,
        threads: ThreadPoolExecutor,
        running: Running,
    ) -> None:
        while waiting:
            workers = self._pool.deal(self._per_trial, time.monotonic())
            if not workers:
                return
            trial = waiting.popleft()
            try:
                network, master, batch_size = self._setup.of(trial)
            except Exception as error:  # noqa: BLE001 - of the user's function
                self._pool.give_back(workers, time.monotonic())
                self._doubtful.append((trial, error))
                continue
            attempt = Attempt(
                self._shared, trial, network, master, batch_size, epochs, workers
            )
            running[threads.submit(attempt.run)] = attempt

    def _await(self, waiting: deque[Trial], running: Running) -> None:
        if not running:
            if waiting:
                time.sleep(LOOK_EVERY_S)
            return
        done, _ = wait(running, LOOK_EVERY_S, FIRST_COMPLETED)
        for future in done:
            attempt = running.pop(future)
            if self._take(attempt, future):
                # Behind the others: who waits longest is first.
                waiting.append(attempt.trial)

    def _take(self, attempt: Attempt, future: Future[EarlyStoppingResult]) -> bool:
        """Take in what came of an attempt; whether the trial is to be tried again."""
        trial, error = attempt.trial, future.exception()
        there = self._selection.suitable()
        gone = [one for one in attempt.workers if one not in there]
        is_of_cluster = _is_of_cluster(error, gone)
        now = time.monotonic()
        # Who is left of workers of which one went did nothing wrong.
        has_failed = is_of_cluster and not gone
        self._pool.give_back(attempt.workers, now, has_failed=has_failed)
        _count(trial, attempt, is_lost=error is not None)
        self._can_train |= attempt.has_begun
        if error is None:
            self._succeed(trial, attempt, future.result())
            return False
        if isinstance(error, DivergedError):
            self._lose(trial, TrialState.DIVERGED, error)
            return False
        if is_of_cluster:
            return self._is_retried(trial, error)
        if not isinstance(error, _DOUBTFUL) or isinstance(error, _OF_ALL):
            raise error
        if attempt.goes_on and not attempt.has_begun:
            # What it was begun with could be trained: now something else was given.
            raise error
        self._doubtful.append((trial, error))
        return False

    def _settle(self) -> None:
        """Give up trials that cannot be trained, once it is sure that others can."""
        if self._can_train:
            for trial, error in self._doubtful:
                self._lose(trial, TrialState.FAILED, error)
            self._doubtful.clear()

    def _is_retried(self, trial: Trial, error: BaseException) -> bool:
        self._failures[trial.number] += 1
        if self._failures[trial.number] >= self._max_attempts:
            self._lose(trial, TrialState.FAILED, error)
            return False
        trial.failures.append(str(error))
        self._shared.directory.write_trial(trial)
        logger.warning("trial %d is tried again: %s", trial.number, error)
        return True

    def _succeed(
        self, trial: Trial, attempt: Attempt, result: EarlyStoppingResult
    ) -> None:
        del self._failures[trial.number]
        trial.scores = dict(result.score_vs_epoch)
        trial.score, trial.best_epoch = result.best_model_score, result.best_model_epoch
        trial.epochs = result.total_epochs
        trial.is_ended = result.total_epochs < attempt.epochs
        self._shared.directory.write_trial(trial)
        logger.info(
            "trial %d: score %.6g after %d epochs",
            *(trial.number, trial.score, trial.epochs),
        )

    def _lose(self, trial: Trial, state: TrialState, error: BaseException) -> None:
        trial.state = state
        trial.failures.append(str(error) or repr(error))
        self._shared.directory.write_trial(trial)
        logger.warning("trial %d %s: %s", trial.number, state.value, error)

    def _check_workers(self, running: Running, waiting: deque[Trial]) -> None:
        """Wait for workers no longer than they may take to come."""
        there, now = len(self._selection.suitable()), time.monotonic()
        if running or not waiting or there >= self._per_trial:
            self._short_since_s = None
            return
        if self._short_since_s is None:
            self._short_since_s, self._told_s = now, 0.0
        left_s = self._short_since_s + self._start_timeout_s - now
        if left_s < 0:
            raise WorkerLostError(
                f"Search: {self._per_trial} workers must be there for a trial, got "
                f"{there} for {self._start_timeout_s:g} s. Start workers, and go on by "
                "fit(..., resume=True)."
            )
        if now - self._told_s > TELL_EVERY_S:
            self._told_s = now
            logger.warning(
                "waiting for workers: %d must be there for a trial, %d are; %.0f s "
                "more at most",
                *(self._per_trial, there, left_s),
            )


def _is_of_cluster(error: BaseException | None, gone: Sequence[str]) -> bool:
    """Tell whether other workers would do better."""
    if isinstance(error, OptionError):
        # A worker that went before the fit began is one that the cluster does not know.
        return bool(gone)
    return isinstance(error, ClusterError) and not isinstance(error, _LASTING)


def _count(trial: Trial, attempt: Attempt, *, is_lost: bool) -> None:
    watch = attempt.watch
    trial.wall_s += attempt.wall_s
    if watch.before is None:
        return
    trial.examples = trial.lost_examples + watch.before + watch.trained
    if is_lost:
        trial.lost_examples += watch.trained - watch.kept
