"""The preprocessor that exchanges the axes of series or images."""

from typing import Annotated, Literal

from pydantic import Field

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, InputType, Recurrent, describe
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.preprocessors.preprocessor import Preprocessor

# The type that comes out holds for an exchange of the two axes that are no channels,
# and of the two of series.
_SERIES, _IMAGES = (2, 1), {"NCHW": (1, 3, 2), "NHWC": (2, 1, 3)}


class Permute(PreprocessorConf):
    """Exchange features and time of series, or height and width of images.

    Only in models that DL4J imported from Keras.

    Parameters
    ----------
    permutation_indices : tuple of int
        Axes of the array at the border, counted from 1, or from 0 with the examples in
        front: (2, 1) of NCW series, (1, 3, 2) of NCHW images, (2, 1, 3) of NHWC images.
    """

    type: Literal["permute"] = "permute"
    permutation_indices: Annotated[tuple[int, ...], Field(min_length=2, max_length=4)]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of an example, counted from 1."""
        axes = self.permutation_indices
        return axes[1:] if axes[0] == 0 else axes

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out; refuse other exchanges."""
        if isinstance(input_type, Recurrent) and input_type.data_format == "NCW":
            self._check(_SERIES)
            if input_type.time_steps is None:
                raise PathError(
                    "must get time series of a known length, which becomes the number "
                    "of features, got any.",
                    "preprocessor",
                )
            return Recurrent(size=input_type.time_steps, time_steps=input_type.size)
        if isinstance(input_type, Convolutional):
            self._check(_IMAGES[input_type.data_format])
            return input_type.replaced(height=input_type.width, width=input_type.height)
        raise PathError(
            f"must get NCW series or images, got {describe(input_type)}.",
            "preprocessor",
        )

    def _check(self, possible: tuple[int, ...]) -> None:
        if self.axes != possible:
            raise PathError(
                f"must be {possible} for what it gets, got {self.permutation_indices}.",
                *("preprocessor", "permutation_indices"),
            )


class PermutePreprocessor(Preprocessor[Permute]):
    """Two axes exchanged. Masks do not go on: they do not fit any more."""

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return the exchanged array; see :meth:`Preprocessor.forward`."""
        self._check_input(x)
        return self._exchanged("output", x)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient exchanged back; see :meth:`Preprocessor.backward`."""
        return self._exchanged("grad_x", grad_out)

    def feed_forward_mask(self, mask: FloatArray | None, *, batch_size: int) -> None:
        """Return None; see :meth:`Preprocessor.feed_forward_mask`."""
        return

    def _exchanged(self, what: str, array: FloatArray) -> FloatArray:
        # Inside, the exchange is always one of the first two axes of an example.
        return self._contiguous(what, array.swapaxes(1, 2))
