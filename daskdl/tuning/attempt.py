"""One fit of a trial, in a thread of its own: begun, or gone on with."""

import copy
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from distributed import Client

from daskdl.cluster.frontend import front_end
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.nn.early_stopping.conditions import TerminationCondition
from daskdl.nn.early_stopping.early_stopping import EarlyStopping
from daskdl.nn.early_stopping.result import EarlyStoppingResult
from daskdl.nn.early_stopping.score_calculators import ScoreCalculator
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.run_checkpoint import RunCheckpoint
from daskdl.nn.network import Network
from daskdl.nn.normalizing import NormalizerChoice
from daskdl.tuning.search_directory import SearchDirectory
from daskdl.tuning.trial import Trial

__all__ = ["Attempt", "SearchEnded", "Shared"]

# One more than is needed: of a damaged one the one before is taken.
KEPT_CHECKPOINTS = 2


class SearchEnded(Exception):
    """The search ends: whoever trains for it is to end, too."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What all attempts of a search have in common.

    Attributes
    ----------
    client : distributed.Client
    data : object
        As ``fit`` of a front end takes it.
    how : mapping of str to object
        Arguments of that, besides those that trials differ in.
    normalizer : Normalizer, None or "own"
        Likewise; copied for each attempt.
    calculator : ScoreCalculator
        Likewise.
    conditions : sequence of TerminationCondition
        Likewise.
    directory : SearchDirectory
    is_ending : threading.Event
        Set when attempts are to end.
    """

    client: Client
    data: Any
    how: Mapping[str, Any]
    normalizer: NormalizerChoice
    calculator: ScoreCalculator
    conditions: Sequence[TerminationCondition]
    directory: SearchDirectory
    is_ending: threading.Event = field(default_factory=threading.Event)


class Attempt:
    """Train a trial until it has so many epochs.

    Parameters
    ----------
    shared : Shared
    trial : Trial
        Not changed.
    network : Network
        As it was built: of a trial that goes on, a checkpoint is taken over.
    master : TrainingMaster
    batch_size : int or None
    epochs : int
        Of the whole trial.
    workers : sequence of str
        Addresses.

    Attributes
    ----------
    watch : Watch
        What was trained, also where the attempt failed.
    wall_s : float
        Seconds that it took.
    goes_on : bool
        Whether it goes on from a checkpoint.
    """

    def __init__(
        self,
        shared: Shared,
        trial: Trial,
        network: Network[Any],
        master: TrainingMaster,
        batch_size: int | None,
        epochs: int,
        workers: Sequence[str],
    ) -> None:
        self._shared = shared
        self.trial = trial
        self._network = network
        self._master = master
        self._batch_size = batch_size
        self.epochs = epochs
        self.workers = workers
        self.watch = Watch(shared)
        self.wall_s = 0.0
        self.goes_on = False

    @property
    def has_begun(self) -> bool:
        """Whether everything went together, so that the fit began."""
        return self.watch.before is not None

    def run(self) -> EarlyStoppingResult:
        """Train, and keep the best network in the directory of the search.

        Raises
        ------
        DaskdlError
            Whatever ended the fit.
        SearchEnded
            When the search ends.
        """
        start_s = time.monotonic()
        try:
            return self._run()
        finally:
            self.wall_s = time.monotonic() - start_s

    def _run(self) -> EarlyStoppingResult:
        shared, folder = self._shared, self._shared.directory.folder(self.trial)
        # Calculators keep figures, conditions what they have seen.
        stopping = EarlyStopping(
            copy.copy(shared.calculator), copy.deepcopy(list(shared.conditions))
        )
        checkpoints = RunCheckpoint(folder, keep_last=KEPT_CHECKPOINTS, at_start=False)
        self.goes_on = shared.directory.has_checkpoint(self.trial)
        front = front_end(shared.client, self._network, self._master)
        front.fit(
            shared.data,
            **shared.how,
            # Each fits one of its own.
            normalizer=copy.deepcopy(shared.normalizer),
            epochs=self.epochs,
            batch_size=self._batch_size,
            workers=list(self.workers),
            resume=folder if self.goes_on else None,
            # Behind the checkpoint, the watch knows what is kept.
            listeners=[stopping, checkpoints, self.watch],
        )
        result = stopping.result
        if result is None:  # pragma: no cover
            raise RuntimeError("Attempt: a fit that ended in order must have a result.")
        if result.best_model_epoch is not None:
            shared.directory.save_best_model(self.trial, result.best_model)
        return result


class Watch(Listener):
    """Counts what is trained, compares data, and ends the fit with the search.

    Parameters
    ----------
    shared : Shared

    Attributes
    ----------
    before : int or None
        Examples that the trial was trained with before this fit, as its checkpoint
        tells; None if the fit did not begin.
    trained : int
        Examples that this fit trained.
    kept : int
        How many of them are in a checkpoint.
    """

    # Lines of several trials would write over each other.
    shows_progress = True

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._of_epochs = self._of_this = 0
        self.before: int | None = None
        self.kept = 0

    @property
    def trained(self) -> int:
        """Examples that were trained: of whole epochs, and of the one that runs."""
        return self._of_epochs + self._of_this

    def on_fit_start(self, fit: Fit) -> None:
        """Compare the data with those of the first trial."""
        self._shared.directory.check_data(fit.plan().data)
        self.before = fit.report.examples

    def on_complete_run(self, fit: Fit) -> None:
        """Take over what was trained before."""
        self.before = fit.report.examples

    def iteration_done(self, fit: Fit) -> None:
        """Count, and end the fit if the search ends."""
        self._of_this = fit.examples
        if self._shared.is_ending.is_set():
            raise SearchEnded

    def on_epoch_end(self, fit: Fit) -> None:
        """Count a whole epoch."""
        self._of_epochs += fit.examples
        self._of_this = 0

    def on_standstill(self, fit: Fit) -> None:
        """Note what is in the checkpoint that was written before."""
        self.kept = self._of_epochs
