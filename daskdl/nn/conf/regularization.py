"""Options that keep parameters small: L1, L2 and weight decay. Values only.

The arithmetic is in :mod:`daskdl.nn.regularization`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Discriminator, Tag

from daskdl.nn.conf.schedules import NonNegativeSchedule, Schedule
from daskdl.nn.conf.values import Conf

# l1, l2, l1_bias and l2_bias: a number or a schedule.
AnyCoefficient: TypeAlias = NonNegativeSchedule


class WeightDecay(Conf):
    """What is subtracted from a parameter besides its update, as a share of it.

    Parameters
    ----------
    coefficient : float or schedule
        ``coefficient * learning_rate * w`` is subtracted, or without the learning rate.
    apply_learning_rate : bool
        Whether the updater's learning rate is a factor; it is 1 for updaters that have
        none.
    """

    coefficient: NonNegativeSchedule
    apply_learning_rate: bool = True


_PLAIN = "<coefficient>"
_WITH_OPTIONS = "<weight decay>"
_SEVERAL = "<list>"


def _one_kind(value: Any) -> str:
    is_mapping = isinstance(value, Mapping) and "coefficient" in value
    return _WITH_OPTIONS if isinstance(value, WeightDecay) or is_mapping else _PLAIN


def _kind(value: Any) -> str:
    return _SEVERAL if isinstance(value, list | tuple) else _one_kind(value)


_OneDecay: TypeAlias = Annotated[
    Annotated[NonNegativeSchedule, Tag(_PLAIN)]
    | Annotated[WeightDecay, Tag(_WITH_OPTIONS)],
    Discriminator(_one_kind),
]
AnyWeightDecay: TypeAlias = Annotated[
    Annotated[NonNegativeSchedule, Tag(_PLAIN)]
    | Annotated[WeightDecay, Tag(_WITH_OPTIONS)]
    | Annotated[tuple[_OneDecay, ...], Tag(_SEVERAL)],
    Discriminator(_kind),
]

_Decay: TypeAlias = float | Schedule | WeightDecay


def weight_decays(value: _Decay | tuple[_Decay, ...] | None) -> tuple[WeightDecay, ...]:
    """Return an option `weight_decay` as a list of decays, each of which counts.

    Parameters
    ----------
    value : float, schedule, WeightDecay, tuple of these, or None
        A number or schedule is a coefficient with the learning rate. Some files
        have a decay twice, so there are lists.
    """
    if value is None:
        return ()
    parts = value if isinstance(value, tuple) else (value,)
    decays = [
        part if isinstance(part, WeightDecay) else WeightDecay(coefficient=part)
        for part in parts
    ]
    return tuple(decay for decay in decays if decay.coefficient != 0)
