"""Numbers that change from iteration to iteration or from epoch to epoch.

Where an option may be a schedule, a number stays a number; anything else is one of the
models here, each with its formula.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Tag,
    model_validator,
)

from daskdl.errors import OptionError
from daskdl.nn.conf.errors import PathError, got
from daskdl.nn.conf.kinds import SCHEDULE_KINDS, AnyOf
from daskdl.nn.conf.schedule_signs import refuse_negative
from daskdl.nn.conf.values import (
    AnySpelling,
    Conf,
    Count,
    Fraction,
    Index,
    NonNegative,
    Positive,
    Probability,
    Real,
)

ScheduleType = Annotated[Literal["iteration", "epoch"], AnySpelling()]


def _count(key: Any) -> Any:
    """Take text for the number it says: keys of JSON are text."""
    return int(key) if isinstance(key, str) and key.isdecimal() else key


_Key = Annotated[Index, BeforeValidator(_count)]


class _Counted(Conf):
    """A schedule on one count, of iterations or of epochs; both begin at 0.

    Parameters
    ----------
    schedule_type : {"iteration", "epoch"}
        Which count is ``i`` in the formula.
    """

    schedule_type: ScheduleType = "iteration"

    def value_at(self, iteration: int, epoch: int) -> float:
        """Return the value at these counts."""
        return self._at(iteration if self.schedule_type == "iteration" else epoch)

    def _at(self, i: int) -> float:
        raise NotImplementedError


class FixedSchedule(Conf):
    """Always `value`.

    Parameters
    ----------
    value : float
        What it is always worth.
    """

    type: Literal["fixed"] = "fixed"
    value: Real

    def value_at(self, iteration: int, epoch: int) -> float:
        """Return `value`."""
        return self.value


class ExponentialSchedule(_Counted):
    """``initial_value * gamma**i``.

    Parameters
    ----------
    initial_value : float
        Value at the beginning.
    gamma : float
        Factor of each count.
    """

    type: Literal["exponential"] = "exponential"
    initial_value: Real
    gamma: Real

    def _at(self, i: int) -> float:
        return self.initial_value * self.gamma**i


class InverseSchedule(_Counted):
    """``initial_value / (1 + gamma * i)**power``.

    Parameters
    ----------
    initial_value : float
        Value at the beginning.
    gamma, power : float
        How fast it falls, see the formula.
    """

    type: Literal["inverse"] = "inverse"
    initial_value: Real
    gamma: NonNegative
    power: Real

    def _at(self, i: int) -> float:
        return self.initial_value / math.pow(1 + self.gamma * i, self.power)


class PolySchedule(_Counted):
    """``initial_value * (1 - i / max_iter)**power``, and 0 from `max_iter` on.

    Parameters
    ----------
    initial_value : float
        Value at the beginning.
    power : float
        Exponent, see the formula.
    max_iter : int
        Count from which on it is 0.
    """

    type: Literal["poly"] = "poly"
    initial_value: Real
    power: Real
    max_iter: Count

    def _at(self, i: int) -> float:
        if i >= self.max_iter:
            return 0.0
        done = i / self.max_iter
        left = 1 + done if "poly_grows" in self.quirks else 1 - done
        return self.initial_value * math.pow(left, self.power)


class SigmoidSchedule(_Counted):
    """``initial_value / (1 + exp(-gamma * (i - step_size)))``.

    Parameters
    ----------
    initial_value : float
        Upper end of the curve.
    gamma : float
        How steep it is.
    step_size : int
        Count at which half of it is reached.
    """

    type: Literal["sigmoid"] = "sigmoid"
    initial_value: Real
    gamma: Real
    step_size: Index

    def _at(self, i: int) -> float:
        exponent = -self.gamma * (i - self.step_size)
        # Beyond this the quotient is 0 in any case, and math.exp refuses.
        if exponent > 709:
            return 0.0
        return self.initial_value / (1 + math.exp(exponent))


class StepSchedule(_Counted):
    """``initial_value * decay_rate**floor(i / step)``.

    Parameters
    ----------
    initial_value : float
        Value at the beginning.
    decay_rate : float
        Factor of each step.
    step : float
        Counts from one step to the next.
    """

    type: Literal["step"] = "step"
    initial_value: Real
    decay_rate: Real
    step: Positive

    def _at(self, i: int) -> float:
        return self.initial_value * self.decay_rate ** math.floor(i / self.step)


class MapSchedule(_Counted):
    """The value at the largest key that has been reached; there must be a key 0.

    Parameters
    ----------
    values : mapping of int to float
        Values by the count from which on they hold.
    """

    type: Literal["map"] = "map"
    values: dict[_Key, Real]

    @model_validator(mode="after")
    def _check_beginning(self) -> "MapSchedule":
        if 0 not in self.values:
            raise PathError(
                f"must have the key 0, where it begins, got {got(self.values)}.",
                "values",
            )
        return self

    def _at(self, i: int) -> float:
        return self.values[max(key for key in self.values if key <= i)]


class CycleSchedule(_Counted):
    """Up from the initial to the maximal value, down again, and a fall at the end.

    Parameters
    ----------
    initial_learning_rate, max_learning_rate : float
        Lower and upper end of the ramps.
    cycle_length : int
        After which the cycle begins anew.
    annealing_length : int
        How much of it, at the end, is for the fall; what remains must leave at least
        one count for each ramp.
    annealing_decay : float
        The factor of each count in the fall, counted from the end.

    References
    ----------
    L. N. Smith, "A disciplined approach to neural network hyper-parameters",
    https://arxiv.org/abs/1803.09820.
    """

    type: Literal["cycle"] = "cycle"
    initial_learning_rate: Real
    max_learning_rate: Real
    cycle_length: Count
    annealing_length: Index
    annealing_decay: Real

    @model_validator(mode="after")
    def _check_ramps(self) -> "CycleSchedule":
        if self._ramp_length < 1:
            raise PathError(
                f"must leave at least 2 counts of cycle_length {self.cycle_length} "
                f"for the ramps, got {self.annealing_length}.",
                "annealing_length",
            )
        return self

    @property
    def _ramp_length(self) -> int:
        return (self.cycle_length - self.annealing_length) // 2

    def _at(self, i: int) -> float:
        position, ramp = i % self.cycle_length, self._ramp_length
        slope = (self.max_learning_rate - self.initial_learning_rate) / ramp
        if position < ramp:
            return self.initial_learning_rate + slope * position
        if position < 2 * ramp:
            return self.max_learning_rate - slope * (position - ramp)
        fallen = self.annealing_length - (self.cycle_length - position)
        return self.initial_learning_rate * math.pow(self.annealing_decay, fallen)


class ScheduleDefinition(Conf):
    """A schedule of one's own: a number for each moment of training.

    Derive from it, and register it with `daskdl.schedule`. Options are annotated
    fields.
    """

    type: str = ""

    def value_at(self, iteration: int, epoch: int) -> float:
        """Return the value at these counts, both of which begin at 0."""
        raise TypeError(
            f"{type(self).__name__}: must have a method value_at(iteration, epoch)."
        )


# Tags of pydantic's unions in angle brackets are left out of the paths in messages.
_NUMBER = "<number>"
_SCHEDULE = "<schedule>"


def number_or_schedule(value: Any) -> str:
    """Return the tag of what `value` is.

    A mapping, a model and the name of a kind are schedules; the rest is for a number to
    refuse.
    """
    is_name = isinstance(value, str) and SCHEDULE_KINDS.find(value) is not None
    is_schedule = is_name or isinstance(value, Mapping | BaseModel)
    return _SCHEDULE if is_schedule else _NUMBER


class RampSchedule(Conf):
    """``base * min(1, (iteration + 1) / num_iter)``: a warm-up, by iterations.

    Parameters
    ----------
    base : float or schedule
        What the ramp leads up to.
    num_iter : int
        Iterations until it is reached.
    """

    type: Literal["ramp"] = "ramp"
    base: "_OrSchedule[Real]"
    num_iter: Count

    def value_at(self, iteration: int, epoch: int) -> float:
        """Return the value at these counts."""
        base = value_at(self.base, iteration, epoch)
        return base * min(1.0, (iteration + 1) / self.num_iter)


_Ours: TypeAlias = (
    FixedSchedule
    | ExponentialSchedule
    | InverseSchedule
    | PolySchedule
    | SigmoidSchedule
    | StepSchedule
    | MapSchedule
    | CycleSchedule
    | RampSchedule
)
Schedule: TypeAlias = _Ours | ScheduleDefinition
N = TypeVar("N")
_OrSchedule: TypeAlias = Annotated[
    Annotated[N, Tag(_NUMBER)]
    | Annotated[Schedule, AnyOf(SCHEDULE_KINDS), Tag(_SCHEDULE)],
    Discriminator(number_or_schedule),
]
SCHEDULE_KINDS.enter(get_args(_Ours))
# A number or schedule that must not be below 0.
NonNegativeSchedule: TypeAlias = Annotated[
    _OrSchedule[NonNegative], AfterValidator(refuse_negative)
]
# A schedule, or a number that must be at least 0 and below 1.
FractionSchedule: TypeAlias = _OrSchedule[Fraction]
# A schedule, or a number that must be above 0 and at most 1.
ProbabilitySchedule: TypeAlias = _OrSchedule[Probability]


def value_at(schedule: float | Schedule, iteration: int, epoch: int) -> float:
    """Return the value of a number or schedule at a moment of training.

    Parameters
    ----------
    schedule : float or schedule
        A number is worth itself.
    iteration, epoch : int
        Iterations and epochs done before this one.

    Raises
    ------
    OptionError
        If a schedule of one's own returns no finite number.

    References
    ----------
    DL4J, ``org.nd4j.linalg.schedule``.
    """
    if isinstance(schedule, int | float):
        return schedule
    value = schedule.value_at(iteration, epoch)
    if isinstance(schedule, ScheduleDefinition):
        return _finite(schedule, value)
    return value


def _finite(schedule: ScheduleDefinition, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise OptionError(
            f"{type(schedule).__name__}: value_at must return a finite number, got "
            f"{got(value)}."
        )
    return number
