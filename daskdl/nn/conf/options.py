"""Options that many kinds of layers have, in groups that a kind lists beside LayerConf.

A group declares options; what follows from one, :class:`LayerConf` does for whatever
kind has it.
"""

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.constraints import Constraints
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, is_open
from daskdl.nn.conf.names import GradientNormalizationName
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.regularization import AnyCoefficient, AnyWeightDecay
from daskdl.nn.conf.updaters import AnyUpdater
from daskdl.nn.conf.values import Conf, Count, Positive, Probability, Real
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.conf.weight_noise import AnyWeightNoise

if TYPE_CHECKING:
    # To them a list of kinds that share a group is one of layers.
    from daskdl.nn.conf.layer import LayerConf as _Group
else:
    _Group = Conf


class DropoutOptions(_Group):
    """Plain dropout. None stands for what the network says.

    Parameters
    ----------
    keep_probability : float in (0, 1], optional
        Each number of the layer's *input* is kept with this probability in training,
        and divided by it. 1 keeps all. Not besides `dropout`, which is another kind of
        it, or one with a schedule.
    """

    takes_network_dropout: ClassVar[bool] = True

    keep_probability: Probability | None = None


class TrainingOptions(_Group):
    """How layers with parameters are trained. None stands for what the network says.

    Parameters
    ----------
    keep_probability : float in (0, 1], optional
        Each number of the layer's *input* is kept with this probability in training,
        and divided by it. 1 keeps all. Not besides `dropout`, which is another kind of
        it, or one with a schedule.
    updater, bias_updater : updater, optional
        How the parameters change; `bias_updater` None means as `updater`.
    gradient_normalization : str, optional
        What happens to the layer's gradient before regularization.
    gradient_normalization_threshold : float, optional
        The bound of the three that clip.
    l1, l2, l1_bias, l2_bias : float or schedule, optional
        Added to the gradient before the updater: ``l1 * sign(w) + l2 * w``.
    weight_decay, weight_decay_bias : float, schedule or weight decay, optional
        Added to the update after the updater: ``learning_rate * weight_decay * w``.
    constraints : tuple of constraints, optional
        What the parameters are held to after each update.
    """

    takes_network_dropout: ClassVar[bool] = True

    keep_probability: Probability | None = None
    updater: AnyUpdater | None = None
    bias_updater: AnyUpdater | None = None
    l1: AnyCoefficient | None = None
    l2: AnyCoefficient | None = None
    l1_bias: AnyCoefficient | None = None
    l2_bias: AnyCoefficient | None = None
    weight_decay: AnyWeightDecay | None = None
    weight_decay_bias: AnyWeightDecay | None = None
    gradient_normalization: GradientNormalizationName | None = None
    gradient_normalization_threshold: Positive | None = None
    constraints: Constraints | None = None


class WeightOptions(_Group):
    """Weights and biases. None stands for what the network says.

    Parameters
    ----------
    n_out : int
        Number of outputs, units or channels.
    n_in : int, optional
        Number of inputs; inferred, and refused if it contradicts the input.
    activation : str or activation, optional
        The activation function, by name or with options.
    weight_init : str or weight init, optional
        How the initial weights are drawn.
    bias_init : float, optional
        Initial bias.
    weight_noise : weight noise, optional
        What is done to the weights in training, for one forward and backward.
    """

    n_out: Count = Field(kw_only=False)
    n_in: Count | None = None
    activation: AnyActivation | None = None
    weight_init: AnyWeightInit | None = None
    bias_init: Real | None = None
    weight_noise: AnyWeightNoise | None = None

    def inferred_n_in(self, input_type: InputType) -> int:
        """Return how many inputs a unit has; refuse an `n_in` that contradicts.

        Raises
        ------
        OptionError
            If `n_in` is given and is not what `input_type` brings.
        """
        if self.n_in is not None and is_open(input_type):
            return self.n_in
        return self._agreed_n_in(input_type.n_features, input_type)

    def dense_parameters(
        self, input_type: InputType, *, has_bias: bool
    ) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out) and, if there is one, b (n_out,)."""
        weight = Parameter("W", (self.inferred_n_in(input_type), self.n_out))
        return (
            (weight, Parameter("b", (self.n_out,), "bias")) if has_bias else (weight,)
        )

    def _agreed_n_in(self, n_in: int, input_type: InputType) -> int:
        if self.n_in is not None and self.n_in != n_in:
            raise PathError(
                f"must be {n_in}, what the layer gets ({input_type}), "
                f"got {self.n_in}. Leave it out to infer it.",
                "n_in",
            )
        return n_in
