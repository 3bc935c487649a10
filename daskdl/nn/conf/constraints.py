"""What parameters must satisfy after every update. Values only.

:mod:`daskdl.nn.constraints` holds the arithmetic.
"""

from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Field, model_validator

from daskdl.nn.conf.errors import PathError, got
from daskdl.nn.conf.spellings import Taking
from daskdl.nn.conf.values import (
    Conf,
    Index,
    NonNegative,
    Positive,
    Probability,
    plain,
    tagged,
)

Group = Literal["weights", "biases", "all"]


def _dimensions(value: Any) -> Any:
    """Take one axis for a list of one."""
    return (value,) if isinstance(plain(value), int) else value


def _groups_or_names(value: Any) -> Any:
    """Take a single name, other than those of groups, for a list of one."""
    if isinstance(value, str):
        return value if value in get_args(Group) else (value,)
    if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise PathError(
        f"must be 'weights', 'biases', 'all', or names of parameters, got {got(value)}."
    )


_Dimensions = Annotated[
    tuple[Index, ...],
    Field(min_length=1),
    BeforeValidator(Taking(_dimensions, one_for_many=True)),
]
_TAKING_GROUPS = Taking(_groups_or_names, ({"type": "string"},))
_ApplyTo = Annotated[Group | tuple[str, ...], BeforeValidator(_TAKING_GROUPS)]


class _Constraint(Conf):
    """What constraints share.

    Parameters
    ----------
    apply_to : {"weights", "biases", "all"} or tuple of str
        Which parameters of the layer, or their names.
    epsilon : float
        Added to norms that are divided by.
    """

    apply_to: _ApplyTo = "weights"
    epsilon: Positive = 1e-6


class _NormOptions(Conf):
    """What norms run over.

    Parameters
    ----------
    dimensions : tuple of int
        Axes of the parameter, in its shape in files, that a norm runs over: 1 of dense
        weights (n_in, n_out) is the norm of what leaves an input, 0 of what reaches an
        output; 1, 2, 3 of a convolution's (n_out, n_in, height, width) is the norm of a
        kernel.
    """

    dimensions: _Dimensions


class MaxNormConstraint(_NormOptions, _Constraint):
    """No norm is above `max_norm`.

    Parameters
    ----------
    max_norm : float
        The largest norm.
    """

    type: Literal["max_norm"] = "max_norm"
    max_norm: Positive


class MinMaxNormConstraint(_NormOptions, _Constraint):
    """Every norm is between `min` and `max`, reached by the share `rate` a step.

    Parameters
    ----------
    min, max : float
        Bounds of the norms.
    rate : float in (0, 1]
        Share of the way to the bound that one step goes.
    """

    type: Literal["min_max_norm"] = "min_max_norm"
    min: NonNegative = 0.0
    max: Positive = 1.0
    rate: Probability = 1.0

    @model_validator(mode="after")
    def _check_order(self) -> "MinMaxNormConstraint":
        if self.max < self.min:
            raise PathError(
                f"must not be below min ({self.min:g}), got {self.max:g}.", "max"
            )
        return self


class UnitNormConstraint(_NormOptions, _Constraint):
    """Every norm is 1."""

    type: Literal["unit_norm"] = "unit_norm"


class NonNegativeConstraint(_Constraint):
    """No number is below 0."""

    type: Literal["non_negative"] = "non_negative"


Constraint: TypeAlias = (
    MaxNormConstraint
    | MinMaxNormConstraint
    | UnitNormConstraint
    | NonNegativeConstraint
)
CONSTRAINTS: tuple[type[Constraint], ...] = get_args(Constraint)

AnyConstraint = Annotated[
    Constraint,
    Field(discriminator="type"),
    BeforeValidator(tagged(Constraint, suffix="constraint")),
]


def _list(value: Any) -> Any:
    """Take one constraint for a list of one."""
    return (value,) if isinstance(value, str | dict | _Constraint) else value


Constraints = Annotated[
    tuple[AnyConstraint, ...], BeforeValidator(Taking(_list, one_for_many=True))
]
