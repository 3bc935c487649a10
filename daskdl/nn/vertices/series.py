"""The vertices that take a step of series, repeat rows in time, and turn it around."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.masks import at_steps, check_step_mask, last_steps
from daskdl.nn.run import Arrays, Masks, VertexPass, VertexRun

_Indices: TypeAlias = NDArray[Any]


class LastTimeStepVertex(VertexConf):
    """Take the last time step, or the last one that the mask keeps.

    A series of which the mask keeps nothing gives 0.

    Parameters
    ----------
    mask_input : str, optional
        The network input whose mask counts; None takes the mask that arrives.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["last_time_step"] = "last_time_step"
    mask_input: str | None = None

    @property
    def reads_network_input(self) -> str | None:
        """The network input whose mask is needed."""
        return self.mask_input

    def output_type(self, input_types: Sequence[InputType]) -> FeedForward:
        """Return rows of the features."""
        return FeedForward(size=_only_series(self, input_types).size)

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Take the last steps, (batch, n), of series (batch, time, n)."""
        (x,) = inputs
        mask = run.masks[0] if self.mask_input is None else run.network_mask
        check_step_mask(mask, x, run.who)
        steps, is_empty = self._last_steps(mask)
        output = run.buffer("output", x[:, -1].shape, x.dtype)
        output[...] = x[at_steps(x, steps)]
        if is_empty is not None:
            output[is_empty] = 0

        def backward(grad_out: FloatArray) -> list[FloatArray]:
            grad_x = run.buffer("grad_x", x.shape, grad_out.dtype)
            grad_x.fill(0)
            grad_x[at_steps(grad_out, steps)] = grad_out
            if is_empty is not None:
                grad_x[is_empty] = 0
            return [grad_x]

        return output, backward

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> None:
        """Return None, of no mask (batch, time): there is no time left."""

    def _last_steps(
        self, mask: FloatArray | None
    ) -> tuple[_Indices | None, _Indices | None]:
        """Return the last step of each series, and which have none if they give 0."""
        if mask is None:
            return None, None
        xp, steps = array_namespace(mask), last_steps(mask)
        if "last_of_no_step_is_first" in self.quirks:
            return xp.where((mask > 0).any(axis=1), steps, 0), None
        return steps, xp.all(mask <= 0, axis=1)


class DuplicateToTimeSeriesVertex(VertexConf):
    """Repeat a row at every time step of a network input.

    Parameters
    ----------
    input_name : str
        The network input that gives the number of time steps.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["duplicate_to_time_series"] = "duplicate_to_time_series"
    input_name: str

    @property
    def reads_network_input(self) -> str | None:
        """The network input that gives the number of time steps."""
        return self.input_name

    def output_type(self, input_types: Sequence[InputType]) -> Recurrent:
        """Return time series of the features."""
        rows = self.only(input_types)
        if not isinstance(rows, FeedForward):
            raise PathError(f"must be rows, got {rows}.", "inputs")
        return Recurrent(size=rows.size)

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Repeat rows, (batch, n), as (batch, time, n)."""
        (x,) = inputs
        series = run.network_input
        if series is None or series.ndim != 3:
            came = None if series is None else series.shape
            raise ShapeError(
                f"{run.who}: network input {self.input_name!r} must have shape "
                f"(batch, time, features), got {came}."
            )
        output = run.buffer("output", (len(x), series.shape[1], x.shape[1]), x.dtype)
        output[...] = x[:, None, :]

        def backward(grad_out: FloatArray) -> list[FloatArray]:
            shape = (grad_out.shape[0], grad_out.shape[2])
            grad_x = run.buffer("grad_x", shape, grad_out.dtype)
            array_namespace(grad_out).sum(grad_out, axis=1, out=grad_x)
            return [grad_x]

        return output, backward

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> FloatArray | None:
        """Return the mask (batch, time) of the input that gave the time steps."""
        return run.network_mask


class ReverseTimeSeriesVertex(VertexConf):
    """Turn time series around, or of each the steps that a mask keeps.

    These are turned around in the places that they have, and the others come out as 0.
    The mask goes on as it is.

    Parameters
    ----------
    mask_input : str, optional
        The network input whose mask says which steps change places; None takes the
        mask that arrives.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["reverse_time_series"] = "reverse_time_series"
    mask_input: str | None = None

    @property
    def reads_network_input(self) -> str | None:
        """The network input whose mask is needed."""
        return self.mask_input

    def output_type(self, input_types: Sequence[InputType]) -> Recurrent:
        """Return the same time series."""
        return _only_series(self, input_types)

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Turn series around, (batch, time, n)."""
        (x,) = inputs
        mask = None if self.mask_input is None else run.network_mask
        if mask is None and "reversal_ignores_arriving_mask" not in self.quirks:
            mask = run.masks[0]
        origins: _Indices
        if mask is not None:
            check_step_mask(mask, x, run.who)
            origins = run.buffer("origins", mask.shape, int)
            origins[...] = _origins(mask)

        def turned(what: str, series: FloatArray) -> FloatArray:
            """Return series turned around, which is its own inverse."""
            output = run.buffer(what, series.shape, series.dtype)
            if mask is None:
                output[...] = series[:, ::-1]
                return output
            examples = array_namespace(series).arange(len(series))[:, None]
            output[...] = series[examples, origins]
            output *= (mask != 0)[:, :, None]
            return output

        return turned("output", x), lambda grad_out: [turned("grad_x", grad_out)]


def _only_series(conf: VertexConf, input_types: Sequence[InputType]) -> Recurrent:
    """Return the type of the one input, or refuse all but series."""
    series = conf.only(input_types)
    if not isinstance(series, Recurrent):
        raise PathError(f"must be a time series, got {series}.", "inputs")
    return series


def _origins(mask: FloatArray) -> _Indices:
    """Return for each kept step the one that takes its place in reverse order.

    Parameters
    ----------
    mask : ndarray of shape (batch, time)

    Returns
    -------
    ndarray of int, shape (batch, time)
        For the k-th step from the front that is kept, the k-th from the end that is.
    """
    xp = array_namespace(mask)
    dropped = mask == 0
    # Sorted by whether they are kept, steps are those kept, in their order, and the
    # rest; the place of a step among them is its inverse.
    order = xp.argsort(dropped, axis=1, kind="stable")
    place = xp.argsort(order, axis=1, kind="stable")
    n_kept = xp.sum(~dropped, axis=1, keepdims=True)
    mirrored = xp.where(dropped, place, n_kept - 1 - place)
    origins: _Indices = xp.take_along_axis(order, mirrored, axis=1)
    return origins
