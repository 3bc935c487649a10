"""The batch normalization layer."""

from typing import ClassVar

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.normalization import (
    batch_norm_backward,
    batch_norm_forward,
    batch_norm_inference,
)
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layers import BatchNormalization
from daskdl.nn.layers.input_dropout import InputDropout
from daskdl.nn.layers.layer import Layer


class BatchNormalizationLayer(Layer[BatchNormalization]):
    """Normalise each feature, or channel of images, over the minibatch.

    Training uses the minibatch's mean and biased variance, inference the running
    ones. The running ones are parameters ``mean`` and ``var`` whose gradient is the
    update itself, ``(1 - decay) * (running - batch)``: subtracted as it is, it leaves
    ``decay * running + (1 - decay) * batch``.

    Locked scale and shift are applied in training and inference alike. DL4J's inference
    leaves both out if the scale is 1 or the shift is 0.
    """

    running: ClassVar[frozenset[str]] = frozenset({"mean", "var"})

    def __init__(
        self,
        conf: BatchNormalization,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._dropout = InputDropout(conf.keep_probability, name, workspace)

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
        x = self._dropout.forward(x, training=training, rng=rng)
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
        return self._dropout.backward(grad_x) if self.needs_grad_x else None

    @staticmethod
    def _rows(x: FloatArray) -> FloatArray:
        return x.reshape(-1, x.shape[-1])
