"""What every preprocessor can do: reshape the input of a layer, and its gradient."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import fits
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import PreprocessorConf

P = TypeVar("P", bound=PreprocessorConf)


class Preprocessor(ABC, Generic[P]):
    """A preprocessor at work: what it is, says its configuration.

    Parameters
    ----------
    conf : PreprocessorConf
        The configuration.
    input_type : InputType
        What it gets.
    name : str
        Of the layer behind it.
    workspace : Workspace
        Lends all its arrays.
    """

    def __init__(
        self, conf: P, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        self.conf = conf
        self.input_type = input_type
        self.output_type = conf.output_type(input_type)
        self.name = name
        self._workspace = workspace

    @abstractmethod
    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the input in its new shape.

        Parameters
        ----------
        x : ndarray of shape (rows, *input_type.shape)
            Not changed.
        batch_size : int
            Examples of the minibatch: rows may be their time steps.

        Returns
        -------
        ndarray of shape (rows, *output_type.shape), same dtype
            A buffer, or a view of `x`. The number of rows changes where time steps
            become rows, or rows time steps.
        """

    @abstractmethod
    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient in the shape that the input had.

        Parameters
        ----------
        grad_out : ndarray of shape (rows, *output_type.shape)
            Gradient of the loss in the output. Not changed.

        Returns
        -------
        ndarray of shape (rows, *input_type.shape), same dtype
            A buffer, or a view of `grad_out`.
        """

    def feed_forward_mask(
        self, mask: FloatArray | None, *, batch_size: int
    ) -> FloatArray | None:
        """Return the mask that fits the new shape.

        Parameters
        ----------
        mask : ndarray of shape (rows, time), (rows, 1), or None
            That of the input.
        batch_size : int
            As for :meth:`forward`.

        Returns
        -------
        ndarray of shape (rows of the output, time) or (rows of the output, 1), or None
            By itself what came. None masks nothing.
        """
        return mask

    @property
    def who(self) -> str:
        """Class of the configuration and the layer behind it, for messages."""
        return f"{type(self.conf).__name__} {self.name!r}"

    def _check_input(self, x: FloatArray) -> None:
        expected = self.input_type.shape
        if isinstance(self.input_type, Recurrent):
            expected = (None, self.input_type.size)
        if not fits(expected, x):
            axes = ", ".join("any" if n is None else str(n) for n in expected)
            raise ShapeError(
                f"{self.who}: x must have shape (rows, {axes}), got {x.shape}."
            )

    def _contiguous(self, what: str, array: FloatArray) -> FloatArray:
        """Return a copy that lies as its axes say."""
        copy: FloatArray = self._buffer(what, array.shape, array.dtype)
        array_namespace(array).copyto(copy, array)
        return copy

    def _buffer(self, what: Any, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        return self._workspace.take((self.name, "preprocessor", what), shape, dtype)
