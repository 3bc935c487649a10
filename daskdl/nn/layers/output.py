"""The output layer for rows, and what it shares with the one for time series."""

from typing import Literal, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import WeightLayerConf, dense_parameters, refuse_input
from daskdl.nn.conf.losses import AnyLoss
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.affine import AffineLayer
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.row_loss import RowLoss
from daskdl.nn.losses.table import loss_function
from daskdl.nn.masks import column_mask


class OutputConf(WeightLayerConf):
    """A dense layer with a loss.

    Parameters
    ----------
    loss : loss
        By name or with options.
    has_bias : bool
        Whether a bias is added.
    """

    loss: AnyLoss = "mcxent"
    has_bias: bool = True

    @property
    def is_output(self) -> bool:
        """True: the layer computes a loss."""
        return True

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out) and b (n_out,)."""
        return dense_parameters(self, input_type, has_bias=self.has_bias)


class Output(OutputConf):
    """The last layer of a network on rows: a dense layer with a loss.

    `activation` None means what belongs to the loss: softmax to ``mcxent`` and
    ``negativeloglikelihood``, sigmoid to ``xent``, identity to the others.
    """

    type: Literal["output"] = "output"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of `n_out`; refuse time series."""
        if isinstance(input_type, Recurrent):
            hint = (
                "Use RnnOutput for one output per time step, or put GlobalPooling "
                "before it for one per series."
            )
            raise refuse_input(self, "rows or images", input_type, hint)
        self.inferred_n_in(input_type)
        return FeedForward(size=self.n_out)


L = TypeVar("L", bound=OutputConf)


class AffineOutputLayer(AffineLayer[L], RowLoss[L]):
    """``activation(x @ W + b)`` with a loss; the loss sees rows."""

    zeroes_masked_rows = True

    def __init__(
        self, conf: L, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._loss = loss_function(conf.loss, conf.quirks)
        self._keeps_preout = self._loss.reads_preout(self._activation)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, ..., n_out); see :meth:`Layer.forward`."""
        self._preout = self._affine_forward(x)
        self._output = self._activated(self._preout, rng if training else None)
        self._leading = self._x_shape[: len(self.output_type.shape)]
        self._features_mask = mask
        return self._seen(mask).reshape(*self._leading, self.conf.n_out)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the output, not of the loss.

        See :meth:`Layer.backward`.
        """
        return self._affine_backward(self._activation_gradient(grad_out))

    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray | None:
        """Compute the gradients; see :meth:`OutputLayer.backward_loss`."""
        return self._affine_backward(self._loss_gradient(labels, mask))

    def _seen(self, mask: FloatArray | None) -> FloatArray:
        """Return what callers see of the output; the loss sees it without a mask."""
        if mask is None or not self.zeroes_masked_rows:
            return self._output
        column = column_mask(mask, len(self._output), self.who)
        seen: FloatArray = array_namespace(column).multiply(
            self._output, column, out=self._like("seen", self._output)
        )
        return seen


@works_for(Output)
class RowOutputLayer(AffineOutputLayer[Output]):
    """The output layer of a network on rows or images.

    Without a mask of the labels, one that arrives with the input counts.
    """
