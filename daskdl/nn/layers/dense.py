"""The fully connected layer."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.normalization import layer_norm_backward, layer_norm_forward
from daskdl.nn.activations.identity import IDENTITY
from daskdl.nn.activations.rectifiers import RELU
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import WeightLayerConf, dense_parameters
from daskdl.nn.conf.parameters import Parameter, gain
from daskdl.nn.conf.values import Real
from daskdl.nn.layers.affine import AffineLayer
from daskdl.nn.layers.layer import works_for
from daskdl.nn.run import Work


class Dense(WeightLayerConf):
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

    type: Literal["dense"] = "dense"
    has_bias: bool = True
    has_layer_norm: bool = False
    gain_init: Real | None = None

    def output_type(self, input_type: InputType) -> InputType:
        """Return rows of `n_out`, or time series of them."""
        self.inferred_n_in(input_type)
        if isinstance(input_type, Recurrent):
            return input_type.replaced(size=self.n_out)
        return FeedForward(size=self.n_out)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out), and where they are b (n_out,) and g (n_out,)."""
        found = dense_parameters(self, input_type, has_bias=self.has_bias)
        if self.has_layer_norm:
            found += (gain((self.n_out,), self.quirks),)
        return found

    def can_take_over(self, work: Work) -> bool:
        """Return whether it can rectify: if it has no activation."""
        function = activation_function(self.activation, self.quirks)
        return work == "rectifier" and function is IDENTITY


@works_for(Dense)
class DenseLayer(AffineLayer[Dense]):
    """``activation(x @ W + b)`` of rows, flattened images or each time step.

    Masked rows come out as 0 and send no gradient back.
    """

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W with fans n_in and n_out; biases and gains have their options."""
        super().initialize(rng)
        if "g" in self.params:
            self.params["g"].fill(self._given("gain_init", self.conf.gain_init))

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, ..., n_out); see :meth:`Layer.forward`."""
        if self.fused.rectifies:
            self._activation = RELU
        preout = self._affine_forward(x, bias=not self.conf.has_layer_norm)
        if self.conf.has_layer_norm:
            self._normalize(preout)
        rows = self._activated_and_masked(preout, mask, rng if training else None)
        return rows.reshape(*self._row_axes(), self.conf.n_out)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        grad_preout = self._preout_gradient(grad_out)
        if self.conf.has_layer_norm:
            self._normalize_backward(grad_preout)
        return self._affine_backward(grad_preout)

    def _normalize(self, preout: FloatArray) -> None:
        """Turn ``x @ W`` into ``norm(x @ W) * g + b``, in place."""
        self._normalized = self._like("normalized", preout)
        self._deviation = self._buffer("deviation", (len(preout), 1), preout.dtype)
        layer_norm_forward(
            preout,
            self.params["g"],
            deviation=self._deviation,
            normalized=self._normalized,
            out=preout,
        )
        if "b" in self.params:
            preout += self.params["b"]

    def _normalize_backward(self, grad_preout: FloatArray) -> None:
        """Turn the gradient in the pre-activations into that in ``x @ W``."""
        if "b" in self.gradients:
            xp = array_namespace(grad_preout)
            xp.sum(grad_preout, axis=0, out=self.gradients["b"])
        layer_norm_backward(
            grad_preout,
            self._normalized,
            self._deviation,
            self.params["g"],
            grad_gain=self.gradients["g"],
            grad_x=grad_preout,
        )

    def _row_axes(self) -> tuple[int, ...]:
        """Return (batch, time) of series, else (batch,)."""
        n_axes = len(self.output_type.shape)
        return self._x_shape[:n_axes]
