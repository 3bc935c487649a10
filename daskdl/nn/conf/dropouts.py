"""What happens to the input of a layer in training: dropout and its relatives.

Values only; :mod:`daskdl.nn.layers.input_dropout` does it. Names and formulas are those
of ``org.deeplearning4j.nn.conf.dropout``; `keep_probability` is its ``p``, the
probability with which a number is *kept*.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field

from daskdl.nn.conf.errors import PathError, got
from daskdl.nn.conf.schedules import (
    FractionSchedule,
    NonNegativeSchedule,
    ProbabilitySchedule,
)
from daskdl.nn.conf.values import Conf, Real, tagged


class PlainDropout(Conf):
    """Keep each number with a probability, divided by it.

    Parameters
    ----------
    keep_probability : float in (0, 1] or schedule
        Probability to keep a number.
    """

    type: Literal["dropout"] = "dropout"
    keep_probability: ProbabilitySchedule


class SpatialDropout(Conf):
    """Keep each feature or channel of an example as a whole, or drop it.

    Parameters
    ----------
    keep_probability : float in (0, 1] or schedule
        Probability to keep a feature; it is divided by it.

    References
    ----------
    Tompson et al., *Efficient Object Localization Using Convolutional Networks*, 2014.
    """

    type: Literal["spatial_dropout"] = "spatial_dropout"
    keep_probability: ProbabilitySchedule


class AlphaDropout(Conf):
    """Dropout that keeps mean and variance of what comes out of a SELU.

    Parameters
    ----------
    keep_probability : float in (0, 1] or schedule
        Probability to keep a number; the others become the value that a SELU has far
        below 0.
    alpha, lambda_ : float
        Of the SELU; the key of the second is ``lambda``.

    References
    ----------
    Klambauer et al., *Self-Normalizing Neural Networks*, 2017.
    """

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["alpha_dropout"] = "alpha_dropout"
    keep_probability: ProbabilitySchedule
    alpha: Real = 1.6732632423543772
    lambda_: Real = Field(1.0507009873554804, alias="lambda")


class GaussianDropout(Conf):
    """Multiply each number by one from a normal distribution around 1.

    Parameters
    ----------
    rate : float in [0, 1) or schedule
        The standard deviation is ``sqrt(rate / (1 - rate))``, that of plain dropout
        which drops this share.

    References
    ----------
    Srivastava et al., *Dropout*, 2014, section 10.
    """

    type: Literal["gaussian_dropout"] = "gaussian_dropout"
    rate: FractionSchedule


class GaussianNoise(Conf):
    """Add to each number one from a normal distribution around 0.

    Parameters
    ----------
    stddev : float or schedule
        Standard deviation.
    """

    type: Literal["gaussian_noise"] = "gaussian_noise"
    stddev: NonNegativeSchedule


Dropouts: TypeAlias = (
    PlainDropout | SpatialDropout | AlphaDropout | GaussianDropout | GaussianNoise
)


def _refuse_number(value: Any) -> Any:
    """Refuse a bare number: whether it keeps or drops, nobody could see."""
    if isinstance(value, int | float):
        raise PathError(
            f"must be a mapping with a known `type`, got {got(value)}. Give plain "
            "dropout as keep_probability, the probability to keep a number."
        )
    return value


AnyDropout: TypeAlias = Annotated[
    Dropouts,
    Field(discriminator="type"),
    BeforeValidator(tagged(Dropouts)),
    BeforeValidator(_refuse_number),
]


def refuse_two_dropouts(conf: Any) -> None:
    """Refuse a configuration with both `keep_probability` and `dropout`."""
    if conf.dropout is not None and keep_probability_of(conf) != 1:
        raise PathError(
            "must be left out where keep_probability is given, which is plain "
            f"dropout, got {conf.dropout.type}.",
            "dropout",
        )


def keep_probability_of(conf: Any) -> float:
    """Return what a configuration says of plain dropout; 1 if it says nothing."""
    keep: float | None = getattr(conf, "keep_probability", None)
    return 1 if keep is None else keep
