"""The preprocessors of models that DL4J imported from Keras."""

import math
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import known
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    InputType,
    Recurrent,
    describe,
)
from daskdl.nn.conf.preprocessor import PreprocessorConf
from daskdl.nn.conf.values import AnySpelling, Count
from daskdl.nn.preprocessors.flattening import check_kind, flattened, unflattened
from daskdl.nn.run import Reshaped, Run

# The type that comes out of a Permute holds for an exchange of the two axes that are no
# channels, and of the two of series.
_SERIES, _IMAGES = (2, 1), {"NCHW": (1, 3, 2), "NHWC": (2, 1, 3)}

_Format = Literal["NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC"]
# What a Reshape makes of so many sizes: these in the order in which they lie inside,
# and the data formats with channels last and first.
_MADE: dict[int, tuple[type[Recurrent | Convolutional | Convolutional3D], str, str]] = {
    2: (Recurrent, "time_steps size", "NWC NCW"),
    3: (Convolutional, "height width channels", "NHWC NCHW"),
    4: (Convolutional3D, "depth height width channels", "NDHWC NCDHW"),
}


class KerasFlattenRnn(PreprocessorConf):
    """Make one row of each time series, which must all have one length.

    The order is that of the data format: NCW feature by feature, NWC step by step.

    Parameters
    ----------
    depth : int
        Features of a step.
    ts_length : int
        Time steps.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["keras_flatten_rnn"] = "keras_flatten_rnn"
    depth: Count
    ts_length: Count

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return the rows; refuse series of other sizes."""
        series: Recurrent = check_kind(input_type, Recurrent, "time series")
        if series.size != self.depth:
            raise PathError(
                f"must be {series.size}, the features of a step, got {self.depth}.",
                *("preprocessor", "depth"),
            )
        if series.time_steps not in (None, self.ts_length):
            raise PathError(
                f"must be {series.time_steps}, the steps of the series, got "
                f"{self.ts_length}.",
                *("preprocessor", "ts_length"),
            )
        return FeedForward(size=self.depth * self.ts_length)

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return rows (batch, n) of `x`, of shape (batch, ts_length, depth)."""
        if x.shape[1] != self.ts_length:
            raise ShapeError(
                f"{run.who}: x must have {self.ts_length} time steps, got {x.shape[1]}."
            )
        is_first = run.input_type.is_channels_first
        return flattened(run, x, channels_first=is_first)

    def feed_forward_mask(self, run: Run, mask: FloatArray) -> None:
        """Return None: no time is left that a mask (batch, time) could mask."""
        return


class Permute(PreprocessorConf):
    """Exchange features and time of series, or height and width of images.

    Only in models that DL4J imported from Keras.

    Parameters
    ----------
    permutation_indices : tuple of int
        Axes in the data format, counted from 1, or from 0 with the examples in
        front: (2, 1) of NCW series, (1, 3, 2) of NCHW images, (2, 1, 3) of NHWC images.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["permute"] = "permute"
    permutation_indices: Annotated[tuple[int, ...], Field(min_length=2, max_length=4)]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of an example, counted from 1."""
        axes = self.permutation_indices
        return axes[1:] if axes[0] == 0 else axes

    def output_type(self, input_type: InputType) -> InputType:
        """Return the type with permuted axes; refuse other permutations."""
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

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Exchange axes of `x`, of shape (batch, time, n) or (batch, height, width, n).

        Inside, the exchange is always one of the first two axes of an example.
        """

        def exchanged(what: str, array: FloatArray) -> FloatArray:
            turned = array.swapaxes(1, 2)
            output = run.buffer(what, turned.shape, turned.dtype)
            array_namespace(array).copyto(output, turned)
            return output

        return exchanged("output", x), partial(exchanged, "grad_x")

    def feed_forward_mask(self, run: Run, mask: FloatArray) -> None:
        """Return None for every mask, (batch, time) or (batch, 1): none fits."""
        return


class Reshape(PreprocessorConf):
    """Read each example in another shape, row by row in the data format.

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
    data_format: Annotated[_Format, AnySpelling()] | None = None

    def output_type(self, input_type: InputType) -> InputType:
        """Return the type of the target shape; refuse another number of values."""
        came = input_type.border_shape
        is_known = None not in came
        if is_known and math.prod(known(came)) != math.prod(self.target_shape):
            raise PathError(
                f"must hold as many numbers as {came}, what it gets, got "
                f"{self.target_shape}.",
                *("preprocessor", "target_shape"),
            )
        return self._made(input_type)

    def _made(self, input_type: InputType) -> InputType:
        sizes = self.target_shape
        if len(sizes) == 1:
            return FeedForward(size=sizes[0])
        kind, names, formats = _MADE[len(sizes)]
        last, first = formats.split()
        is_flat = isinstance(input_type, FeedForward | Recurrent)
        by_itself = last if kind is Recurrent or is_flat else first
        data_format = self.data_format or by_itself
        if data_format not in (last, first):
            raise PathError(
                f"must be one of {last}, {first} for {sizes}, got {data_format}.",
                *("preprocessor", "data_format"),
            )
        if data_format == first:
            sizes = (*sizes[1:], sizes[0])
        named = dict(zip(names.split(), sizes, strict=True))
        return kind.model_validate({**named, "data_format": data_format})

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return `x`, of shape (batch, ...), with examples of the target shape."""
        n = math.prod(self.target_shape)
        if math.prod(x.shape[1:]) != n:
            raise ShapeError(
                f"{run.who}: x must hold {n} numbers an example, got shape {x.shape}."
            )
        made = self.output_type(run.input_type)
        was_first = run.input_type.is_channels_first
        is_first = made.is_channels_first
        rows, to_x = flattened(run, x, channels_first=was_first, to="border")
        output, to_rows = unflattened(
            run, rows, known(made.shape), channels_first=is_first, back="grad border"
        )
        return output, lambda grad_out: to_x(to_rows(grad_out))

    def feed_forward_mask(self, run: Run, mask: FloatArray) -> None:
        """Return None for every mask, (batch, time) or (batch, 1): none fits."""
        return
