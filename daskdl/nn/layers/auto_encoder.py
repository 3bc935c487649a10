"""The layer that can first learn to restore its input from fewer numbers."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace, to_device
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dense import dense_forward
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import WeightLayerConf, dense_parameters, refuse_input
from daskdl.nn.conf.losses import AnyLoss, label_columns
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Fraction, Real
from daskdl.nn.layers.affine import AffineLayer
from daskdl.nn.layers.pretrained import PretrainedLayer
from daskdl.nn.losses.table import loss_function


class AutoEncoder(WeightLayerConf):
    """A dense layer that can be pretrained as a denoising autoencoder.

    Parameters
    ----------
    corruption_level : float in [0, 1)
        Share of the input that pretraining sets to 0 before it is encoded.
    sparsity : float
        0, or a number with which DL4J takes ``h * (h - sparsity)`` for the slope of
        hidden units ``h``.
    loss : loss
        Of the score of pretraining; the gradient is always that of the cross entropy
        behind a sigmoid.
    visible_bias_init : float
        Initial bias of the reconstruction.
    descends : bool
        Whether pretraining lowers the loss. DL4J's raises it: it subtracts what should
        be added.

    References
    ----------
    Vincent et al., *Extracting and Composing Robust Features with Denoising
    Autoencoders*, 2008, with tied weights, as in DL4J's ``AutoEncoder``.
    """

    type: Literal["auto_encoder"] = "auto_encoder"
    corruption_level: Fraction = 0.3
    sparsity: Real = 0.0
    loss: AnyLoss = "kl_divergence"
    visible_bias_init: Real = 0.0
    descends: bool = False

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of `n_out`; refuse time series."""
        if isinstance(input_type, Recurrent):
            raise refuse_input(self, "rows or images", input_type)
        label_columns(self.loss, self.inferred_n_in(input_type))
        return FeedForward(size=self.n_out)

    def labels_type(self, input_type: InputType) -> InputType:
        """Return what comes out: the loss is of the input, not of labels."""
        return self.output_type(input_type)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out), b (n_out,) and vb (n_in,), of pretraining only."""
        visible = (self.inferred_n_in(input_type),)
        return (
            *dense_parameters(self, input_type, has_bias=True),
            Parameter("vb", visible, "visible bias", is_pretraining=True),
        )


class AutoEncoderLayer(AffineLayer[AutoEncoder], PretrainedLayer[AutoEncoder]):
    """``activation(x @ W + b)``; pretraining restores ``activation(h @ W.T + vb)``."""

    def __init__(
        self, conf: AutoEncoder, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._loss = loss_function(conf.loss, conf.quirks)

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
        """Compute the output; see :meth:`Layer.forward`. Masks only pass by."""
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
        """Compute the gradients of the reconstruction; see :class:`PretrainedLayer`."""
        xp = array_namespace(x)
        self._check_input(x)
        rows = self._as_rows(x)
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
        missing = xp.subtract(rows, restored, out=restored)
        sparsity = self.conf.sparsity
        slope = hidden * (hidden - sparsity if sparsity else 1 - hidden)
        missing_hidden = xp.matmul(missing, weight) * slope
        xp.matmul(corrupted.T, missing_hidden, out=self.gradients["W"])
        self.gradients["W"] += xp.matmul(missing.T, hidden)
        xp.sum(missing_hidden, axis=0, out=self.gradients["b"])
        xp.sum(missing, axis=0, out=self.gradients["vb"])
        if self.conf.descends:
            for gradient in self.gradients.values():
                xp.negative(gradient, out=gradient)
        return score

    def _corrupted(self, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        level = self.conf.corruption_level
        if level == 0:
            return rows
        kept = rng.random(rows.shape, dtype=np.float32) >= level
        corrupted: FloatArray = self._like("corrupted", rows)
        array_namespace(rows).multiply(rows, to_device(kept, like=rows), out=corrupted)
        return corrupted
