"""Configurations of the layers: what each takes, gives and learns.

Layers on images are in :mod:`daskdl.nn.conf.convolutional`; the union of all of them,
`AnyLayer`, is here.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from daskdl.nn.conf.convolutional import Convolution2D, Subsampling
from daskdl.nn.conf.input_type import Convolutional, FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import (
    LayerConf,
    TrainedLayerConf,
    WeightLayerConf,
    refuse_input,
)
from daskdl.nn.conf.names import ActivationName, GlobalPoolingName, LossName
from daskdl.nn.conf.values import Count, Fraction, Positive, Probability, Real, tagged

__all__ = [
    "LAYERS",
    "LSTM",
    "Activation",
    "AnyLayer",
    "BatchNormalization",
    "Convolution2D",
    "Dense",
    "Dropout",
    "GlobalPooling",
    "Output",
    "RnnOutput",
    "Subsampling",
]


class Dense(WeightLayerConf):
    """A fully connected layer: ``activation(x @ W + b)``.

    Images are flattened channel by channel, as DL4J does; time series go through step
    by step.
    """

    type: Literal["dense"] = "dense"
    has_bias: bool = True

    def output_type(self, input_type: InputType) -> InputType:
        """Return rows of `n_out`, or time series of them."""
        self.inferred_n_in(input_type)
        if isinstance(input_type, Recurrent):
            return input_type.replaced(size=self.n_out)
        return FeedForward(size=self.n_out)

    def parameter_shapes(self, input_type: InputType) -> dict[str, tuple[int, ...]]:
        """Return W (n_in, n_out) and b (n_out,)."""
        return _dense_shapes(self, input_type, has_bias=self.has_bias)


class Output(WeightLayerConf):
    """The last layer of a network on rows: a dense layer with a loss.

    `activation` None means what belongs to the loss: softmax to ``mcxent`` and
    ``negativeloglikelihood``, sigmoid to ``xent``, identity to the others.
    """

    type: Literal["output"] = "output"
    loss: LossName = "mcxent"
    has_bias: bool = True

    @property
    def is_output(self) -> bool:
        """True: the layer computes a loss."""
        return True

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of `n_out`; refuse time series."""
        if isinstance(input_type, Recurrent):
            hint = (
                "Use RnnOutput for one output per time step, or put GlobalPooling "
                "before it for one per series."
            )
            raise refuse_input(self, "rows or images", input_type, hint)
        self.inferred_n_in(input_type)
        return FeedForward(size=self.n_out)

    def parameter_shapes(self, input_type: InputType) -> dict[str, tuple[int, ...]]:
        """Return W (n_in, n_out) and b (n_out,)."""
        return _dense_shapes(self, input_type, has_bias=self.has_bias)


class RnnOutput(WeightLayerConf):
    """The last layer of a network on time series: one output and loss per step.

    `activation` None means what belongs to the loss, as for :class:`Output`.
    """

    type: Literal["rnn_output"] = "rnn_output"
    loss: LossName = "mcxent"
    has_bias: bool = True

    @property
    def is_output(self) -> bool:
        """True: the layer computes a loss."""
        return True

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`; refuse everything else."""
        if not isinstance(input_type, Recurrent):
            raise refuse_input(self, "time series", input_type, "Use Output for rows.")
        self.inferred_n_in(input_type)
        return input_type.replaced(size=self.n_out)

    def parameter_shapes(self, input_type: InputType) -> dict[str, tuple[int, ...]]:
        """Return W (n_in, n_out) and b (n_out,)."""
        return _dense_shapes(self, input_type, has_bias=self.has_bias)


class LSTM(WeightLayerConf):
    """Long short-term memory without peepholes.

    Parameters
    ----------
    activation : str, default "tanh"
        Of block input and cell output; not taken from the network.
    gate_activation : str, default "sigmoid"
        Of the three gates.
    forget_gate_bias_init : float, default 1.0
        Initial bias of the forget gate; the other biases begin at 0.
    """

    type: Literal["lstm"] = "lstm"
    activation: ActivationName = "tanh"
    gate_activation: ActivationName = "sigmoid"
    forget_gate_bias_init: Real = 1.0

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n_out`."""
        if not isinstance(input_type, Recurrent):
            raise refuse_input(self, "time series (Recurrent input)", input_type)
        self.inferred_n_in(input_type)
        return input_type.replaced(size=self.n_out)

    def parameter_shapes(self, input_type: InputType) -> dict[str, tuple[int, ...]]:
        """Return W (n_in, 4 n_out), RW (n_out, 4 n_out) and b (4 n_out,)."""
        n_in = self.inferred_n_in(input_type)
        gates = 4 * self.n_out
        return {"W": (n_in, gates), "RW": (self.n_out, gates), "b": (gates,)}


class BatchNormalization(TrainedLayerConf):
    """Normalise each feature, or each channel of images, over the minibatch.

    Parameters
    ----------
    decay : float in [0, 1)
        Share of the old running mean and variance that each minibatch keeps.
    eps : float
        Added to the variance.
    gamma, beta : float
        Initial scale and shift, or the fixed ones.
    lock_gamma_beta : bool
        Whether scale and shift stay as they are; there are no parameters for them
        then.
    """

    type: Literal["batch_normalization"] = "batch_normalization"
    decay: Fraction = 0.9
    eps: Positive = 1e-5
    gamma: Real = 1.0
    beta: Real = 0.0
    lock_gamma_beta: bool = False

    def output_type(self, input_type: InputType) -> InputType:
        """Return what came in; refuse time series."""
        if isinstance(input_type, Recurrent):
            raise refuse_input(self, "rows or images", input_type)
        return input_type

    def n_normalized(self, input_type: InputType) -> int:
        """Return how many features or channels are normalised."""
        if isinstance(input_type, Convolutional):
            return input_type.channels
        return input_type.n_features

    def parameter_shapes(self, input_type: InputType) -> dict[str, tuple[int, ...]]:
        """Return gamma, beta (unless locked), mean and var, each (n,)."""
        names = ["mean", "var"] if self.lock_gamma_beta else _BATCH_NORMALIZATION
        return {name: (self.n_normalized(input_type),) for name in names}


class Dropout(LayerConf):
    """Keep each number with `keep_probability` in training, divided by it."""

    type: Literal["dropout"] = "dropout"
    keep_probability: Probability

    @property
    def draws_random_numbers(self) -> bool:
        """True if anything is dropped."""
        return self.keep_probability < 1

    def output_type(self, input_type: InputType) -> InputType:
        """Return what came in."""
        return input_type


class Activation(LayerConf):
    """Apply an activation function and nothing else; None takes the network's."""

    type: Literal["activation"] = "activation"
    activation: ActivationName | None = None

    def output_type(self, input_type: InputType) -> InputType:
        """Return what came in."""
        return input_type


class GlobalPooling(LayerConf):
    """Pool over all time steps, or over height and width; the rest becomes rows.

    Parameters
    ----------
    pooling_type : {"max", "avg", "sum", "pnorm"}
        How. Masked time steps do not count.
    pnorm : int
        Exponent of ``pnorm``: ``(sum |x|^p)^(1/p)``.
    """

    type: Literal["global_pooling"] = "global_pooling"
    pooling_type: GlobalPoolingName = "max"
    pnorm: Count = 2

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of one number per feature or channel."""
        if isinstance(input_type, Recurrent):
            return FeedForward(size=input_type.size)
        if isinstance(input_type, Convolutional):
            return FeedForward(size=input_type.channels)
        raise refuse_input(self, "time series or images", input_type)


_BATCH_NORMALIZATION = ("gamma", "beta", "mean", "var")


def _dense_shapes(
    layer: WeightLayerConf, input_type: InputType, *, has_bias: bool
) -> dict[str, tuple[int, ...]]:
    n_in = layer.inferred_n_in(input_type)
    shapes: dict[str, tuple[int, ...]] = {"W": (n_in, layer.n_out)}
    if has_bias:
        shapes["b"] = (layer.n_out,)
    return shapes


LAYERS: tuple[type[LayerConf], ...] = (
    Dense,
    Output,
    Convolution2D,
    Subsampling,
    BatchNormalization,
    LSTM,
    RnnOutput,
    GlobalPooling,
    Dropout,
    Activation,
)

AnyLayer = Annotated[
    Dense
    | Output
    | Convolution2D
    | Subsampling
    | BatchNormalization
    | LSTM
    | RnnOutput
    | GlobalPooling
    | Dropout
    | Activation,
    Field(discriminator="type"),
    BeforeValidator(tagged(*LAYERS, suffix="layer")),
]
