"""Options of DL4J's masters that mean here what another one does, or one value only."""

from typing import Any

from daskdl.checks import as_known, check_positive, check_type
from daskdl.encoding.algorithms import (
    AdaptiveThresholdAlgorithm,
    ThresholdAlgorithm,
)
from daskdl.errors import OptionError

__all__ = ["algorithm_of", "check_workers_per_node", "checked_storage_level"]

_STORAGE_LEVELS = ("memory_only", "none")


def algorithm_of(
    who: str, updates_threshold: float, given: ThresholdAlgorithm
) -> ThresholdAlgorithm:
    """Return the threshold algorithm that DL4J's older option stands for.

    Parameters
    ----------
    who : str
        For messages.
    updates_threshold : float
    given : ThresholdAlgorithm
        The newer option.

    Raises
    ------
    OptionError
        If both were given, or it is no threshold.
    """
    if given != AdaptiveThresholdAlgorithm():
        raise OptionError(
            f"{who}: updates_threshold must come without threshold_algorithm, got "
            f"{updates_threshold!r} and {given!r}. Give one of them."
        )
    check_positive(who, "updates_threshold", updates_threshold)
    return AdaptiveThresholdAlgorithm(initial_threshold=updates_threshold)


def check_workers_per_node(who: str, value: Any) -> None:
    """Refuse several networks in one worker process, and say what does it instead."""
    check_type(who, "workers_per_node", value, int)
    if value not in (-1, 1):
        raise OptionError(
            f"{who}: workers_per_node must be 1, got {value!r}: threads of a worker "
            "share each minibatch, where in DL4J each trains a network. For more "
            "networks on a host start more processes: dask worker --nworkers."
        )


def checked_storage_level(who: str, value: Any) -> str:
    """Return one of the storage levels, which may be spelled as Spark does.

    Raises
    ------
    OptionError
        If it is none, or one of Spark's that means nothing here.
    """
    known = "none" if value is None else as_known(value, _STORAGE_LEVELS)
    if known not in _STORAGE_LEVELS:
        raise OptionError(
            f"{who}: storage_level must be one of {', '.join(_STORAGE_LEVELS)}, got "
            f"{value!r}. Workers keep decoded arrays in memory or nothing; what has no "
            "room there is read again from where it is stored, and copied nowhere."
        )
    level: str = known
    return level
