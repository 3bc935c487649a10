"""How initial weights are drawn: a name, or a mapping where it has options.

Values only; :mod:`daskdl.nn.initializers` draws.
"""

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from daskdl.nn.conf.distributions import AnyDistribution
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.named import named
from daskdl.nn.conf.values import Conf, Positive, Real

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


WeightInitOptions: TypeAlias = (
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
AnyWeightInit = Annotated[
    WeightInitLiteral | WeightInitOptions,
    BeforeValidator(named(WeightInitLiteral, WeightInitOptions)),
]
