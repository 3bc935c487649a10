"""The two-dimensional convolution layer."""

from typing import Literal

import numpy as np
from pydantic import Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.conv import convolution_forward
from daskdl.kernels.pooled_conv import (
    pooled_convolution_backward,
    pooled_convolution_forward,
)
from daskdl.kernels.pooled_conv.windows import PooledWindows
from daskdl.nn.activations.identity import IDENTITY
from daskdl.nn.activations.rectifiers import RELU
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.values import CountPair, IndexPair
from daskdl.nn.layers.convolving import ConvolvingConf, ConvolvingLayer
from daskdl.nn.layers.layer import PoolOn, works_for
from daskdl.nn.layers.scaling import Scaling, ScalingOf


class Convolution2D(ConvolvingConf):
    """A two-dimensional convolution (cross-correlation, as everywhere).

    Parameters
    ----------
    kernel_size, stride, dilation : (int, int) or int
        Height and width; one number means both.
    padding : (int, int) or int
        Zeros on both sides; not used by mode ``same``.
    convolution_mode : {"truncate", "same", "strict"}
        What happens where kernel and stride do not fit: cut off the rest, pad so
        that the output has ``ceil(size / stride)``, or refuse.
    has_bias : bool
        Whether a bias is added.
    """

    type: Literal["convolution2d"] = "convolution2d"
    kernel_size: CountPair = Field(default=(5, 5), kw_only=False)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    convolution_mode: ConvolutionModeName = "truncate"


@works_for(Convolution2D)
class ConvolutionLayer(ConvolvingLayer[Convolution2D]):
    """``activation(cross-correlation of x with W, plus b)`` of images.

    It can take over the maximum pooling behind it, and in inference a normalization,
    see :mod:`daskdl.nn.fusion`.
    """

    def __init__(
        self,
        conf: Convolution2D,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._pool_on: PoolOn | None = None
        self._scaling_of: ScalingOf | None = None

    def scale(self, scaling_of: ScalingOf) -> bool:
        """Take over the scaling in inference, if nothing is in front of it."""
        if self._activation is not IDENTITY:
            return False
        self._scaling_of = scaling_of
        return True

    def pool(self, window_of: PoolOn) -> bool:
        """Take over the pooling, if there is at most a rectifier in front of it."""
        if self._activation not in (IDENTITY, RELU):
            return False
        self._pool_on = window_of
        return True

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`. Masks only pass by."""
        if self._scaling_of is not None and not training:
            return self._forward_scaled(x, self._scaling_of())
        if self._pool_on is None:
            return super().forward(x, training=training, mask=mask, rng=rng)
        self._check_input(x)
        self._x = x
        self._window = self._window_on(x.shape[1:-1])
        pool = self._pool_on(self._window.out)
        self._windows = PooledWindows(self._window, pool, self._activation is RELU)
        shape = (x.shape[0], *pool.out, self.conf.n_out)
        self._output = self._buffer("output", shape, x.dtype)
        self._winner = self._buffer("winner", shape, x.dtype)
        return pooled_convolution_forward(
            x,
            self.params["W"],
            self.params.get("b"),
            self._windows,
            self._workspace,
            out=self._output,
            winner=self._winner,
        )

    def _forward_scaled(self, x: FloatArray, scaling: Scaling) -> FloatArray:
        """Return the normalized output: the weights take the factors."""
        self._check_input(x)
        xp = array_namespace(x)
        window = self._window_on(x.shape[1:-1])
        weight = self._like("scaled", self.params["W"])
        xp.multiply(self.params["W"], scaling.scale, out=weight)
        shift = scaling.shift
        if "b" in self.params:
            shift = shift + self.params["b"] * scaling.scale
        shape = (x.shape[0], *window.out, self.conf.n_out)
        return convolution_forward(
            x,
            weight,
            shift,
            window,
            self._workspace,
            rectifies=scaling.rectifies,
            out=self._buffer("preout", shape, x.dtype),
        )

    def _convolve(self, out: FloatArray) -> None:
        convolution_forward(
            self._x,
            self.params["W"],
            self.params.get("b"),
            self._window,
            self._workspace,
            rectifies=self._activation is RELU,
            out=out,
        )

    def _activate(self, rng: np.random.Generator | None) -> None:
        if self._activation is RELU:
            self._output = self._preout
        else:
            super()._activate(rng)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        if self._pool_on is None:
            return super().backward(grad_out)
        return pooled_convolution_backward(
            grad_out,
            self._x,
            self.params["W"],
            self._windows,
            self._workspace,
            output=self._output,
            winner=self._winner,
            grad_weight=self.gradients["W"],
            grad_bias=self.gradients.get("b"),
            grad_x=self._like("grad_x", self._x) if self.needs_grad_x else None,
        )
