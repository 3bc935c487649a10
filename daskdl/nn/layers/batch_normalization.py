"""The batch normalization layer."""

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.activation import relu_backward
from daskdl.kernels.dispatch import is_on_device
from daskdl.kernels.normalization import (
    batch_norm_backward,
    batch_norm_forward,
    batch_norm_inference,
    batch_norm_inference_backward,
)
from daskdl.kernels.normalization.gpu import moved_on
from daskdl.nn.conf.input_type import InputType, features_of
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import NonNegative, Real, Share
from daskdl.nn.layers.scaling import Scaling
from daskdl.nn.run import Backward, Run, Work

_Scale = FloatArray | float


class BatchNormalization(TrainingOptions, LayerConf):
    """Normalise each feature, or each channel of images, over the minibatch.

    Features of time series are normalised over all their steps that no mask drops.

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
    can_be_cut: ClassVar[bool] = True

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

    def initialize(self, run: Run, rng: np.random.Generator) -> None:
        """Set scale and shift to the configured values, mean to 0 and variance to 1."""
        initial = {"gamma": self.gamma, "beta": self.beta, "var": 1.0}
        for name, parameter in run.params.items():
            parameter.fill(initial.get(name, 0.0))

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Normalise `x`, of shape (batch, ..., features).

        Training uses the minibatch's mean and biased variance, inference the running
        ones. In training what a mask of steps or rows drops does not count, and comes
        out as 0. The running ones are parameters whose gradient is the update itself,
        such as ``(1 - decay) * (running - batch)``: subtracted as it is, it leaves
        ``decay * running + (1 - decay) * batch``. In inference it is 0.
        """
        if not run.training:
            return self._of_running(run, x)
        kept, n_kept = self._kept(run, x)
        if kept is None:
            return self._of_minibatch(run, x)
        if not n_kept:
            # There is nothing to learn from.
            return self._of_running(run, x)
        return self._of_kept(run, x, kept)

    def _kept(self, run: Run, x: FloatArray) -> tuple[NDArray[Any] | None, int]:
        """Return which rows count, None if all do, and how many in the minibatch."""
        ignores = "normalization_ignores_masks" in self.quirks
        if run.mask is None or x.ndim > 3 or ignores:
            return None, 0
        steps = x.shape[1] if x.ndim == 3 else 1
        # One that is neither of steps nor of whole examples only passes by.
        if run.mask.size not in (len(x), len(x) * steps):
            return None, 0
        found = run.mask.reshape(len(x), -1) > 0
        xp = array_namespace(found)
        kept: NDArray[Any] = xp.broadcast_to(found, (len(x), steps)).reshape(-1)
        brought = int(kept.sum()), kept.size
        there = [brought] if run.cut is None else run.cut.exchange(brought)
        n_kept, n_rows = (sum(column) for column in zip(*there, strict=True))
        return (None if n_kept == n_rows else kept), n_kept

    def _of_kept(
        self, run: Run, x: FloatArray, kept: NDArray[Any]
    ) -> tuple[FloatArray, Backward]:
        normalized, back = self._of_minibatch(run, _rows(x)[kept])
        output = run.lent_like("all rows", x)
        output.fill(0)
        _rows(output)[kept] = normalized

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_kept = back(_rows(grad_out)[kept])
            if grad_kept is None:
                return None
            grad_x = run.lent_like("grad_all_rows", grad_out)
            grad_x.fill(0)
            _rows(grad_x)[kept] = grad_kept
            return grad_x

        return output, backward

    def _of_minibatch(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        output, n = run.lent_like("output", x), (x.shape[-1],)
        mean = run.buffer("mean", n, x.dtype)
        variance = run.buffer("variance", n, x.dtype)
        exchange = None if run.cut is None else run.cut.exchange
        batch_norm_forward(
            _rows(x),
            *self._scale_and_shift(run),
            self.eps,
            mean=mean,
            variance=variance,
            out=_rows(output),
            rectifies=run.fused.rectifies,
            exchange=exchange,
        )

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_x = run.lent_like("grad_x", grad_out)
            batch_norm_backward(
                _rows(grad_out),
                _rows(x),
                # Also where the output leaves a locked scale out.
                run.params.get("gamma", self.gamma),
                self.eps,
                mean=mean,
                variance=variance,
                grad_gamma=_gradient(run, "gamma"),
                grad_beta=_gradient(run, "beta"),
                grad_x=_rows(grad_x),
                rectified_beta=run.params["beta"] if run.fused.rectifies else None,
                exchange=exchange,
            )
            if run.cut is None or run.cut.is_first:
                self._move_on(run, mean, variance)
            else:
                # What threads write is added up, and the statistics are those of all.
                _stay(run)
            return grad_x if run.needs_grad_x else None

        return output, backward

    def _of_running(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        output, (gamma, beta) = run.lent_like("output", x), self._scale_and_shift(run)
        running = {"mean": run.params["mean"], "variance": self._running_variance(run)}
        batch_norm_inference(
            _rows(x),
            gamma,
            beta,
            self.eps,
            **running,
            out=_rows(output),
            rectifies=run.fused.rectifies,
        )

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_x = run.lent_like("grad_x", grad_out)
            if run.fused.rectifies:
                masked = run.lent_like("grad_rectified", grad_out)
                grad_out = relu_backward(grad_out, output, out=masked)
            batch_norm_inference_backward(
                _rows(grad_out),
                _rows(x),
                gamma,
                self.eps,
                **running,
                grad_gamma=_gradient(run, "gamma"),
                grad_beta=_gradient(run, "beta"),
                grad_x=_rows(grad_x),
            )
            _stay(run)
            return grad_x if run.needs_grad_x else None

        return output, backward

    def _move_on(self, run: Run, mean: FloatArray, variance: FloatArray) -> None:
        """Write the updates that move the running statistics towards a minibatch's."""
        names = ("mean", "log10stdev" if self.use_log_std else "var")
        if is_on_device(mean):
            moved_on(
                (run.params[names[0]], run.params[names[1]]),
                *(mean, variance, self.decay),
                is_logarithm=self.use_log_std,
                out=(run.gradients[names[0]], run.gradients[names[1]]),
            )
            return
        rest = 1 - self.decay
        run.gradients["mean"][...] = rest * (run.params["mean"] - mean)
        if not self.use_log_std:
            run.gradients["var"][...] = rest * (run.params["var"] - variance)
            return
        before = self._running_variance(run)
        after = self.decay * before + rest * variance
        change = array_namespace(mean).log(before / after) / math.log(100)
        run.gradients["log10stdev"][...] = change

    def scaling(self, run: Run) -> Scaling:
        """Return the factors and shifts of inference, from the present statistics."""
        gamma, beta = self._scale_and_shift(run)
        scale = gamma / np.sqrt(self._running_variance(run) + self.eps)
        shift = beta - run.params["mean"] * scale
        return Scaling(scale, shift, run.fused.rectifies)

    def _scale_and_shift(self, run: Run) -> tuple[_Scale, _Scale]:
        if not self.lock_gamma_beta:
            return run.params["gamma"], run.params["beta"]
        changes_both = self.gamma != 1 and self.beta != 0
        if "locked_gamma_beta_left_out" in self.quirks and not changes_both:
            return 1.0, 0.0
        return self.gamma, self.beta

    def _running_variance(self, run: Run) -> FloatArray:
        if not self.use_log_std:
            return run.params["var"]
        deviation: FloatArray = 10.0 ** run.params["log10stdev"]
        return deviation * deviation


def _gradient(run: Run, name: str) -> FloatArray:
    """Return the array for a gradient; scratch where the parameter is locked."""
    if name in run.gradients:
        return run.gradients[name]
    return run.like(name, run.params["mean"])


def _stay(run: Run) -> None:
    """Write updates of 0 for the running statistics."""
    for name in ("mean", "var", "log10stdev"):
        if name in run.gradients:
            run.gradients[name].fill(0)


def _rows(x: FloatArray) -> FloatArray:
    return x.reshape(-1, x.shape[-1])
