"""The vertex that turns time series around."""

from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.masks import check_step_mask
from daskdl.nn.vertices.vertex import Vertex


class ReverseTimeSeriesVertex(VertexConf):
    """Turn time series around, or of each the steps that a mask keeps.

    Parameters
    ----------
    mask_input : str, optional
        The network input whose mask says which steps change places; None takes the
        mask that arrives.
    """

    type: Literal["reverse_time_series"] = "reverse_time_series"
    mask_input: str | None = None

    @property
    def reads_network_input(self) -> str | None:
        """The network input whose mask is needed."""
        return self.mask_input

    def output_type(self, input_types: Sequence[InputType]) -> Recurrent:
        """Return the same time series."""
        series = self.only(input_types)
        if not isinstance(series, Recurrent):
            raise PathError(f"must be a time series, got {series}.", "inputs")
        return series


class ReverseTimeSeries(Vertex[ReverseTimeSeriesVertex]):
    """Each series backwards.

    With a mask, the steps that it keeps are turned around in the places that they have,
    and the others come out as 0. The mask goes on as it is.
    """

    def __init__(
        self,
        conf: ReverseTimeSeriesVertex,
        input_types: Sequence[InputType],
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_types, name, workspace)
        self._turns_whole = "reversal_ignores_arriving_mask" in conf.quirks

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Turn series around, (batch, time, n); see :meth:`Vertex.forward`."""
        (x,) = inputs
        self._mask = network_mask if self.conf.mask_input is not None else None
        if self._mask is None and not self._turns_whole:
            self._mask = masks[0]
        if self._mask is not None:
            check_step_mask(self._mask, x, self.who)
            self._origins = self._buffer("origins", self._mask.shape, int)
            self._origins[...] = _origins(self._mask)
        return self._turned("output", x)

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Turn the gradient around; see :meth:`Vertex.backward`."""
        return [self._turned("grad_x", grad_out)]

    def _turned(self, what: str, series: FloatArray) -> FloatArray:
        """Return the series turned around, which is its own inverse."""
        output: FloatArray = self._buffer(what, series.shape, series.dtype)
        if self._mask is None:
            output[...] = series[:, ::-1]
            return output
        xp = array_namespace(series)
        examples = xp.arange(len(series))[:, None]
        output[...] = series[examples, self._origins]
        output *= (self._mask != 0)[:, :, None]
        return output


def _origins(mask: FloatArray) -> NDArray[Any]:
    """Return from where each step comes that a mask keeps.

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
    origins: NDArray[Any] = xp.take_along_axis(order, mirrored, axis=1)
    return origins
