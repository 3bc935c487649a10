"""The layer that damps each channel by those around it."""

from typing import ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.lrn import local_response_backward, local_response_forward
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.layer import DroppedLayerConf
from daskdl.nn.conf.values import Positive, Real
from daskdl.nn.layers.entering import images_in
from daskdl.nn.layers.layer import Layer


class LocalResponseNormalization(DroppedLayerConf):
    """Divide each channel by ``(k + alpha * sum of squares near it)^beta``.

    Parameters
    ----------
    k, alpha, beta : float
        See the formula. `alpha` is not divided by the number of channels.
    n : float
        Channels that are near, the one in the middle included; an even number means
        the next odd one.

    References
    ----------
    Krizhevsky, Sutskever and Hinton, *ImageNet Classification with Deep Convolutional
    Neural Networks*, 2012, section 3.3.
    """

    type: Literal["local_response_normalization"] = "local_response_normalization"
    takes_network_dropout: ClassVar[bool] = False

    k: Real = 2.0
    n: Positive = 5.0
    alpha: Real = 1e-4
    beta: Real = 0.75

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return the type of the input; refuse what is no image."""
        return images_in(self, input_type)


class LocalResponseNormalizationLayer(Layer[LocalResponseNormalization]):
    """Each channel of images, damped by those around it. Masks only pass by."""

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, an array like `x`; see :meth:`Layer.forward`."""
        self._check_input(x)
        self._x = x
        self._unit = self._like("unit", x)
        self._output = local_response_forward(
            x,
            self._half_width,
            self.conf.k,
            self.conf.alpha,
            self.conf.beta,
            self._workspace,
            unit=self._unit,
            out=self._like("output", x),
        )
        return self._output

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        return local_response_backward(
            grad_out,
            self._x,
            self._output,
            self._unit,
            self._half_width,
            self.conf.alpha,
            self.conf.beta,
            self._workspace,
            grad_x=self._like("grad_x", grad_out),
            by_middle_unit="lrn_gradient_by_middle_unit" in self.conf.quirks,
        )

    @property
    def _half_width(self) -> int:
        return int(self.conf.n) // 2
