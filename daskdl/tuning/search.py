"""A search: trials that are trained side by side on the workers of one cluster."""

import asyncio
import copy
import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from distributed import Client

from daskdl.checks import check_count, check_type, check_whole
from daskdl.cluster.asynchronous import serves_asynchronous_clients
from daskdl.cluster.connection import check_client
from daskdl.cluster.enough_workers import enough_workers
from daskdl.cluster.masters.options import SharedTrainingMaster, TrainingMaster
from daskdl.cluster.preflight import check_master
from daskdl.cluster.worker_selection import WorkerSelection
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import (
    ClusterError,
    DivergedError,
    MissingExtraError,
    OptionError,
    SourceNotFoundError,
)
from daskdl.formats.load import load
from daskdl.nn.early_stopping.conditions import TerminationCondition, conditions_of
from daskdl.nn.early_stopping.score_calculators import calculator_of
from daskdl.nn.fitting.preparation import given_options
from daskdl.nn.network import Network
from daskdl.nn.normalizing import NormalizerChoice
from daskdl.tuning.attempt import Shared
from daskdl.tuning.distributions import (
    Distribution,
    check_distributions,
    draw_parameters,
    in_words,
)
from daskdl.tuning.ranking import ranked
from daskdl.tuning.rung import Rung
from daskdl.tuning.search_directory import SearchDirectory
from daskdl.tuning.successive_halving import SuccessiveHalving
from daskdl.tuning.trial import Trial, TrialState
from daskdl.tuning.trial_setup import Build, TrialSetup, in_words_of

__all__ = ["RandomSearch"]

logger = logging.getLogger(__name__)

_OF_THE_SEARCH = (
    "epochs",
    "halving",
    "max_attempts",
    "n_trials",
    "seed",
    "termination_conditions",
    "training_master",
    "workers_per_trial",
)
# Where what `fit` of a front end takes, or others, is in a search.
_ELSEWHERE = {
    **dict.fromkeys(_OF_THE_SEARCH, "Give it to RandomSearch itself."),
    "listeners": "Trials have none: training_hooks of a training_master hear of them.",
    "validation_data": "Give it to RandomSearch itself, as score_calculator.",
}


@serves_asynchronous_clients
class RandomSearch:
    """Draw parameters of networks, train the networks, and find the best.

    Several trials are trained at one time, each on workers of its own. A trial is a
    fit, stopped early where a condition holds, and resumed from its checkpoint where
    its workers died.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster to work on. If it is asynchronous, ``fit`` is awaited.
    build : function of (dict)
        Gets the parameters of a trial, and returns a configuration or a network. Called
        in the thread that called ``fit``, again whenever the trial goes on: the same
        parameters must give the same network.
    distributions : dict of str to Distribution
        What the parameters are drawn from, by their names: :class:`Uniform`,
        :class:`LogUniform`, :class:`IntegerUniform`, :class:`Choice`, or frozen
        distributions of ``scipy.stats``.
    score_calculator : ScoreCalculator, or data
        What a network is worth, at the end of each epoch; data stand for their loss.
    epochs : int
        Of each trial that is trained to the end.
    directory : path or str
        Of this search alone, here or on any store.
    halving : SuccessiveHalving, optional
        Which trials are trained to the end; all of them if not given.
    n_trials : int
        How many networks are tried.
    termination_conditions : condition or several
        End a trial early, as those of :class:`~daskdl.EarlyStopping` do; each trial has
        copies.
    training_master : TrainingMaster or function of (dict), optional
        How the workers of a trial train together. A function gets the parameters.
        `rejoin_timeout_s` means nothing here: a trial goes on with other workers at
        once.
    workers_per_trial : int
        How many train a network together.
    max_attempts : int
        How often a trial is tried whose workers die or do not answer; with `halving`
        so often in each rung.
    seed : int
        Of what is drawn. The parameters of a trial depend on it and on its number, not
        on the number of trials nor on when they are trained.

    Attributes
    ----------
    trials : list of Trial
        In order of their numbers, while the search runs, too.
    best_trial, best_parameters, best_score, best_network
        Of the best score.
    examples : int
        Examples that were trained for all trials together.

    Notes
    -----
    With one worker each, and with masters that give the same bits in every run, the
    whole search does: whatever workers there are and however often it is resumed.

    References
    ----------
    Bergstra, Bengio: Random Search for Hyper-Parameter Optimization (2012). DL4J
    Arbiter, ``RandomSearchGenerator``, ``LocalOptimizationRunner``.
    """

    def __init__(
        self,
        client: Client,
        build: Build,
        distributions: Mapping[str, Distribution],
        score_calculator: Any,
        *,
        epochs: int,
        directory: str | os.PathLike[str],
        halving: SuccessiveHalving | None = None,
        n_trials: int = 32,
        termination_conditions: TerminationCondition
        | Iterable[TerminationCondition] = (),
        training_master: TrainingMaster
        | Callable[[dict[str, Any]], TrainingMaster]
        | None = None,
        workers_per_trial: int = 1,
        max_attempts: int = 3,
        seed: int = 0,
    ) -> None:
        who = type(self).__name__
        check_client(who, client)
        if not callable(build):
            raise OptionError(
                f"{who}: build must be a function of parameters that returns a "
                f"configuration or a network, got a {type(build).__name__}."
            )
        check_type(who, "directory", directory, str, os.PathLike)
        check_count(who, "epochs", epochs)
        if halving is not None:
            check_type(who, "halving", halving, SuccessiveHalving)
        self._halving = halving
        self._rungs = [epochs] if halving is None else halving.rungs(epochs)
        if training_master is None:
            training_master = SharedTrainingMaster()
        if not isinstance(training_master, TrainingMaster) and not callable(
            training_master
        ):
            raise OptionError(
                f"{who}: training_master must be a TrainingMaster or a function of "
                f"parameters, got a {type(training_master).__name__}."
            )
        self._client = client
        self._turn = asyncio.Lock()  # of asynchronous clients
        self._distributions = check_distributions(who, distributions)
        self._calculator = calculator_of(who, score_calculator, {})
        self._conditions = conditions_of(who, termination_conditions)
        self._workers_per_trial = check_count(
            who, "workers_per_trial", workers_per_trial
        )
        self._max_attempts = check_count(who, "max_attempts", max_attempts)
        self._seed = check_whole(who, "seed", seed)
        self._directory = SearchDirectory(who, directory)
        self._build, self._master = build, training_master
        self.trials = [
            Trial(number, draw_parameters(who, self._distributions, seed, number))
            for number in range(1, 1 + check_count(who, "n_trials", n_trials))
        ]

    def fit(
        self,
        data: Any,
        *,
        batch_size: int | Callable[[dict[str, Any]], int] | None = None,
        shuffle: bool = False,
        normalizer: NormalizerChoice = "own",
        resume: bool = False,
        options: SourceOptions | None = None,
        workers: Sequence[str] | int | None = None,
        resources: Mapping[str, float] | None = None,
        start_timeout_s: float = 60.0,
        **source_options: Any,
    ) -> Network[Any]:
        """Train the trials, and return the best network.

        Parameters
        ----------
        data, shuffle, normalizer, options, resources, **source_options
            As ``fit`` of a front end takes them, for every trial. A normalizer is
            fitted by each trial anew, unless it is already.
        batch_size : int or function of (dict), optional
            A function gets the parameters of the trial.
        resume : bool
            Go on with the search in the directory, which must have been begun with the
            same options; what its trials have trained counts, and those that failed are
            tried again. Of one that is complete nothing is trained, and the data are
            not looked at.
        workers : sequence of str or int, optional
            Which workers may be used, or how many at a time; all that the cluster has
            if not given, newcomers included.
        start_timeout_s : float
            How long workers may take to come: at the start, and when too few are left.

        Returns
        -------
        network
            As it was at the epoch of its best score.

        Raises
        ------
        OptionError, ShapeError, DataError, OutputExistsError
            Before any worker trains, when something does not go together; then nothing
            in the directory is changed.
        WorkerLostError
            When too few workers are left; ``resume=True`` goes on.
        DivergedError, ClusterError
            When no trial has a score.
        """
        who = type(self).__name__
        check_type(who, "resume", resume, bool)
        check_type(who, "shuffle", shuffle, bool)
        if workers is not None and not isinstance(workers, Sequence):
            check_count(who, "workers", workers)
        count = len(workers) if isinstance(workers, Sequence) else workers
        if count is not None and count < self._workers_per_trial:
            raise OptionError(
                f"{who}: workers must be at least workers_per_trial, "
                f"{self._workers_per_trial}, got {count}."
            )
        given = _given(f"{who}.fit", options, source_options)
        setup = TrialSetup(who, self._build, self._master, batch_size)
        told = self._directory.told_trial() if resume else None
        trial, first, master = setup.first(
            sorted(self.trials, key=lambda one: one.number != told)
        )
        self._calculator.check(first)
        check_master(who, first, master)
        self._begin(setup, trial, first, shuffle, normalizer, resume=resume)
        how = {"shuffle": shuffle, "options": given, "resources": resources}
        shared = Shared(
            client=self._client,
            data=data,
            how={**how, "start_timeout_s": start_timeout_s},
            normalizer=normalizer,
            calculator=self._calculator,
            conditions=self._conditions,
            directory=self._directory,
        )
        needed = self._workers_per_trial if workers is None else workers
        with (
            self._nothing_half_done(resume),
            enough_workers(self._client, needed, resources, start_timeout_s),
        ):
            self._climb(
                Rung(
                    shared,
                    setup,
                    WorkerSelection(self._client, workers, resources or {}),
                    workers_per_trial=self._workers_per_trial,
                    max_attempts=self._max_attempts,
                    start_timeout_s=start_timeout_s,
                )
            )
        self._check_found()
        return self.best_network

    def _begin(
        self,
        setup: TrialSetup,
        trial: Trial,
        first: Network[Any],
        shuffle: bool,
        normalizer: NormalizerChoice,
        *,
        resume: bool,
    ) -> None:
        self._directory.begin(
            {
                "epochs": self._rungs[-1],
                "halving": None if self._halving is None else asdict(self._halving),
                "n_trials": len(self.trials),
                "seed": self._seed,
                # One is drawn after the other.
                "parameters": list(self._distributions),
                "distributions": {
                    name: in_words(one) for name, one in self._distributions.items()
                },
                "score_calculator": self._calculator.in_words(),
                "termination_conditions": list(map(repr, self._conditions)),
                "workers_per_trial": self._workers_per_trial,
                "shuffle": shuffle,
                "normalizer": in_words_of(normalizer),
                **setup.in_words(),
                # Of one trial: a function cannot be compared, what it makes can.
                "network_of_trial": trial.number,
                "network": first.conf.to_dict(),
            },
            resume=resume,
        )
        if not resume:
            drawn = [Trial(one.number, one.parameters) for one in self.trials]
            self.trials = drawn
            return
        self.trials = self._directory.read_trials(self.trials)
        for trial in self.trials:
            # What went on and what did not is found again from the scores. What failed
            # may have a cause that is gone; what diverged would again.
            if trial.state is not TrialState.DIVERGED:
                trial.state = TrialState.WAITING

    @contextmanager
    def _nothing_half_done(self, resume: bool) -> Iterator[None]:
        """Leave the directory free if an error comes before any trial was trained."""
        try:
            yield
        except BaseException:
            if not resume:
                self._directory.give_up(self.trials)
            raise

    def _climb(self, rung: Rung) -> None:
        entered = list(self.trials)
        minimize = self._calculator.minimize_score
        for epochs in self._rungs:
            logger.info("%d trials are trained to epoch %d", len(entered), epochs)
            rung.run(entered, epochs)
            if self._halving is not None and epochs < self._rungs[-1]:
                best = self._halving.survivors(entered, epochs, minimize=minimize)
                left = [one for one in entered if one not in best]
                self._leave(left, TrialState.STOPPED)
                entered = best
        self._leave(entered, TrialState.FINISHED)

    def _leave(self, trials: Iterable[Trial], state: TrialState) -> None:
        for trial in trials:
            if not trial.is_lost:
                trial.state = state
            self._directory.write_trial(trial)
            if trial.state is not TrialState.FAILED:
                self._directory.remove_checkpoints(trial)

    def _check_found(self) -> None:
        best = self._ranked()[0]
        if _has_score(best):
            return
        who, causes = type(self).__name__, [one.failures for one in self.trials]
        first = next((one[-1] for one in causes if one), "no score was a number")
        kind = DivergedError if best.state is TrialState.DIVERGED else ClusterError
        raise kind(
            f"{who}: at least one of {len(self.trials)} trials must have a score, none "
            f"has. The first: {first}"
        )

    @property
    def best_trial(self) -> Trial:
        """The trial with the best score; of equal ones that which was trained longer.

        While the search runs it is the best one so far.

        Raises
        ------
        OptionError
            If none has a score yet.
        """
        best = self._ranked()[0]
        if not _has_score(best):
            raise OptionError(
                f"{type(self).__name__}: best_trial must have a score, none of "
                f"{len(self.trials)} trials has one. Call fit first."
            )
        return best

    def _ranked(self) -> list[Trial]:
        return ranked(self.trials, minimize=self._calculator.minimize_score)

    @property
    def best_parameters(self) -> dict[str, Any]:
        """What was drawn for the best trial."""
        return copy.copy(self.best_trial.parameters)

    @property
    def best_score(self) -> float:
        """The best score."""
        return self.best_trial.score

    @property
    def best_network(self) -> Network[Any]:
        """The network with the best score, read from the directory each time."""
        return self.network_of(self.best_trial)

    def network_of(self, trial: Trial) -> Network[Any]:
        """Return the best network of a trial.

        Parameters
        ----------
        trial : Trial
            One of `trials`.

        Raises
        ------
        OptionError
            If it has none.
        """
        try:
            return load(self._directory.best_model(trial))
        except SourceNotFoundError as error:
            raise OptionError(
                f"{type(self).__name__}: trial must have a score, got trial "
                f"{trial.number}, which is {trial.state.value} without one."
            ) from error

    @property
    def examples(self) -> int:
        """Examples that were trained for all trials together."""
        return sum(trial.examples for trial in self.trials)

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each trial, the best first.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError(
                f"{type(self).__name__}.to_frame needs pandas: pip install pandas"
            ) from error
        columns = ("state", "score", "best_epoch", "epochs", "examples", "wall_s")
        rows = [
            {
                "trial": trial.number,
                **trial.parameters,
                **{name: getattr(trial, name) for name in columns},
                "state": trial.state.value,
            }
            for trial in self._ranked()
        ]
        return pd.DataFrame(rows).set_index("trial")


def _given(
    who: str, options: SourceOptions | None, changes: Mapping[str, Any]
) -> SourceOptions:
    for name in changes:
        if where := _ELSEWHERE.get(name):
            raise OptionError(
                f"{who}: options must be those of fit or SourceOptions, got {name!r}. "
                f"{where}"
            )
    return given_options(who, options, changes)


def _has_score(trial: Trial) -> bool:
    return not trial.is_lost and not math.isnan(trial.score)
