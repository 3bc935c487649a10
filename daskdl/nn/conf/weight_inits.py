"""How initial weights are drawn: a name, or a mapping where it has options.

The names are those of DL4J's ``WeightInit``; :mod:`daskdl.nn.initializers` draws.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator

from daskdl.nn.conf.distributions import AnyDistribution
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
    """Drawn from a distribution, whatever the shape of the layer."""

    type: Literal["distribution"] = "distribution"
    distribution: AnyDistribution


class ConstantInit(Conf):
    """The same `value` everywhere."""

    type: Literal["constant"] = "constant"
    value: Real


class IdentityInit(Conf):
    """The identity matrix, or the kernel that passes its middle on, times `scale`."""

    type: Literal["identity"] = "identity"
    scale: Real | None = None


class _VarScaling(Conf):
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
    """Uniform, by `fan_in`."""

    type: Literal["var_scaling_uniform_fan_in"] = "var_scaling_uniform_fan_in"


class VarScalingUniformFanOut(_VarScaling):
    """Uniform, by `fan_out`."""

    type: Literal["var_scaling_uniform_fan_out"] = "var_scaling_uniform_fan_out"


class VarScalingUniformFanAvg(_VarScaling):
    """Uniform, by the mean of both fans."""

    type: Literal["var_scaling_uniform_fan_avg"] = "var_scaling_uniform_fan_avg"


WeightInitOptions: TypeAlias = (
    DistributionInit
    | ConstantInit
    | IdentityInit
    | VarScalingNormalFanIn
    | VarScalingNormalFanOut
    | VarScalingNormalFanAvg
    | VarScalingUniformFanIn
    | VarScalingUniformFanOut
    | VarScalingUniformFanAvg
)
AnyWeightInit = Annotated[
    WeightInitLiteral | WeightInitOptions,
    BeforeValidator(
        named(
            WeightInitLiteral,
            DistributionInit,
            ConstantInit,
            IdentityInit,
            VarScalingNormalFanIn,
            VarScalingNormalFanOut,
            VarScalingNormalFanAvg,
            VarScalingUniformFanIn,
            VarScalingUniformFanOut,
            VarScalingUniformFanAvg,
        )
    ),
]
