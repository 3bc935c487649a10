"""The layer that damps each channel by those around it."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.lrn import local_response_backward, local_response_forward
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.conf.values import Positive, Real
from daskdl.nn.layers.input_kinds import images_in
from daskdl.nn.run import Backward, Run


class LocalResponseNormalization(DropoutOptions, LayerConf):
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

    can_be_cut: ClassVar[bool] = True

    type: Literal["local_response_normalization"] = "local_response_normalization"
    takes_network_dropout: ClassVar[bool] = False

    k: Real = 2.0
    n: Positive = 5.0
    alpha: Real = 1e-4
    beta: Real = 0.75

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return the type of the input; refuse all but images."""
        return images_in(self, input_type)

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Damp the channels of `x`, of shape (batch, height, width, channels)."""
        half_width = int(self.n) // 2
        unit = run.buffer("unit", x.shape, x.dtype)
        output = local_response_forward(
            x,
            half_width,
            self.k,
            self.alpha,
            self.beta,
            run.workspace,
            unit=unit,
            out=run.lent("output", x.shape, x.dtype),
        )

        def backward(grad_out: FloatArray) -> FloatArray:
            return local_response_backward(
                grad_out,
                x,
                output,
                unit,
                half_width,
                self.alpha,
                self.beta,
                run.workspace,
                grad_x=run.lent("grad_x", grad_out.shape, grad_out.dtype),
                by_middle_unit="lrn_gradient_by_middle_unit" in self.quirks,
            )

        return output, backward
