"""Probability distributions, for initial weights and for weight noise. Values only.

:func:`daskdl.nn.distributions.sample` draws from them.
"""

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Field, model_validator

from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.values import Conf, Count, NonNegative, Real, Share, tagged


class _Normal(Conf):
    """What the relatives of the normal distribution share.

    Parameters
    ----------
    mean, std : float
        Mean and standard deviation of the normal variable.
    """

    mean: Real = 0.0
    std: NonNegative = 1.0


class NormalDistribution(_Normal):
    """The normal distribution with this mean and standard deviation."""

    type: Literal["normal"] = "normal"


class GaussianDistribution(_Normal):
    """The normal distribution under its older name, which some files keep."""

    type: Literal["gaussian"] = "gaussian"


class LogNormalDistribution(_Normal):
    """The exponential of a normal variable with this mean and standard deviation."""

    type: Literal["log_normal"] = "log_normal"


class TruncatedNormalDistribution(_Normal):
    """The normal distribution without what is over two standard deviations away."""

    type: Literal["truncated_normal"] = "truncated_normal"


class UniformDistribution(Conf):
    """Every number from `lower` up to `upper` alike.

    Parameters
    ----------
    lower, upper : float
        The smallest number, and the one that all are below.
    """

    type: Literal["uniform"] = "uniform"
    lower: Real
    upper: Real

    @model_validator(mode="after")
    def _check_order(self) -> "UniformDistribution":
        if self.upper <= self.lower:
            raise PathError(
                f"must be greater than lower ({self.lower:g}), got {self.upper:g}.",
                "upper",
            )
        return self


class ConstantDistribution(Conf):
    """Always `value`.

    Parameters
    ----------
    value : float
        What every number is.
    """

    type: Literal["constant"] = "constant"
    value: Real


class OrthogonalDistribution(Conf):
    """A random matrix with orthonormal rows or columns, times `gain`.

    Parameters
    ----------
    gain : float
        Factor of the matrix.
    """

    type: Literal["orthogonal"] = "orthogonal"
    gain: Real = 1.0


class BinomialDistribution(Conf):
    """The number of successes in some trials.

    Parameters
    ----------
    number_of_trials : int
        How often it is tried.
    probability_of_success : float from 0 to 1
        Of one trial.
    """

    type: Literal["binomial"] = "binomial"
    number_of_trials: Count
    probability_of_success: Share


Distribution: TypeAlias = (
    NormalDistribution
    | GaussianDistribution
    | LogNormalDistribution
    | TruncatedNormalDistribution
    | UniformDistribution
    | ConstantDistribution
    | OrthogonalDistribution
    | BinomialDistribution
)
DISTRIBUTIONS: tuple[type[Distribution], ...] = get_args(Distribution)

AnyDistribution = Annotated[
    Distribution,
    Field(discriminator="type"),
    BeforeValidator(tagged(Distribution, suffix="distribution")),
]
