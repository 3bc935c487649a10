"""What the layers share that look up a vector by its number."""

from typing import ClassVar, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.embedding import embedding_backward, embedding_forward
from daskdl.nn.activations.identity import IDENTITY
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.dropouts import Dropouts, GaussianDropout, PlainDropout
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import WeightLayerConf, dense_parameters
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.indices import as_indices
from daskdl.nn.layers.input_dropout import InputDropout
from daskdl.nn.layers.row_layer import RowLayer


class LookupConf(WeightLayerConf):
    """A layer whose features are numbers of the rows of its weights.

    `n_in`, the number of rows, must be given. Dropout is that of a dense layer whose
    input is one-hot: what is dropped is the whole row that is looked up, before the
    bias.
    """

    takes_network_dropout: ClassVar[bool] = False
    ignores_weight_noise: ClassVar[bool] = True

    activation: AnyActivation | None = "identity"
    has_bias: bool = False

    @property
    def input_dropout(self) -> None:
        """None: the numbers of rows must stay; see :attr:`row_dropout`."""
        return

    @property
    def row_dropout(self) -> Dropouts | None:
        """What happens in training to the rows that are looked up, if anything."""
        return super().input_dropout

    @property
    def draws_random_numbers(self) -> bool:
        """True if training needs random numbers."""
        return self.row_dropout is not None or super().draws_random_numbers

    def check_dropout(self, input_type: InputType) -> None:
        """Refuse a dropout that does not leave zeros of one-hot rows as they are.

        Raises
        ------
        OptionError
            If it is of such a kind, or would be ignored.
        """
        super().check_dropout(input_type)
        dropped = self.row_dropout
        if not isinstance(dropped, PlainDropout | GaussianDropout | None):
            raise PathError(
                "must be plain or gaussian dropout, which drop the rows that are "
                f"looked up, got {dropped.type}. Put a Dropout layer behind it.",
                "dropout",
            )

    def inferred_n_in(self, input_type: InputType) -> int:
        """Return `n_in`, which the input does not tell.

        Raises
        ------
        OptionError
            If it is not given.
        """
        if self.n_in is None:
            raise PathError(
                "must be given: how many different numbers the features may be, got "
                "None.",
                "n_in",
            )
        return self.n_in

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, n_out) and, if there is one, b (n_out,)."""
        return dense_parameters(self, input_type, has_bias=self.has_bias)


L = TypeVar("L", bound=LookupConf)


class LookupLayer(RowLayer[L]):
    """``activation(W[x] + b)``; masked rows come out as 0."""

    def __init__(
        self, conf: L, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._dropout = InputDropout(conf.row_dropout, name, workspace)

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W with fans 1 and n_out; every bias is `bias_init`.

        The number of different features says nothing of the sums behind them.
        """
        self._draw("W", 1, self.conf.n_out, rng)
        if "b" in self.params:
            self.params["b"].fill(self._given("bias_init", self.conf.bias_init))

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, ..., n_out); see :meth:`Layer.forward`.

        Raises
        ------
        DataError
            If a feature is not the number of a row.
        """
        self._check_input(x)
        self._x = x
        weight = self.params["W"]
        n_in, n_out = weight.shape
        self._indices = self._buffer("indices", (x.size,), np.intp)
        as_indices(x, n_in, self.who, out=self._indices)
        preout = self._buffer("preout", (x.size, n_out), weight.dtype)
        embedding_forward(self._indices, weight, out=preout)
        self._drop(preout, training=training, rng=rng)
        if "b" in self.params:
            preout += self.params["b"]
        rows = self._activated_and_masked(preout, mask, rng if training else None)
        return rows.reshape(*self._leading(x), n_out)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; the features, which are numbers, get 0.

        See :meth:`Layer.backward`.
        """
        xp = array_namespace(grad_out)
        grad_preout = self._preout_gradient_or_view(grad_out)
        grad_rows = self._dropout.backward(grad_preout)
        embedding_backward(grad_rows, self._indices, grad_weight=self.gradients["W"])
        if "b" in self.gradients:
            xp.sum(grad_preout, axis=0, out=self.gradients["b"])
        if not self.needs_grad_x:
            return None
        grad_x = self._like("grad_x", self._x)
        grad_x.fill(0)
        return grad_x

    def _drop(
        self, rows: FloatArray, *, training: bool, rng: np.random.Generator | None
    ) -> None:
        """Multiply each row by what dropout makes of the 1 that it was looked up by."""
        if self.conf.row_dropout is None or not training:
            return
        ones: FloatArray = self._buffer("ones", (len(rows), 1), rows.dtype)
        ones.fill(1)
        rows *= self._dropout.forward(ones, training=training, rng=rng)

    def _preout_gradient_or_view(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient in the pre-activations, which is only read."""
        if self._activation is IDENTITY and self._column is None:
            return grad_out.reshape(self._output.shape)
        return self._preout_gradient(grad_out)

    def _leading(self, x: FloatArray) -> tuple[int, ...]:
        """Return the axes of the output in front of the features."""
        return (len(x), *x.shape[1 : len(self.output_type.shape)])
