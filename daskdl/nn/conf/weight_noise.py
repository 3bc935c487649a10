"""What happens to the weights of a layer in training, for one forward and backward.

Values only; :mod:`daskdl.nn.layers.noisy_params` does it. Names and formulas are those
of ``org.deeplearning4j.nn.conf.weightnoise``.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from daskdl.nn.conf.distributions import AnyDistribution
from daskdl.nn.conf.schedules import ProbabilitySchedule
from daskdl.nn.conf.values import Conf, tagged


class DropConnect(Conf):
    """Keep each weight with a probability, as it is; the others are 0.

    Parameters
    ----------
    weight_retain_probability : float in (0, 1] or schedule
        Probability to keep a weight. What is kept is not divided by it.
    apply_to_biases : bool
        Whether biases are dropped too.

    References
    ----------
    Wan et al., *Regularization of Neural Networks using DropConnect*, 2013.
    """

    type: Literal["drop_connect"] = "drop_connect"
    weight_retain_probability: ProbabilitySchedule
    apply_to_biases: bool = False


class WeightNoise(Conf):
    """Add a random number to each weight, or multiply it by one.

    Parameters
    ----------
    distribution : distribution
        Where the numbers come from.
    apply_to_bias : bool
        Whether biases get them too.
    additive : bool
        Add; otherwise multiply.
    """

    type: Literal["weight_noise"] = "weight_noise"
    distribution: AnyDistribution
    apply_to_bias: bool = False
    additive: bool = True


AnyWeightNoise: TypeAlias = Annotated[
    DropConnect | WeightNoise,
    Field(discriminator="type"),
    BeforeValidator(tagged(DropConnect | WeightNoise)),
]
