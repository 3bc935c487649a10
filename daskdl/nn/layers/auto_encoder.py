"""The layer that can first learn to restore its input from fewer numbers."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace, to_device
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dense import dense_forward
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import (
    LayerConf,
    WeightLayerConf,
    dense_parameters,
    refuse_input,
)
from daskdl.nn.conf.losses import AnyLoss, label_columns
from daskdl.nn.conf.parameters import Parameter, ParameterRole
from daskdl.nn.conf.values import Fraction, Real
from daskdl.nn.layers.affine import AffineLayer, as_rows
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.pretrained import PretrainedLayer
from daskdl.nn.losses.table import loss_function


class AutoEncoder(WeightLayerConf):
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
        """Return what comes out: the loss is of the input, not of labels."""
        return self.output_type(input_type)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out), b (n_out,) and vb (n_in,), of pretraining only."""
        visible = (self.inferred_n_in(input_type),)
        is_odd = "visible_bias_is_no_bias" in self.quirks
        role: ParameterRole = "visible bias" if is_odd else "bias"
        return (
            *dense_parameters(self, input_type, has_bias=True),
            Parameter("vb", visible, role, is_pretraining=True),
        )

    def _usual_loss(self, filled: LayerConf) -> str:
        """Return the error that is taken if none is given."""
        if "auto_encoder_ascends" in self.quirks:
            return "kl_divergence"
        activation = getattr(filled, "activation", None)
        return "xent" if getattr(activation, "type", activation) == "sigmoid" else "mse"


@works_for(AutoEncoder)
class AutoEncoderLayer(AffineLayer[AutoEncoder], PretrainedLayer[AutoEncoder]):
    """``activation(x @ W + b)``; pretraining restores ``activation(h @ W.T + vb)``."""

    def __init__(
        self, conf: AutoEncoder, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        loss: AnyLoss = self._given("loss", conf.loss)
        self._loss = loss_function(loss, conf.quirks)

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W; the biases have their options."""
        super().initialize(rng)
        self.params["vb"].fill(self.conf.visible_bias_init)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, n_out).

        See :meth:`Layer.forward`. Masks only pass by.
        """
        self._preout = self._affine_forward(x)
        self._output = self._activated(self._preout, rng if training else None)
        return self._output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        self.gradients["vb"].fill(0)
        grad_preout = self._like("grad_preout", self._output)
        self._activation.backward(grad_out, self._preout, self._output, out=grad_preout)
        return self._affine_backward(grad_preout)

    def pretrain(self, x: FloatArray, *, rng: np.random.Generator) -> float:
        """Compute the gradients of one step; see :meth:`PretrainedLayer.pretrain`."""
        self._check_input(x)
        rows = as_rows(self._run, x)
        corrupted = self._corrupted(rows, rng)
        weight, visible_bias = self.params["W"], self.params["vb"]
        shape = (len(rows), weight.shape[1])
        preout = self._buffer("preout", shape, x.dtype)
        dense_forward(corrupted, weight, self.params["b"], out=preout)
        hidden = self._activated(preout, rng)
        restored_preout = self._like("restored preout", rows)
        dense_forward(hidden, weight.T, visible_bias, out=restored_preout)
        restored = self._activation.forward(restored_preout, rng=rng)
        score = self._loss.score(
            rows, restored_preout, self._activation, output=restored
        )
        if "auto_encoder_ascends" in self.conf.quirks:
            missing, grad_preout = self._ascent(rows, hidden, restored)
        else:
            missing = self._loss.gradient(
                rows,
                restored_preout,
                self._activation,
                output=restored,
                out=self._like("grad_restored", rows),
            )
            grad_preout, added = self._descent(missing, preout, hidden)
            score += added
        self._write(corrupted, hidden, missing, grad_preout)
        return score

    def _descent(
        self, grad_restored: FloatArray, preout: FloatArray, hidden: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return the gradient in what the encoder sums up, and what sparsity costs."""
        xp = array_namespace(hidden)
        grad = xp.matmul(grad_restored, self.params["W"])
        sparsity, cost = self.conf.sparsity, 0.0
        if sparsity:
            grad += sparsity * xp.sign(hidden)
            cost = sparsity * float(xp.abs(hidden).sum())
        return self._activation.backward(grad, preout, hidden, out=grad), cost

    def _ascent(
        self, rows: FloatArray, hidden: FloatArray, restored: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the error of the reconstruction, and its gradient in the encoder.

        The negative gradients of a cross entropy behind a sigmoid, whatever loss and
        activation are; `sparsity` takes the place of a slope.
        """
        xp = array_namespace(rows)
        missing = xp.subtract(rows, restored, out=restored)
        sparsity = self.conf.sparsity
        slope = hidden * (hidden - sparsity if sparsity else 1 - hidden)
        return missing, xp.matmul(missing, self.params["W"]) * slope

    def _write(
        self,
        corrupted: FloatArray,
        hidden: FloatArray,
        grad_restored: FloatArray,
        grad_preout: FloatArray,
    ) -> None:
        """Write the gradients of both uses of W, and of the biases."""
        xp = array_namespace(hidden)
        xp.matmul(corrupted.T, grad_preout, out=self.gradients["W"])
        self.gradients["W"] += xp.matmul(grad_restored.T, hidden)
        xp.sum(grad_preout, axis=0, out=self.gradients["b"])
        xp.sum(grad_restored, axis=0, out=self.gradients["vb"])

    def _corrupted(self, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        level = self.conf.corruption_level
        if level == 0:
            return rows
        kept = rng.random(rows.shape, dtype=np.float32) >= level
        corrupted: FloatArray = self._like("corrupted", rows)
        array_namespace(rows).multiply(rows, to_device(kept, like=rows), out=corrupted)
        return corrupted
