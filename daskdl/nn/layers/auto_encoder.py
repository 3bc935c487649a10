"""The layer that can first learn to restore its input from fewer numbers."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace, to_device
from daskdl.kernels.dense import dense_forward
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.losses import AnyLoss, label_columns
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter, ParameterRole
from daskdl.nn.conf.values import Fraction, Real
from daskdl.nn.layers.affine import affine, as_rows
from daskdl.nn.layers.input_kinds import refuse_input
from daskdl.nn.layers.row_activation import apply_activation
from daskdl.nn.losses.table import loss_function
from daskdl.nn.run import Backward, Run


class AutoEncoder(WeightOptions, TrainingOptions, LayerConf):
    """A dense layer that can be pretrained as a denoising autoencoder.

    Parameters
    ----------
    corruption_level : float in [0, 1)
        Share of the input that pretraining sets to 0 before it is encoded.
    sparsity : float
        What each hidden unit ``h`` adds to the error of an example: ``sparsity * |h|``.
    loss : loss, optional
        The error of the reconstruction. None stands for the cross entropy ``xent``
        where `activation` is a sigmoid, and for ``mse`` elsewhere.
    visible_bias_init : float
        Initial bias of the reconstruction.

    References
    ----------
    Vincent et al., *Extracting and Composing Robust Features with Denoising
    Autoencoders*, 2008, with tied weights; Goodfellow, Bengio and Courville, *Deep
    Learning*, 2016, section 14.2.1, for the penalty of `sparsity`.
    """

    type: Literal["auto_encoder"] = "auto_encoder"
    corruption_level: Fraction = 0.3
    sparsity: Real = 0.0
    loss: AnyLoss | None = None
    visible_bias_init: Real = 0.0

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy with nothing left open, `loss` included."""
        filled = super().filled(defaults, input_type, name)
        if self.loss is not None:
            return filled
        return filled.model_copy(update={"loss": self._usual_loss(filled)})

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of `n_out`; refuse time series."""
        if isinstance(input_type, Recurrent):
            raise refuse_input(self, "rows or images", input_type)
        n_in = self.inferred_n_in(input_type)
        if self.loss is not None:
            label_columns(self.loss, n_in)
        return FeedForward(size=self.n_out)

    def labels_type(self, input_type: InputType) -> InputType:
        """Return the type of the output: the loss is of the input, not of labels."""
        return self.output_type(input_type)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out), b (n_out,) and vb (n_in,), of pretraining only."""
        visible = (self.inferred_n_in(input_type),)
        is_odd = "visible_bias_is_no_bias" in self.quirks
        role: ParameterRole = "visible bias" if is_odd else "bias"
        return (
            *self.dense_parameters(input_type, has_bias=True),
            Parameter("vb", visible, role, is_pretraining=True),
        )

    def _usual_loss(self, filled: LayerConf) -> str:
        """Return the error that is taken if none is given."""
        if "auto_encoder_ascends" in self.quirks:
            return "kl_divergence"
        activation = getattr(filled, "activation", None)
        return "xent" if getattr(activation, "type", activation) == "sigmoid" else "mse"

    def initialize(self, run: Run, rng: np.random.Generator) -> None:
        """Give the bias of the reconstruction its own option."""
        run.params["vb"].fill(self.visible_bias_init)

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Encode `x`, of shape (batch, n_in) or images. Masks only pass by."""
        preout, affine_backward = affine(run, x)
        activation, hidden = self._activated(run, preout)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            run.gradients["vb"].fill(0)
            grad_preout = run.like("grad_preout", hidden)
            activation.backward(grad_out, preout, hidden, out=grad_preout)
            return affine_backward(grad_preout)

        return hidden, backward

    def pretrain(self, run: Run, x: FloatArray, rng: np.random.Generator) -> float:
        """Compute the gradients of one step on `x`, of shape (batch, n_in) or images.

        See :meth:`LayerConf.pretrain`.
        """
        loss = loss_function(self.loss or self._usual_loss(self), self.quirks)
        weight, visible_bias = run.params["W"], run.params["vb"]
        rows = as_rows(run, x)
        corrupted = self._corrupted(run, rows, rng)
        preout = run.buffer("preout", (len(rows), weight.shape[1]), x.dtype)
        dense_forward(corrupted, weight, run.params["b"], out=preout)
        activation, hidden = self._activated(run, preout)
        restored_preout = run.like("restored preout", rows)
        dense_forward(hidden, weight.T, visible_bias, out=restored_preout)
        restored = activation.forward(restored_preout, rng=rng)
        score = float(loss.score(rows, restored_preout, activation, output=restored))
        if "auto_encoder_ascends" in self.quirks:
            missing, grad_preout = self._ascent(weight, rows, hidden, restored)
        else:
            missing = loss.gradient(
                rows,
                restored_preout,
                activation,
                output=restored,
                out=run.like("grad_restored", rows),
            )
            grad, added = self._descent(weight, missing, hidden)
            grad_preout = activation.backward(grad, preout, hidden, out=grad)
            score += added
        # W is used twice.
        xp = array_namespace(hidden)
        xp.matmul(corrupted.T, grad_preout, out=run.gradients["W"])
        run.gradients["W"] += xp.matmul(missing.T, hidden)
        xp.sum(grad_preout, axis=0, out=run.gradients["b"])
        xp.sum(missing, axis=0, out=run.gradients["vb"])
        return score

    def reconstruct(self, run: Run, x: FloatArray) -> FloatArray:
        """Return what is restored of `x`, of shape (batch, n_in) or images.

        See :meth:`LayerConf.reconstruct`. DL4J's ``decode`` of ``encode``.
        """
        rows, weight = as_rows(run, x), run.params["W"]
        preout = run.buffer("preout", (len(rows), weight.shape[1]), x.dtype)
        dense_forward(rows, weight, run.params["b"], out=preout)
        activation, hidden = self._activated(run, preout)
        restored = run.like("restored preout", rows)
        dense_forward(hidden, weight.T, run.params["vb"], out=restored)
        return activation.forward(restored)

    def _activated(
        self, run: Run, preout: FloatArray
    ) -> tuple[ActivationFunction, FloatArray]:
        """Return the activation and its output of `preout`, perhaps in place."""
        activation = activation_function(self.activation, self.quirks)
        return activation, apply_activation(run, activation, preout)

    def _corrupted(
        self, run: Run, rows: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        level = self.corruption_level
        if level == 0:
            return rows
        kept = rng.random(rows.shape, dtype=np.float32) >= level
        corrupted = run.like("corrupted", rows)
        array_namespace(rows).multiply(rows, to_device(kept, like=rows), out=corrupted)
        return corrupted

    def _descent(
        self, weight: FloatArray, grad_restored: FloatArray, hidden: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return the gradient in the hidden units, and the cost of sparsity."""
        xp = array_namespace(hidden)
        grad = xp.matmul(grad_restored, weight)
        sparsity, cost = self.sparsity, 0.0
        if sparsity:
            grad += sparsity * xp.sign(hidden)
            cost = sparsity * float(xp.abs(hidden).sum())
        return grad, cost

    def _ascent(
        self,
        weight: FloatArray,
        rows: FloatArray,
        hidden: FloatArray,
        restored: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the error of the reconstruction, and its gradient in the encoder.

        The negative gradients of a cross entropy behind a sigmoid, whatever loss and
        activation are; `sparsity` takes the place of a slope.
        """
        xp = array_namespace(rows)
        missing = xp.subtract(rows, restored, out=restored)
        sparsity = self.sparsity
        slope = hidden * (hidden - sparsity if sparsity else 1 - hidden)
        return missing, xp.matmul(missing, weight) * slope
