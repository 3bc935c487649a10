"""Constraints on the parameters of a layer, applied in place after every update.

References
----------
DL4J, ``org.deeplearning4j.nn.conf.constraint``.
"""

from collections.abc import Callable
from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.checks import some
from daskdl.errors import OptionError
from daskdl.nn.conf.constraints import (
    Constraint,
    MaxNormConstraint,
    MinMaxNormConstraint,
    NonNegativeConstraint,
    UnitNormConstraint,
)


def apply_constraint(constraint: Constraint, param: FloatArray) -> None:
    """Make a parameter satisfy a constraint.

    Parameters
    ----------
    constraint : constraint configuration
        Which of the layer's parameters it is for is not looked at.
    param : ndarray of the shape of the parameter, with the axes of files
        Such as (n_in, n_out), or (n_out, n_in, height, width); changed in place, so
        usually a transposed view.
    """
    # Twice shows where a rate is below 1, and in the epsilon that norms are divided by.
    for _ in range(2 if "constraints_twice" in constraint.quirks else 1):
        _RULES[type(constraint)](constraint, param)


def check_dimensions(constraint: Constraint, who: str, n_axes: int) -> None:
    """Refuse a constraint of norms over axes that a parameter does not have.

    Parameters
    ----------
    constraint : constraint configuration
        Of a layer.
    who : str
        What messages call the parameter.
    n_axes : int
        Number of its axes in files.

    Raises
    ------
    OptionError
        If an axis is not there.
    """
    dimensions = getattr(constraint, "dimensions", ())
    beyond = [axis for axis in dimensions if axis >= n_axes]
    if beyond:
        raise OptionError(
            f"{who}: dimensions of {type(constraint).__name__} must be below {n_axes}, "
            f"the number of its axes, got {some(beyond)}. Name other parameters in "
            "apply_to, or other dimensions."
        )


def _max_norm(conf: MaxNormConstraint, param: FloatArray) -> None:
    norm = _norm(param, conf.dimensions)
    bounded = array_namespace(param).minimum(norm, conf.max_norm)
    param *= _factor(conf, norm, bounded)


def _min_max_norm(conf: MinMaxNormConstraint, param: FloatArray) -> None:
    norm = _norm(param, conf.dimensions)
    bounded = norm.clip(conf.min, conf.max)
    if "min_max_norm_mixes_quotient" not in conf.quirks:
        param *= _factor(conf, norm, norm + conf.rate * (bounded - norm))
        return
    factor = _factor(conf, norm, bounded)
    if conf.rate != 1:
        # Not a mean of both norms: one of a quotient and a norm.
        factor = conf.rate * factor + (1 - conf.rate) * (norm + conf.epsilon)
    param *= factor


def _unit_norm(conf: UnitNormConstraint, param: FloatArray) -> None:
    norm = _norm(param, conf.dimensions)
    # Zeros stay zeros.
    norm[norm == 0] = 1
    param /= norm


def _non_negative(conf: NonNegativeConstraint, param: FloatArray) -> None:
    array_namespace(param).maximum(param, 0, out=param)


def _factor(
    conf: MaxNormConstraint | MinMaxNormConstraint, norm: Any, wanted: Any
) -> Any:
    """Return the factor that brings norms to the wanted ones."""
    factor = wanted / (norm + conf.epsilon)
    if "constraints_shrink" not in conf.quirks:
        # By epsilon it would shrink again and again.
        factor[wanted == norm] = 1
    return factor


def _norm(param: FloatArray, dimensions: tuple[int, ...]) -> Any:
    """Return Euclidean norms over axes, which stay with length 1."""
    return array_namespace(param).sqrt((param * param).sum(dimensions, keepdims=True))


_RULES: dict[type[Constraint], Callable[[Any, FloatArray], None]] = {
    MaxNormConstraint: _max_norm,
    MinMaxNormConstraint: _min_max_norm,
    UnitNormConstraint: _unit_norm,
    NonNegativeConstraint: _non_negative,
}
