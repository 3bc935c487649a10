"""What a trial is trained as: the network, the training master and the batch size."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from daskdl.checks import check_count, check_type
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.errors import OptionError
from daskdl.nn.build import build_network
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.network import Network
from daskdl.tuning.trial import Trial

__all__ = ["Build", "TrialSetup", "in_words_of"]

Build: TypeAlias = Callable[
    [dict[str, Any]],
    MultiLayerConfiguration | ComputationGraphConfiguration | Network[Any],
]
"""What makes a network of parameters."""

_FUNCTION = "a function"


class TrialSetup:
    """Makes of the parameters of a trial what it is trained as.

    Parameters
    ----------
    who : str
        For messages.
    build : function of (dict)
    master : TrainingMaster or function of (dict)
    batch_size : int or function of (dict), optional
    """

    def __init__(
        self,
        who: str,
        build: Build,
        master: TrainingMaster | Callable[[dict[str, Any]], TrainingMaster],
        batch_size: int | Callable[[dict[str, Any]], int] | None,
    ) -> None:
        self._who = who
        self._build, self._master = build, master
        self._batch_size = batch_size
        if batch_size is not None and not callable(batch_size):
            check_count(who, "batch_size", batch_size)

    def first(
        self, trials: Sequence[Trial]
    ) -> tuple[Trial, Network[Any], TrainingMaster]:
        """Return the first trial that can be built, its network and its master.

        Raises
        ------
        Exception
            That of the first trial, if none can be.
        """
        errors: list[Exception] = []
        for trial in trials:
            if (built := self._of_or_none(trial, errors)) is not None:
                network, master, _ = built
                return trial, network, master
        raise errors[0]

    def _of_or_none(
        self, trial: Trial, errors: list[Exception]
    ) -> tuple[Network[Any], TrainingMaster, int | None] | None:
        try:
            return self.of(trial)
        except Exception as error:  # noqa: BLE001 - of the user's function
            errors.append(error)
            return None

    def of(self, trial: Trial) -> tuple[Network[Any], TrainingMaster, int | None]:
        """Return network, training master and batch size of a trial.

        Raises
        ------
        OptionError
            If one of the functions returns something else. What they raise comes out.
        """
        return self._network(trial), self._master_of(trial), self._size(trial)

    def _network(self, trial: Trial) -> Network[Any]:
        built = self._build(dict(trial.parameters))
        if isinstance(built, Network):
            # It may be the same one for every trial.
            return built.clone()
        kinds = MultiLayerConfiguration, ComputationGraphConfiguration
        if not isinstance(built, kinds):
            raise OptionError(
                f"{self._who}: build must return a configuration or a network, got a "
                f"{type(built).__name__} for {trial.parameters!r}."
            )
        return build_network(built)

    def _master_of(self, trial: Trial) -> TrainingMaster:
        master = self._master
        if not isinstance(master, TrainingMaster):
            master = master(dict(trial.parameters))
            check_type(
                self._who, "what training_master returns", master, TrainingMaster
            )
        # Others of the cluster have trials of their own; nobody comes to this one.
        return replace(master, rejoin_timeout_s=0.0)

    def _size(self, trial: Trial) -> int | None:
        size = self._batch_size
        if size is None or isinstance(size, int) or not callable(size):
            return size
        drawn = size(dict(trial.parameters))
        return check_count(self._who, "what batch_size returns", drawn)

    def in_words(self) -> dict[str, Any]:
        """Return what all trials have in common, as plain values."""
        master, size = self._master, self._batch_size
        told = master.in_words() if isinstance(master, TrainingMaster) else _FUNCTION
        size_told = _FUNCTION if callable(size) else size
        return {"training_master": told, "batch_size": size_told}


def in_words_of(normalizer: Any) -> str | None:
    """Return which normalizer a call chose."""
    if normalizer is None or isinstance(normalizer, str):
        return normalizer
    return type(normalizer).__name__
