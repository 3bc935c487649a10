"""The layers that look up vectors by their numbers, which are the features."""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.data.float_type import first_ambiguous
from daskdl.errors import DataError
from daskdl.kernels.embedding import (
    embedding_backward,
    embedding_forward,
    embedding_sums,
    row_numbers,
)
from daskdl.nn.activations.identity import IDENTITY
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.dropouts import Dropouts, GaussianDropout, PlainDropout
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent, SeriesFormat
from daskdl.nn.conf.layer import LayerConf, WeightGroup
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.input_dropout import InputDropout
from daskdl.nn.layers.input_kinds import refuse_input
from daskdl.nn.layers.row_activation import activated_rows
from daskdl.nn.run import Backward, Run, Work

AMBIGUOUS = (
    "Larger ones may be neighbours that were rounded: give the network "
    "dtype='float64', and features as integers or float64."
)
"""What messages say of numbers of rows that a float type does not tell apart."""


class LookupConf(WeightGroup):
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
        """Dropout of the looked-up rows in training, if any."""
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
        return self.dense_parameters(input_type, has_bias=self.has_bias)

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return 1 and n_out: the number of rows says nothing of the sums behind."""
        return 1, self.n_out

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Look up `x`, of shape (batch,) or (batch, time), and perhaps an axis of 1.

        Masked rows come out as 0. The features, which are numbers, get the gradient 0.

        Raises
        ------
        DataError
            If a feature is not the number of a row.
        """
        weight = run.params["W"]
        n_in, n_out = weight.shape
        indices = _indices(run, x, n_in)
        if run.fused.sums_steps is not None and run.mask is None:
            return _summed_steps(run, x, indices.reshape(x.shape[:2]))
        preout = run.buffer("preout", (x.size, n_out), weight.dtype)
        embedding_forward(indices, weight, out=preout)
        dropout = self._dropped(run, preout)
        if "b" in run.params:
            preout += run.params["b"]
        rows, activated_backward = activated_rows(run, preout, self.activation)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_preout = activated_backward(grad_out)
            grad_rows = dropout.backward(grad_preout)
            embedding_backward(grad_rows, indices, grad_weight=run.gradients["W"])
            if "b" in run.gradients:
                xp = array_namespace(grad_out)
                xp.sum(grad_preout, axis=0, out=run.gradients["b"])
            if not run.needs_grad_x:
                return None
            return _no_gradient(run, x)

        axes = x.shape[: len(run.output_type.shape)]
        return rows.reshape(*axes, n_out), backward

    def _dropped(self, run: Run, rows: FloatArray) -> InputDropout:
        """Multiply each row by the dropout of its index as a one-hot number."""
        dropout = InputDropout(self.row_dropout, run.name, run.workspace)
        if self.row_dropout is not None and run.training:
            ones = run.buffer("ones", (len(rows), 1), rows.dtype)
            ones.fill(1)
            rows *= dropout.forward(ones, training=True, rng=run.rng)
        return dropout


class Embedding(LookupConf, WeightOptions, TrainingOptions, LayerConf):
    """Look up a row of the weights: the feature of an example is its number.

    That is a dense layer on one-hot rows, without their product. Features have shape
    (batch, 1).

    Parameters
    ----------
    n_in : int
        Number of rows; must be given. float32 tells numbers below 2**24 apart: larger
        ones are refused unless the network is of float64 and gets them as such, or as
        integers.
    has_bias : bool
        Whether a bias is added.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["embedding"] = "embedding"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of `n_out`; refuse all but one number an example."""
        if not isinstance(input_type, FeedForward) or input_type.size not in (1, None):
            hint = "Use EmbeddingSequence for several of them."
            raise refuse_input(self, "one number an example", input_type, hint)
        self.inferred_n_in(input_type)
        return FeedForward(size=self.n_out)


class EmbeddingSequence(LookupConf, WeightOptions, TrainingOptions, LayerConf):
    """Look up a row of the weights at each step: its number is the only feature.

    Features are rows of numbers (batch, time), or series of one feature.

    Parameters
    ----------
    n_in : int
        Number of rows; must be given. See :class:`Embedding` for more than 2**24.
    has_bias : bool
        Whether a bias is added.
    infer_input_length : bool
        Whether sequences may have any length.
    input_length : int
        Their length, if it is not inferred.
    output_format : {"NCW", "NWC"}
        Data format of what comes out, should it leave the network.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["embedding_sequence"] = "embedding_sequence"
    infer_input_length: bool = True
    input_length: Count = 1
    output_format: SeriesFormat = "NCW"

    def can_take_over(self, work: Work) -> bool:
        """Return whether it can sum steps up: if they are rows of its weights."""
        function = activation_function(self.activation, self.quirks)
        are_rows = function is IDENTITY and not self.has_bias
        return work == "sums" and are_rows and self.row_dropout is None

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return series of `n_out`; refuse all but sequences of numbers."""
        if isinstance(input_type, FeedForward):
            steps = input_type.size
        elif isinstance(input_type, Recurrent) and input_type.size == 1:
            steps = input_type.time_steps
        else:
            raise refuse_input(self, "rows or series of single numbers", input_type)
        if not self.infer_input_length:
            if steps not in (None, self.input_length):
                raise PathError(
                    f"must be {steps}, the length of what the layer gets, got "
                    f"{self.input_length}.",
                    "input_length",
                )
            steps = self.input_length
        self.inferred_n_in(input_type)
        return Recurrent(
            size=self.n_out, time_steps=steps, data_format=self.output_format
        )


def _summed_steps(
    run: Run, x: FloatArray, indices: NDArray[Any]
) -> tuple[FloatArray, Backward]:
    """Return sums or averages (batch, n_out) of rows, and the way back."""
    weight = run.params["W"]
    divisor = indices.shape[1] if run.fused.sums_steps == "avg" else 1
    output = run.buffer("sums", (len(x), weight.shape[1]), weight.dtype)
    embedding_sums(indices, weight, divisor, out=output)

    def backward(grad_out: FloatArray) -> FloatArray | None:
        shares = run.like("shares", grad_out)
        array_namespace(grad_out).divide(grad_out, divisor, out=shares)
        embedding_backward(shares, indices, grad_weight=run.gradients["W"])
        return _no_gradient(run, x) if run.needs_grad_x else None

    return output, backward


def _no_gradient(run: Run, x: FloatArray) -> FloatArray:
    """Return the gradient in numbers of rows, which is 0."""
    grad_x = run.like("grad_x", x)
    grad_x.fill(0)
    return grad_x


def _indices(run: Run, x: FloatArray, n_in: int) -> NDArray[Any]:
    """Return features as whole numbers from 0 to below `n_in`, of shape (x.size,)."""
    out: NDArray[Any] = run.buffer("indices", (x.size,), np.intp)
    flat = x.reshape(-1)
    limit = first_ambiguous(x.dtype)
    wrong = row_numbers(flat, min(n_in, limit), out=out)
    if wrong >= 0 and limit <= float(flat[wrong]) < n_in:
        raise DataError(
            f"{run.who}: features must be below {limit} in {x.dtype} to be looked up, "
            f"got {float(flat[wrong]):.0f}. {AMBIGUOUS}"
        )
    if wrong >= 0:
        raise DataError(
            f"{run.who}: features must be whole numbers from 0 to {n_in - 1}, the rows "
            f"of its weights, got {float(flat[wrong]):g}."
        )
    return out
