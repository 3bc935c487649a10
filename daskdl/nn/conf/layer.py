"""What all layer configurations share."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.activations import AnyActivation, draws_random_numbers
from daskdl.nn.conf.constraints import Constraints
from daskdl.nn.conf.dropouts import AnyDropout, Dropouts, PlainDropout, SpatialDropout
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    InputType,
    describe,
    features_of,
    inside_type,
    is_open,
    with_features,
)
from daskdl.nn.conf.kinds import PREPROCESSOR_KINDS, AnyOf
from daskdl.nn.conf.losses import label_columns
from daskdl.nn.conf.names import GradientNormalizationName
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.regularization import AnyCoefficient, AnyWeightDecay
from daskdl.nn.conf.spellings import Taking
from daskdl.nn.conf.updaters import AnyUpdater
from daskdl.nn.conf.values import Conf, Count, Positive, Probability, Real, Several
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.conf.weight_noise import AnyWeightNoise
from daskdl.nn.run import Backward, Reshaped, Run, Work


def _names(value: object) -> object:
    """Take one name for a list of one."""
    return (value,) if isinstance(value, str) else value


Names = Annotated[Several[str], BeforeValidator(Taking(_names, one_for_many=True))]


class PreprocessorConf(Conf):
    """What reshapes the input of a layer; it has no parameters."""

    type: str

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out for `input_type`; refuse what cannot go in."""
        raise TypeError(f"{type(self).__name__} does not say what comes out of it.")

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return the input in its new shape, and the function that undoes it.

        Parameters
        ----------
        run : Run
            Number of examples, buffers.
        x : ndarray of shape (rows, *input_type.shape)
            Not to be changed.

        Returns
        -------
        output : ndarray of shape (rows, *output_type.shape), same dtype
            A buffer, or a view of `x`. The number of rows changes where time steps
            become rows, or rows time steps.
        backward : function of (gradient in the output)
            Returns that in `x`: a buffer, or a view of what it was given.
        """
        raise TypeError(f"{type(self).__name__}: must have a method forward(run, x).")

    def feed_forward_mask(self, run: Run, mask: FloatArray) -> FloatArray | None:
        """Return the mask that fits the new shape: the same, unless overridden.

        Parameters
        ----------
        run : Run
        mask : ndarray of shape (rows, time) or (rows, 1)
            1 keeps, 0 drops. Not to be changed; where there is none, nobody asks.

        Returns
        -------
        ndarray of shape (rows of the output, time) or (rows of the output, 1), or None
            None masks nothing.
        """
        return mask


AnyPreprocessor = Annotated[PreprocessorConf, AnyOf(PREPROCESSOR_KINDS)]


class Inside(NamedTuple):
    """A layer that a wrapper holds.

    Attributes
    ----------
    name : str
        Ends the name of the wrapper.
    conf : LayerConf
    input_type : InputType
        What arrives, in front of its preprocessor.
    prefix : str
        Begins the names that its parameters have in the wrapper.
    """

    name: str
    conf: "LayerConf"
    input_type: InputType
    prefix: str = ""


class LayerConf(Conf):
    """A layer, with or without parameters.

    Parameters
    ----------
    name : str, optional
        What messages, parameters and statistics call it; by default ``layer0``,
        ``layer1``, ... In a graph the key of the vertex is the name.
    inputs : tuple of str
        In a graph, the inputs or vertices it reads; elsewhere empty.
    preprocessor : preprocessor, optional
        Reshapes the input. Only for what does not happen by itself: images are
        flattened for a dense layer, and dense layers work on each time step.
    dropout : dropout, optional
        What happens to the input in training. That of the whole network reaches only
        layers that say so: nobody wants it a second time in front of a pooling.
    dl4j : mapping
        Properties in a file that change nothing here, kept for the way back.
    """

    # Whether the dropout of the whole network is this layer's, if it has none itself.
    takes_network_dropout: ClassVar[bool] = False
    # What the network has for all layers and this one has no use for.
    unused_options: ClassVar[tuple[str, ...]] = ()
    # Whether nothing in front of the layer learns from what is behind it.
    stops_gradient: ClassVar[bool] = False

    # Some dialects take the gradient of some layers twice, see nn.layers.same_diff.
    counts_gradient_twice: ClassVar[bool] = False
    # Whether the layers inside use a mask that they by themselves may only pass on.
    masks_inside: ClassVar[bool] = False
    # Whether some dialects let a recurrent layer in a wrapper begin each segment of
    # truncated backpropagation with zeros.
    forgets_in_wrappers: ClassVar[bool] = False
    # Of output layers: whether some dialects divide the score by the number of examples
    # whatever `mini_batch` says.
    has_mean_score: ClassVar[bool] = False
    # Of output layers: whether training sets a parameter to what this process has seen,
    # besides updates.
    sets_parameters: ClassVar[bool] = False

    type: str
    name: Annotated[str, Field(min_length=1)] | None = None
    inputs: Names = ()
    preprocessor: AnyPreprocessor | None = None
    dropout: AnyDropout | None = None
    dl4j: dict[str, Any] = Field(default_factory=dict)

    def output_type(self, input_type: InputType) -> InputType:
        """Return the type of the output for `input_type`; refuse what cannot go in."""
        raise TypeError(f"{type(self).__name__} does not say what comes out of it.")

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Return the output, and the function that takes its gradient back.

        Parameters
        ----------
        run : Run
            Parameters, gradients, mask, random numbers, buffers.
        x : ndarray of shape (batch, *input_type.shape), dtype of the parameters
            Not to be changed.

        Returns
        -------
        output : ndarray of shape (batch, *output_type.shape), same dtype
        backward : function of (gradient in the output)
            Writes the gradients of the parameters and returns that in `x`, for a loss
            that is summed over the examples.
        """
        raise TypeError(f"{type(self).__name__}: must have a method forward(run, x).")

    def pretrain(self, run: Run, x: FloatArray, rng: np.random.Generator) -> float:
        """Compute the gradients of one step of training without labels.

        Parameters
        ----------
        run : Run
            All gradients are overwritten with sums over the examples.
        x : ndarray of shape (batch, *input_type.shape)
            Not to be changed.
        rng : numpy.random.Generator
            For corruption and samples.

        Returns
        -------
        score : float
            Summed over the examples, without regularization.
        """
        raise TypeError(f"{type(self).__name__} learns from labels only.")

    @property
    def is_pretrainable(self) -> bool:
        """True if the layer has a method :meth:`pretrain`."""
        return type(self).pretrain is not LayerConf.pretrain

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask that goes on with the output: the same, unless overridden.

        Parameters
        ----------
        run : Run
        mask : ndarray of shape (batch, time), (batch, 1), or None
            1 keeps, 0 drops. Not to be changed.
        """
        return mask

    def step_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask that the steps of the last output obey.

        Parameters
        ----------
        run : Run
        mask : ndarray of shape (batch, time), or None
            That which arrived.
        """
        return self.feed_forward_mask(run, mask)

    def layers_inside(self, input_type: InputType) -> tuple[Inside, ...]:
        """Return the layers that a wrapper holds, by what the wrapper gets."""
        return ()

    def begin_iteration(self, run: Run, epoch: int) -> None:
        """Take notice that an iteration of training begins, `epoch` epochs done.

        Only output layers are told.
        """

    def weight_init_of(self, parameter: Parameter) -> AnyWeightInit | None:
        """Return how a weight is drawn."""
        rule: AnyWeightInit | None = getattr(self, "weight_init", None)
        return rule

    def initialize(self, run: Run, rng: np.random.Generator) -> None:
        """Change initial values; by now they are what the roles of parameters say.

        Weights are drawn with the fans of their first axes and of their last, gains are
        `gain_init`, biases `bias_init`, all else is 0.
        """

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return how many numbers a weight joins: its first axes, and its last one."""
        *inputs, outputs = parameter.shape or (1,)
        return float(math.prod(inputs)), outputs

    def labels_type(self, input_type: InputType) -> InputType:
        """Return the type of the labels of an output layer for `input_type`."""
        output = self.output_type(input_type)
        loss = getattr(self, "loss", None)
        if loss is None or None in output.shape[-1:]:
            return output
        return with_features(output, label_columns(loss, features_of(output)))

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return the parameters in the order in which they lie in the flat vector."""
        return ()

    def parameter_shapes(self, input_type: InputType) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters by their names, in layout order."""
        return {item.name: item.shape for item in self.parameters(input_type)}

    def file_order(self, input_type: InputType) -> tuple[str, ...]:
        """Return the names of the parameters in the order of a file's flat vector."""
        return tuple(item.name for item in self.parameters(input_type))

    @property
    def table_order(self) -> tuple[str, ...]:
        """The order in which some dialects deal regularization and updaters.

        Empty where that is the order in which they lie.
        """
        return ()

    @property
    def trained(self) -> "TrainedLayerConf | None":
        """The configuration that says how the parameters change, if there are any."""
        return None

    def can_take_over(self, work: Work) -> bool:
        """Return whether it can do such work of the layer that alone reads its output.

        Then it does what `run.fused` says; by itself none can.
        """
        return False

    @property
    def drops_input(self) -> bool:
        """Whether the layer's own dropout is applied."""
        return self.takes_network_dropout or "layers_ignore_dropout" not in self.quirks

    @property
    def input_dropout(self) -> Dropouts | None:
        """What happens to the layer's input in training, if anything."""
        return self.dropout if self.drops_input else None

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> "LayerConf":
        """Return a copy with nothing left open.

        Parameters
        ----------
        defaults : mapping of str to value
            What the network says for the options that are None here.
        input_type : InputType
            What the layer gets, behind its preprocessor.
        name : str
            What it is called.
        """
        values: dict[str, Any] = {"name": name}
        if not self.takes_network_dropout:
            defaults = _without_dropout(defaults)
        for option in type(self).model_fields:
            if getattr(self, option) is None and option in defaults:
                values[option] = defaults[option]
        if self.is_output and getattr(self, "activation", "") is None:
            values["activation"] = activation_of(getattr(self, "loss", ""))
        filled = self.model_copy(update=values)
        filled.check_dropout(input_type)
        return filled

    def check_dropout(self, input_type: InputType) -> None:
        """Refuse to drop whole features of rows, which are single numbers.

        Raises
        ------
        OptionError
            If spatial dropout meets input without time or space.
        """
        if isinstance(self.input_dropout, SpatialDropout) and len(input_type.shape) < 2:
            raise PathError(
                "must be of another kind: spatial dropout needs time series, images "
                f"or volumes, got {input_type}.",
                "dropout",
            )

    @property
    def is_output(self) -> bool:
        """True if the layer computes a loss."""
        return False

    @property
    def masks_output(self) -> bool:
        """Whether a mask of the labels sets what it drops of the output to 0."""
        return True

    @property
    def draws_random_numbers(self) -> bool:
        """True if training needs random numbers."""
        return self.input_dropout is not None

    @property
    def reads_whole_series(self) -> bool:
        """True if it cannot go on where a stretch of a time series ended."""
        return False


class DroppedLayerConf(LayerConf):
    """A layer with plain dropout as an option. None stands for what the network says.

    Parameters
    ----------
    keep_probability : float in (0, 1], optional
        Each number of the layer's *input* is kept with this probability in training,
        and divided by it. 1 keeps all.
    dropout : dropout, optional
        Another kind, or one with a schedule; not besides `keep_probability`.
    """

    takes_network_dropout: ClassVar[bool] = True

    keep_probability: Probability | None = None

    @model_validator(mode="after")
    def _check_dropout(self) -> "DroppedLayerConf":
        refuse_two_dropouts(self)
        return self

    @property
    def input_dropout(self) -> Dropouts | None:
        """What happens to the layer's input in training, if anything."""
        if not self.drops_input or self.keep_probability in (None, 1):
            return super().input_dropout
        return PlainDropout(keep_probability=self.keep_probability)

    def check_dropout(self, input_type: InputType) -> None:
        """Refuse a dropout that would be ignored; see :meth:`LayerConf.check_dropout`.

        One in `dropout` passes: files have it, and are written as they were read.
        """
        if not self.drops_input and self.keep_probability not in (None, 1):
            kind = type(self).__name__
            raise PathError(
                f"must be left out: {kind} never drops its input in the network's "
                f"dialect, got {self.keep_probability}. Put a Dropout layer in front "
                "of it.",
                "keep_probability",
            )
        super().check_dropout(input_type)

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy with nothing left open; see :meth:`LayerConf.filled`."""
        if self.dropout is not None or self.keep_probability is not None:
            # What the layer says of dropout, it says in one of the two options.
            defaults = _without_dropout(defaults)
        return super().filled(defaults, input_type, name)


def refuse_two_dropouts(conf: Any) -> None:
    """Refuse a configuration with both `keep_probability` and `dropout`."""
    if conf.dropout is not None and conf.keep_probability not in (None, 1):
        raise PathError(
            "must be left out where keep_probability is given, which is plain "
            f"dropout, got {conf.dropout.type}.",
            "dropout",
        )


def _without_dropout(defaults: Mapping[str, Any]) -> dict[str, Any]:
    taken = ("dropout", "keep_probability")
    return {key: defaults[key] for key in defaults if key not in taken}


class TrainingOptions(Conf):
    """How parameters change. None stands for what the network says.

    Parameters
    ----------
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
    """

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


class TrainedLayerConf(TrainingOptions, DroppedLayerConf):
    """A layer with parameters. None stands for what the network says.

    Parameters
    ----------
    constraints : tuple of constraints, optional
        What the parameters are held to after each update.
    """

    constraints: Constraints | None = None

    @property
    def trained(self) -> "TrainedLayerConf":
        """The layer itself says how its parameters change."""
        return self


class WeightLayerConf(TrainedLayerConf):
    """A layer with weights and biases. None stands for what the network says.

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

    # Whether its weights have no noise where layers may ignore theirs.
    ignores_weight_noise: ClassVar[bool] = False

    n_out: Count = Field(kw_only=False)
    n_in: Count | None = None
    activation: AnyActivation | None = None
    weight_init: AnyWeightInit | None = None
    bias_init: Real | None = None
    weight_noise: AnyWeightNoise | None = None

    @property
    def applied_noise(self) -> AnyWeightNoise | None:
        """What is done to the weights in training, if anything."""
        if self.ignores_weight_noise and "layers_ignore_weight_noise" in self.quirks:
            return None
        return self.weight_noise

    @property
    def draws_random_numbers(self) -> bool:
        """True if training needs random numbers."""
        if self.applied_noise is not None:
            return True
        if self.activation is not None and draws_random_numbers(self.activation):
            return True
        return super().draws_random_numbers

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

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy with nothing left open, `n_in` included."""
        filled = super().filled(defaults, input_type, name)
        n_in = self.inferred_n_in(inside_type(input_type))
        return filled.model_copy(update={"n_in": n_in})

    def _agreed_n_in(self, n_in: int, input_type: InputType) -> int:
        if self.n_in is not None and self.n_in != n_in:
            raise PathError(
                f"must be {n_in}, what the layer gets ({input_type}), "
                f"got {self.n_in}. Leave it out to infer it.",
                "n_in",
            )
        return n_in


def dense_parameters(
    layer: WeightLayerConf, input_type: InputType, *, has_bias: bool
) -> tuple[Parameter, ...]:
    """Return W (n_in, n_out) and, if there is one, b (n_out,)."""
    weight = Parameter("W", (layer.inferred_n_in(input_type), layer.n_out))
    return (weight, Parameter("b", (layer.n_out,), "bias")) if has_bias else (weight,)


# What an output layer takes if it is given neither activation nor loss is softmax
# and mcxent; the others are the activations whose gradients these losses are made for.
_ACTIVATION_OF_LOSS = {
    "mcxent": "softmax",
    "sparse_mcxent": "softmax",
    "negativeloglikelihood": "softmax",
    "xent": "sigmoid",
    "kl_divergence": "softmax",
}


def activation_of(loss: Any) -> str:
    """Return the activation that belongs to a loss, given by name or with options."""
    return _ACTIVATION_OF_LOSS.get(getattr(loss, "type", loss), "identity")


def refuse_input(
    layer: LayerConf, needs: str, input_type: InputType, hint: str = ""
) -> PathError:
    """Return the refusal of an input that the layer cannot take."""
    kind = type(layer).__name__
    text = f"{kind} needs {needs}, got {describe(input_type)}."
    return PathError(f"{text} {hint}" if hint else text)
