"""What the layers share that change the size of series, images or volumes."""

from abc import abstractmethod
from typing import ClassVar, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.resize import (
    Side,
    crop_backward,
    crop_forward,
    pad_backward,
    pad_forward,
    upsample_backward,
    upsample_forward,
)
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    InputType,
    Recurrent,
)
from daskdl.nn.conf.layer import DroppedLayerConf
from daskdl.nn.layers.entering import Sized, entering
from daskdl.nn.layers.layer import Layer


class ResizingConf(DroppedLayerConf):
    """A layer that changes the size of each axis by itself."""

    @property
    def n_axes(self) -> int:
        """1 for series, 2 for images, 3 for volumes."""
        raise TypeError(f"{type(self).__name__} does not say what it resizes.")

    def resized(self, axis: int, size: int) -> int:
        """Return how long an axis becomes."""
        raise TypeError(f"{type(self).__name__} does not say how it resizes.")

    def output_type(self, input_type: InputType) -> Sized:
        """Return series, images or volumes of another size, same channels."""
        entered = entering(self, input_type, self.n_axes)
        *sizes, channels = entered.shape
        changed = (
            None if size is None else self.resized(axis, size)
            for axis, size in enumerate(sizes)
        )
        return with_shape(entered, (*changed, channels))


R = TypeVar("R", bound=ResizingConf)


class ResizingLayer(Layer[R]):
    """A layer whose output has another size."""

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
        self._x_shape = x.shape
        return self._resize(x, self._buffer("output", self._resized(x), x.dtype))

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        grad_x = self._buffer("grad_x", self._x_shape, grad_out.dtype)
        return self._resize_back(grad_out, grad_x)

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the resized series; others stay as they are."""
        if mask is None or not isinstance(self.input_type, Recurrent):
            return mask
        cells = mask[:, :, None]
        out = self._buffer("mask", self._resized(cells), mask.dtype)
        return self._resize(cells, out, is_mask=True)[:, :, 0]

    @abstractmethod
    def _resize(
        self, x: FloatArray, out: FloatArray, *, is_mask: bool = False
    ) -> FloatArray:
        """Write the resized `x` to `out`."""

    @abstractmethod
    def _resize_back(self, grad_out: FloatArray, grad_x: FloatArray) -> FloatArray:
        """Write the gradient in the input to `grad_x`."""

    def _resized(self, x: FloatArray) -> tuple[int, ...]:
        sizes = enumerate(x.shape[1:-1])
        axes = tuple(self.conf.resized(axis, size) for axis, size in sizes)
        return (x.shape[0], *axes, x.shape[-1])


class UpsamplingConf(ResizingConf):
    """Repeats cells; see its kinds for the options."""

    size: tuple[int, ...]

    @property
    def n_axes(self) -> int:
        """1 for series, 2 for images, 3 for volumes."""
        return len(self.size)

    def resized(self, axis: int, size: int) -> int:
        """Return how long an axis becomes."""
        return size * self.size[axis]


U = TypeVar("U", bound=UpsamplingConf)


class UpsamplingLayer(ResizingLayer[U]):
    """Each cell several times. The mask of series, too, is repeated."""

    def _resize(
        self, x: FloatArray, out: FloatArray, *, is_mask: bool = False
    ) -> FloatArray:
        return upsample_forward(x, self.conf.size, out=out)

    def _resize_back(self, grad_out: FloatArray, grad_x: FloatArray) -> FloatArray:
        return upsample_backward(
            grad_out, self.conf.size, self._workspace, grad_x=grad_x
        )


class PaddingConf(ResizingConf):
    """Puts zeros around; see its kinds for the options."""

    takes_network_dropout: ClassVar[bool] = False

    padding: tuple[int, ...]

    @property
    def n_axes(self) -> int:
        """1 for series, 2 for images, 3 for volumes."""
        return len(self.padding) // 2

    @property
    def sides(self) -> tuple[Side, ...]:
        """Cells in front and behind, axis by axis."""
        return _sides(self.padding)

    def resized(self, axis: int, size: int) -> int:
        """Return how long an axis becomes."""
        return size + sum(self.sides[axis])


Z = TypeVar("Z", bound=PaddingConf)


class PaddingLayer(ResizingLayer[Z]):
    """The input with zeros around, which a mask of series keeps."""

    def _resize(
        self, x: FloatArray, out: FloatArray, *, is_mask: bool = False
    ) -> FloatArray:
        return pad_forward(x, self.conf.sides, out=out, value=1.0 if is_mask else 0.0)

    def _resize_back(self, grad_out: FloatArray, grad_x: FloatArray) -> FloatArray:
        return pad_backward(grad_out, self.conf.sides, grad_x=grad_x)


class CroppingConf(ResizingConf):
    """Cuts off cells at the borders; see its kinds for the options."""

    takes_network_dropout: ClassVar[bool] = False

    cropping: tuple[int, ...]

    @property
    def n_axes(self) -> int:
        """1 for series, 2 for images, 3 for volumes."""
        return len(self.cropping) // 2

    @property
    def sides(self) -> tuple[Side, ...]:
        """Cells in front and behind, axis by axis."""
        return _sides(self.cropping)

    def resized(self, axis: int, size: int) -> int:
        """Return how long an axis becomes; refuse to leave nothing of it."""
        left = size - sum(self.sides[axis])
        if left < 1:
            raise PathError(
                f"must leave something of {size} cells, got {self.sides[axis]} of "
                f"{self.cropping}.",
                "cropping",
            )
        return left


K = TypeVar("K", bound=CroppingConf)


class CroppingLayer(ResizingLayer[K]):
    """The input without its borders."""

    def _resize(
        self, x: FloatArray, out: FloatArray, *, is_mask: bool = False
    ) -> FloatArray:
        return crop_forward(x, self.conf.sides, out=out)

    def _resize_back(self, grad_out: FloatArray, grad_x: FloatArray) -> FloatArray:
        return crop_backward(grad_out, self.conf.sides, grad_x=grad_x)


def _sides(cells: tuple[int, ...]) -> tuple[Side, ...]:
    return tuple(zip(cells[::2], cells[1::2], strict=True))
