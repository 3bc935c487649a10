"""How initial weights are drawn: a name, or a mapping where it has options.

Values only; :mod:`daskdl.nn.initializers` draws.
"""

from typing import Annotated, Any, Literal, TypeAlias, get_args

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from daskdl.arrays.namespace import FloatArray
from daskdl.checks import normalised
from daskdl.nn.conf.distributions import AnyDistribution
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.kinds import WEIGHT_INIT_KINDS, AnyOf
from daskdl.nn.conf.named import named, or_registered
from daskdl.nn.conf.values import Conf, Positive, Real, tag_of

WeightInitLiteral = Literal[
    "xavier",
    "xavier_uniform",
    "xavier_fan_in",
    "xavier_legacy",
    "relu",
    "relu_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "uniform",
    "sigmoid_uniform",
    "zero",
    "ones",
    "identity",
    "var_scaling_normal_fan_in",
    "var_scaling_normal_fan_out",
    "var_scaling_normal_fan_avg",
    "var_scaling_uniform_fan_in",
    "var_scaling_uniform_fan_out",
    "var_scaling_uniform_fan_avg",
]


class DistributionInit(Conf):
    """Drawn from a distribution, whatever the shape of the layer.

    Parameters
    ----------
    distribution : distribution
        What the weights are drawn from.
    """

    type: Literal["distribution"] = "distribution"
    distribution: AnyDistribution


class ConstantInit(Conf):
    """The same `value` everywhere.

    Parameters
    ----------
    value : float
        What every weight is.
    """

    type: Literal["constant"] = "constant"
    value: Real


class IdentityInit(Conf):
    """The identity matrix, or the kernel that passes its middle on, times `scale`.

    Parameters
    ----------
    scale : float, optional
        Factor of the matrix; 1 if not given.
    """

    type: Literal["identity"] = "identity"
    scale: Real | None = None


def _nested(value: Any) -> Any:
    """Return an array as nested lists."""
    return value.tolist() if isinstance(value, np.ndarray) else value


class EmbeddingInit(Conf):
    """The vectors that somebody else has learnt, one for each number that comes in.

    Parameters
    ----------
    weights : array_like of shape (n_in, n_out), optional
        Stay in the configuration: for small tables.
    path : str, optional
        A file of NumPy (``.npy``) or of ND4J with such an array, read when the first
        weights are asked for.

    Notes
    -----
    Foreign files do not hold the vectors, but those of a network that was saved are in
    its parameters. Without both options, as such a file says, nothing can be drawn.
    """

    type: Literal["embedding"] = "embedding"
    weights: Annotated[
        tuple[tuple[Real, ...], ...] | None, BeforeValidator(_nested)
    ] = None
    path: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _check_source(self) -> "EmbeddingInit":
        if self.weights is not None and self.path is not None:
            raise PathError("must be left out where weights are given.", "path")
        if self.weights is not None and len({len(row) for row in self.weights}) != 1:
            raise PathError("must be rows of one length.", "weights")
        return self


class _VarScaling(Conf):
    """What the kinds that scale with the size of a layer share.

    Parameters
    ----------
    scale : float, optional
        Factor of the variance; 1 if not given.
    """

    scale: Positive | None = None


class VarScalingNormalFanIn(_VarScaling):
    """Truncated normal, ``std = sqrt(scale / fan_in)``."""

    type: Literal["var_scaling_normal_fan_in"] = "var_scaling_normal_fan_in"


class VarScalingNormalFanOut(_VarScaling):
    """Truncated normal, ``std = sqrt(scale / fan_out)``."""

    type: Literal["var_scaling_normal_fan_out"] = "var_scaling_normal_fan_out"


class VarScalingNormalFanAvg(_VarScaling):
    """Truncated normal, ``std = sqrt(2 * scale / (fan_in + fan_out))``."""

    type: Literal["var_scaling_normal_fan_avg"] = "var_scaling_normal_fan_avg"


class VarScalingUniformFanIn(_VarScaling):
    """Uniform, with the variance ``scale / fan_in``."""

    type: Literal["var_scaling_uniform_fan_in"] = "var_scaling_uniform_fan_in"


class VarScalingUniformFanOut(_VarScaling):
    """Uniform, with the variance ``scale / fan_out``."""

    type: Literal["var_scaling_uniform_fan_out"] = "var_scaling_uniform_fan_out"


class VarScalingUniformFanAvg(_VarScaling):
    """Uniform, with the variance of `scale` over the mean of both fans."""

    type: Literal["var_scaling_uniform_fan_avg"] = "var_scaling_uniform_fan_avg"


class WeightInitDefinition(Conf):
    """Initial weights of one's own: random numbers for a shape.

    Derive from it, and register it with `daskdl.weight_init`. Options are annotated
    fields.
    """

    type: str = ""

    def draw(
        self,
        shape: tuple[int, ...],
        fan_in: float,
        fan_out: float,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return fresh weights.

        Parameters
        ----------
        shape : tuple of int
            Of the weights; the last two axes are inputs and outputs.
        fan_in, fan_out : float
            How many numbers go into, and come out of, one unit.
        rng : numpy.random.Generator
            The layer's own stream: the only source of random numbers, so that the same
            seed gives the same weights.

        Returns
        -------
        ndarray of `shape`
        """
        raise TypeError(f"{type(self).__name__}: must have a method draw.")


_Ours: TypeAlias = (
    DistributionInit
    | ConstantInit
    | IdentityInit
    | EmbeddingInit
    | VarScalingNormalFanIn
    | VarScalingNormalFanOut
    | VarScalingNormalFanAvg
    | VarScalingUniformFanIn
    | VarScalingUniformFanOut
    | VarScalingUniformFanAvg
)
WeightInitOptions: TypeAlias = _Ours | WeightInitDefinition
_NAMES = {*get_args(WeightInitLiteral), *map(tag_of, get_args(_Ours))}
_NORMALISED = frozenset(map(normalised, _NAMES))


def is_ours(name: str) -> bool:
    """Return whether the package has initial weights of this name, in any spelling."""
    return normalised(name) in _NORMALISED


_find = or_registered(
    named(WeightInitLiteral, _Ours), is_ours, WEIGHT_INIT_KINDS, WeightInitDefinition
)
_Registered = Annotated[WeightInitDefinition, AnyOf(WEIGHT_INIT_KINDS)]
AnyWeightInit = Annotated[
    WeightInitLiteral | _Ours | _Registered, BeforeValidator(_find)
]
