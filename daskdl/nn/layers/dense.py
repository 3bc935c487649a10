"""The fully connected layer."""

from typing import ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.layer_norm import layer_norm_backward, layer_norm_forward
from daskdl.nn.activations.identity import IDENTITY
from daskdl.nn.activations.rectifiers import RELU
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter, gain
from daskdl.nn.conf.values import Real
from daskdl.nn.layers.affine import affine
from daskdl.nn.layers.row_activation import activated_rows
from daskdl.nn.run import Backward, Run, Work


class Dense(WeightOptions, TrainingOptions, LayerConf):
    """A fully connected layer: ``activation(x @ W + b)``.

    Images are flattened in the order of their data format, by default channel by
    channel; time series go through step by step.

    Parameters
    ----------
    has_bias : bool
        Whether a bias is added.
    has_layer_norm : bool
        Whether the rows of ``x @ W`` are normalised, ``activation(norm(x @ W) * g +
        b)``.
    gain_init : float, optional
        Initial ``g``; None stands for what the network says.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["dense"] = "dense"
    has_bias: bool = True
    has_layer_norm: bool = False
    gain_init: Real | None = None

    def output_type(self, input_type: InputType) -> InputType:
        """Return rows of `n_out`, or time series with `n_out` features."""
        self.inferred_n_in(input_type)
        if isinstance(input_type, Recurrent):
            return input_type.replaced(size=self.n_out)
        return FeedForward(size=self.n_out)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out), and where they are b (n_out,) and g (n_out,)."""
        found = self.dense_parameters(input_type, has_bias=self.has_bias)
        if self.has_layer_norm:
            found += (gain((self.n_out,), self.quirks),)
        return found

    def initialize(self, run: Run, rng: np.random.Generator) -> None:
        """Begin with the gains that the options say."""
        if "g" in run.params:
            run.params["g"].fill(self.gain_init)

    def can_take_over(self, work: Work) -> bool:
        """Return whether it can rectify: if it has no activation."""
        function = activation_function(self.activation, self.quirks)
        return work == "rectifier" and function is IDENTITY

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Compute the output, (batch, ..., n_out), of `x`, of shape (batch, ...).

        Masked rows come out as 0 and send no gradient back.
        """
        activation = "relu" if run.fused.rectifies else self.activation
        is_plain = not self.has_layer_norm
        rectifies = is_plain and activation_function(activation, self.quirks) is RELU
        preout, affine_backward = affine(run, x, bias=is_plain, rectifies=rectifies)
        if self.has_layer_norm:
            affine_backward = _normalized(run, preout, affine_backward)
        rows, activated_backward = activated_rows(
            run, preout, activation, is_rectified=rectifies
        )
        axes = x.shape[: len(run.output_type.shape)]

        def backward(grad_out: FloatArray) -> FloatArray | None:
            return affine_backward(activated_backward(grad_out))

        return rows.reshape(*axes, self.n_out), backward


def _normalized(run: Run, preout: FloatArray, affine_backward: Backward) -> Backward:
    """Turn ``x @ W``, in place, into ``norm(x @ W) * g + b``; return the way back."""
    gain, normalized = run.params["g"], run.lent_like("normalized", preout)
    deviation = run.buffer("deviation", (len(preout), 1), preout.dtype)
    layer_norm_forward(
        preout, gain, deviation=deviation, normalized=normalized, out=preout
    )
    if "b" in run.params:
        preout += run.params["b"]

    def backward(grad_out: FloatArray) -> FloatArray | None:
        if "b" in run.gradients:
            array_namespace(grad_out).sum(grad_out, axis=0, out=run.gradients["b"])
        grad_product = run.lent_like("grad_product", grad_out)
        layer_norm_backward(
            grad_out,
            normalized,
            deviation,
            gain,
            grad_gain=run.gradients["g"],
            grad_x=grad_product,
        )
        return affine_backward(grad_product)

    return backward
