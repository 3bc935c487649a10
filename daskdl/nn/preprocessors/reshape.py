"""The preprocessor that reads an array in another shape."""

import math
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import is_channels_first
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    InputType,
    Recurrent,
)
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.conf.values import Count, canonical
from daskdl.nn.preprocessors.preprocessor import Preprocessor

_Format = Literal["NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC"]


class Reshape(PreprocessorConf):
    """Read each example in another shape, row by row of the array at the border.

    Only in models that DL4J imported from Keras.

    Parameters
    ----------
    target_shape : tuple of one to four int
        Of an example in the data format: rows, series, images or volumes come out.
    data_format : str, optional
        Of what comes out. None is NWC for series, and for images and volumes
        channels last if rows or series came in, else channels first.
    """

    type: Literal["reshape"] = "reshape"
    target_shape: Annotated[tuple[Count, ...], Field(min_length=1, max_length=4)]
    data_format: Annotated[_Format, BeforeValidator(canonical(_Format))] | None = None

    def output_type(self, input_type: InputType) -> InputType:
        """Return what an example becomes; refuse another number of numbers."""
        came = input_type.border_shape
        known = [size for size in came if size is not None]
        is_known = len(known) == len(came)
        if is_known and math.prod(known) != math.prod(self.target_shape):
            raise PathError(
                f"must hold as many numbers as {came}, what it gets, got "
                f"{self.target_shape}.",
                *("preprocessor", "target_shape"),
            )
        return self._made(input_type)

    def _made(self, input_type: InputType) -> InputType:
        shape = self.target_shape
        if len(shape) == 1:
            return FeedForward(size=shape[0])
        data_format = self._format(input_type)
        channels, sizes = shape[-1], shape[:-1]
        if data_format.startswith("NC"):
            channels, sizes = shape[0], shape[1:]
        if len(shape) == 2:
            return Recurrent.model_validate(
                {"size": channels, "time_steps": sizes[0], "data_format": data_format}
            )
        names = ("depth", "height", "width")[3 - len(sizes) :]
        kind = Convolutional if len(shape) == 3 else Convolutional3D
        return kind.model_validate(
            {
                **dict(zip(names, sizes, strict=True)),
                "channels": channels,
                "data_format": data_format,
            }
        )

    def _format(self, input_type: InputType) -> str:
        n_axes = len(self.target_shape)
        formats = {2: ("NWC", "NCW"), 3: ("NHWC", "NCHW"), 4: ("NDHWC", "NCDHW")}
        if self.data_format is not None:
            if self.data_format not in formats[n_axes]:
                raise PathError(
                    f"must be one of {', '.join(formats[n_axes])} for "
                    f"{self.target_shape}, got {self.data_format}.",
                    *("preprocessor", "data_format"),
                )
            return self.data_format
        is_flat = isinstance(input_type, FeedForward | Recurrent)
        return formats[n_axes][0 if n_axes == 2 or is_flat else 1]


class ReshapePreprocessor(Preprocessor[Reshape]):
    """Examples in another shape. Masks do not go on: they do not fit any more."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the examples; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        border = self._contiguous("border", _turned(x, self.input_type, first=True))
        if math.prod(border.shape[1:]) != math.prod(self.conf.target_shape):
            raise ShapeError(
                f"{self.who}: x must hold {math.prod(self.conf.target_shape)} numbers "
                f"an example, got shape {x.shape}."
            )
        self._border_shape = border.shape
        reshaped = border.reshape(len(x), *self.conf.target_shape)
        return self._contiguous(
            "output", _turned(reshaped, self.output_type, first=False)
        )

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient in the old shape; see :meth:`Preprocessor.backward`."""
        turned = _turned(grad_out, self.output_type, first=True)
        border = self._contiguous("grad border", turned).reshape(self._border_shape)
        return self._contiguous("grad_x", _turned(border, self.input_type, first=False))

    def feed_forward_mask(self, mask: FloatArray | None, *, batch_size: int) -> None:
        """Return None; see :meth:`Preprocessor.feed_forward_mask`."""
        return


def _turned(array: FloatArray, kind: InputType, *, first: bool) -> FloatArray:
    """View an array of type `kind` with its channels first or last, if they are."""
    if not is_channels_first(kind):
        return array
    xp = array_namespace(array)
    turned: FloatArray = xp.moveaxis(array, *((-1, 1) if first else (1, -1)))
    return turned
