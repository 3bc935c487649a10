"""The batch normalization layer."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.normalization import (
    batch_norm_backward,
    batch_norm_forward,
    batch_norm_inference,
)
from daskdl.nn.conf.input_type import Convolutional, InputType, Recurrent
from daskdl.nn.conf.layer import (
    TrainedLayerConf,
    refuse_input,
)
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import (
    Fraction,
    Positive,
    Real,
)
from daskdl.nn.layers.layer import Layer


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

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return gamma, beta (unless locked), mean and var, each (n,)."""
        shape = (self.n_normalized(input_type),)
        learned = () if self.lock_gamma_beta else ("gamma", "beta")
        return (
            *(Parameter(name, shape, "plain") for name in learned),
            *(Parameter(name, shape, "running") for name in ("mean", "var")),
        )


class BatchNormalizationLayer(Layer[BatchNormalization]):
    """Normalise each feature, or channel of images, over the minibatch.

    Training uses the minibatch's mean and biased variance, inference the running
    ones. The running ones are parameters ``mean`` and ``var`` whose gradient is the
    update itself, ``(1 - decay) * (running - batch)``: subtracted as it is, it leaves
    ``decay * running + (1 - decay) * batch``.

    Locked scale and shift are applied in training and inference alike. DL4J's inference
    leaves both out if the scale is 1 or the shift is 0.
    """

    def __init__(
        self,
        conf: BatchNormalization,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)

    def initialize(self, rng: np.random.Generator) -> None:
        """Set scale and shift to the configured values, mean to 0 and variance to 1."""
        initial = {
            "gamma": self.conf.gamma,
            "beta": self.conf.beta,
            "mean": 0.0,
            "var": 1.0,
        }
        for name, parameter in self.params.items():
            parameter.fill(initial[name])

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`. Masks only pass by."""
        self._check_input(x)
        output = self._like("output", x)
        rows, out = self._rows(x), self._rows(output)
        gamma = self.params.get("gamma", self.conf.gamma)
        beta = self.params.get("beta", self.conf.beta)
        if not training:
            batch_norm_inference(
                rows,
                gamma,
                beta,
                self.conf.eps,
                mean=self.params["mean"],
                variance=self.params["var"],
                out=out,
            )
            return output
        n = (rows.shape[1],)
        self._mean = self._buffer("mean", n, x.dtype)
        self._variance = self._buffer("variance", n, x.dtype)
        self._normalized = self._buffer("normalized", rows.shape, x.dtype)
        batch_norm_forward(
            rows,
            gamma,
            beta,
            self.conf.eps,
            mean=self._mean,
            variance=self._variance,
            normalized=self._normalized,
            out=out,
        )
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of a forward pass in training.

        The views ``mean`` and ``var`` are overwritten with their updates.
        """
        n, dtype = self._mean.shape, grad_out.dtype
        grad_x = self._like("grad_x", grad_out)
        batch_norm_backward(
            self._rows(grad_out),
            self._normalized,
            self.params.get("gamma", self.conf.gamma),
            self._variance,
            self.conf.eps,
            grad_gamma=self.gradients.get("gamma", self._buffer("gamma", n, dtype)),
            grad_beta=self.gradients.get("beta", self._buffer("beta", n, dtype)),
            grad_x=self._rows(grad_x),
        )
        share = 1 - self.conf.decay
        self.gradients["mean"][...] = share * (self.params["mean"] - self._mean)
        self.gradients["var"][...] = share * (self.params["var"] - self._variance)
        return grad_x if self.needs_grad_x else None

    @staticmethod
    def _rows(x: FloatArray) -> FloatArray:
        return x.reshape(-1, x.shape[-1])
