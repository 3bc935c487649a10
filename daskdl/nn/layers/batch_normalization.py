"""The batch normalization layer."""

import math
from typing import ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.activation import relu_backward
from daskdl.kernels.normalization import (
    batch_norm_backward,
    batch_norm_forward,
    batch_norm_inference,
    batch_norm_inference_backward,
)
from daskdl.nn.conf.input_type import InputType, features_of
from daskdl.nn.conf.layer import TrainedLayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import NonNegative, Real, Share
from daskdl.nn.layers.layer import Layer, works_for
from daskdl.nn.layers.scaling import Scaling
from daskdl.nn.run import Work

_Scale = FloatArray | float


class BatchNormalization(TrainedLayerConf):
    """Normalise each feature, or each channel of images, over the minibatch.

    Features of time series are normalised over all their steps.

    Parameters
    ----------
    decay : float in [0, 1]
        Share of the old running mean and variance that each minibatch keeps.
    eps : float
        Added to the variance.
    gamma, beta : float
        Initial scale and shift, or the fixed ones.
    lock_gamma_beta : bool
        Whether scale and shift stay as they are; there are no parameters for them
        then.
    use_log_std : bool
        Whether the running variance is kept as ``log10`` of the standard
        deviation: parameter ``log10stdev``, otherwise ``var``.
    minibatch : bool
        For files only: it changes nothing.
    """

    takes_network_dropout: ClassVar[bool] = False

    type: Literal["batch_normalization"] = "batch_normalization"
    decay: Share = 0.9
    eps: NonNegative = 1e-5
    gamma: Real = 1.0
    beta: Real = 0.0
    lock_gamma_beta: bool = False
    use_log_std: bool = True
    minibatch: bool = True

    def output_type(self, input_type: InputType) -> InputType:
        """Return `input_type`: nothing changes its shape."""
        return input_type

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return gamma, beta (unless locked), mean and log10stdev or var, each (n,)."""
        shape = (features_of(input_type),)
        learned = () if self.lock_gamma_beta else ("gamma", "beta")
        spread = "log10stdev" if self.use_log_std else "var"
        return (
            *(Parameter(name, shape, "plain") for name in learned),
            *(Parameter(name, shape, "running") for name in ("mean", spread)),
        )

    def can_take_over(self, work: Work) -> bool:
        """Return whether it can rectify: unless scale and shift are locked.

        Backward computes the sign of the output from scale and shift as arrays, which
        locked ones are not.
        """
        return work == "rectifier" and not self.lock_gamma_beta


@works_for(BatchNormalization)
class BatchNormalizationLayer(Layer[BatchNormalization]):
    """Normalise each feature, or channel of images, over the minibatch.

    Training uses the minibatch's mean and biased variance, inference the running
    ones. The running ones are parameters whose gradient is the update itself, such as
    ``(1 - decay) * (running - batch)``: subtracted as it is, it leaves ``decay *
    running + (1 - decay) * batch``.
    """

    def scaling(self) -> Scaling:
        """Return the factors and shifts of inference, from the present statistics."""
        gamma, beta = self._scale_and_shift()
        scale = gamma / np.sqrt(self._running_variance() + self.conf.eps)
        shift = beta - self.params["mean"] * scale
        return Scaling(scale, shift, self.fused.rectifies)

    def initialize(self, rng: np.random.Generator) -> None:
        """Set scale and shift to the configured values, mean to 0 and variance to 1."""
        initial = {"gamma": self.conf.gamma, "beta": self.conf.beta, "var": 1.0}
        for name, parameter in self.params.items():
            parameter.fill(initial.get(name, 0.0))

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, an array like `x`.

        See :meth:`Layer.forward`. Masks only pass by.
        """
        self._check_input(x)
        if self.fused.is_done_in_inference and not training:
            return x
        self._training, self._x = training, x
        output = self._like("output", x)
        rows, out = self._rows(x), self._rows(output)
        gamma, beta = self._scale_and_shift()
        if not training:
            batch_norm_inference(
                rows,
                gamma,
                beta,
                self.conf.eps,
                mean=self.params["mean"],
                variance=self._running_variance(),
                out=out,
                rectifies=self.fused.rectifies,
            )
            self._output = output
            return output
        n = (rows.shape[1],)
        self._mean = self._buffer("mean", n, x.dtype)
        self._variance = self._buffer("variance", n, x.dtype)
        batch_norm_forward(
            rows,
            gamma,
            beta,
            self.conf.eps,
            mean=self._mean,
            variance=self._variance,
            out=out,
            rectifies=self.fused.rectifies,
        )
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the last forward pass.

        See :meth:`Layer.backward` for the shapes. After one in training the views of
        running statistics are overwritten with their updates, after one in inference
        with 0.
        """
        grad_x = self._like("grad_x", grad_out)
        if self._training:
            self._backward_training(grad_out, grad_x)
        else:
            self._backward_inference(grad_out, grad_x)
        return grad_x if self.needs_grad_x else None

    def _backward_training(self, grad_out: FloatArray, grad_x: FloatArray) -> None:
        batch_norm_backward(
            self._rows(grad_out),
            self._rows(self._x),
            # Also where the output leaves a locked scale out.
            self.params.get("gamma", self.conf.gamma),
            self.conf.eps,
            mean=self._mean,
            variance=self._variance,
            grad_gamma=self._gradient("gamma"),
            grad_beta=self._gradient("beta"),
            grad_x=self._rows(grad_x),
            rectified_beta=self.params["beta"] if self.fused.rectifies else None,
        )
        decay = self.conf.decay
        self.gradients["mean"][...] = (1 - decay) * (self.params["mean"] - self._mean)
        if not self.conf.use_log_std:
            change = self.params["var"] - self._variance
            self.gradients["var"][...] = (1 - decay) * change
            return
        xp = array_namespace(grad_out)
        before = self._running_variance()
        after = decay * before + (1 - decay) * self._variance
        self.gradients["log10stdev"][...] = xp.log(before / after) / math.log(100)

    def _backward_inference(self, grad_out: FloatArray, grad_x: FloatArray) -> None:
        if self.fused.rectifies:
            masked = self._like("grad_rectified", grad_out)
            grad_out = relu_backward(grad_out, self._output, out=masked)
        batch_norm_inference_backward(
            self._rows(grad_out),
            self._rows(self._x),
            self._scale_and_shift()[0],
            self.conf.eps,
            mean=self.params["mean"],
            variance=self._running_variance(),
            grad_gamma=self._gradient("gamma"),
            grad_beta=self._gradient("beta"),
            grad_x=self._rows(grad_x),
        )
        for name in ("mean", "var", "log10stdev"):
            if name in self.gradients:
                self.gradients[name].fill(0)

    def _scale_and_shift(self) -> tuple[_Scale, _Scale]:
        if not self.conf.lock_gamma_beta:
            return self.params["gamma"], self.params["beta"]
        gamma, beta = self.conf.gamma, self.conf.beta
        changes_both = gamma != 1 and beta != 0
        if "locked_gamma_beta_left_out" in self.conf.quirks and not changes_both:
            return 1.0, 0.0
        return gamma, beta

    def _running_variance(self) -> FloatArray:
        if not self.conf.use_log_std:
            return self.params["var"]
        deviation: FloatArray = 10.0 ** self.params["log10stdev"]
        return deviation * deviation

    def _gradient(self, name: str) -> FloatArray:
        """Return where a gradient goes; scratch where it is locked."""
        if name in self.gradients:
            return self.gradients[name]
        mean = self.params["mean"]
        scratch: FloatArray = self._buffer(name, mean.shape, mean.dtype)
        return scratch

    @staticmethod
    def _rows(x: FloatArray) -> FloatArray:
        return x.reshape(-1, x.shape[-1])
