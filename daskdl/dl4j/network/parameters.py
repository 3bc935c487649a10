"""Flat vectors of DL4J in the layout of a network here, and back.

Both hold the same numbers; DL4J may keep the parameters of a layer in another order,
and arrays with other axes, column by column or row by row. What each looks like is said
by the layers themselves, see :class:`~daskdl.nn.conf.parameters.Parameter`.
"""

from collections.abc import Iterator
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.flat import Slot
from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.errors import FormatError
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.topology import Node
from daskdl.nn.step import StepNetwork

N = TypeVar("N", bound=np.generic)


def from_dl4j(
    network: StepNetwork[Any], vector: FloatArray, *, who: str = "coefficients.bin"
) -> FloatArray:
    """Return a vector over all parameters that has DL4J's layout in that of `network`.

    Parameters
    ----------
    network : Network
        Gives both layouts.
    vector : ndarray of shape (n_params,)
        DL4J's parameters, gradients, or one part of an updater's state.
    who : str
        Named in the error.

    Returns
    -------
    ndarray of shape (n_params,), dtype of `vector`

    Raises
    ------
    FormatError
        If there are more or fewer numbers than the network has parameters.
    """
    if vector.shape != (network.n_params,):
        raise FormatError(
            f"{who}: must hold {network.n_params} numbers, the parameters of its "
            f"configuration, got {vector.size}."
        )
    ours = np.empty_like(vector)
    stop = 0
    for slot, parameter in parameters_of(network):
        start, stop = stop, stop + slot.size
        view = ours[slot.offset : slot.stop].reshape(parameter.shape)
        view[...] = from_file(parameter, vector[start:stop])
    return ours


def to_dl4j(network: StepNetwork[Any], vector: NDArray[N]) -> NDArray[N]:
    """Return a vector, (n_params,), laid out as in `network`, in DL4J's layout."""
    host: NDArray[Any] = to_host(vector)
    pieces = [
        to_file(parameter, host[slot.offset : slot.stop])
        for slot, parameter in parameters_of(network)
    ]
    return np.concatenate(pieces) if pieces else host.copy()


def parameters_of(network: StepNetwork[Any]) -> Iterator[tuple[Slot, Parameter]]:
    """Yield the slot of each parameter here, and the parameter, in DL4J's order."""
    for node in network.nodes:
        by_name = {item.name: item for item in node.parameters}
        for name in dl4j_order(node):
            yield network.layout[f"{node.key}_{name}"], by_name[name]


def dl4j_order(node: Node) -> tuple[str, ...]:
    """Return the names of a node's parameters in the order of DL4J's vector."""
    if isinstance(node.conf, LayerConf):
        return node.conf.file_order(node.entering_type)
    return tuple(item.name for item in node.parameters)


def from_file(parameter: Parameter, values: FloatArray) -> FloatArray:
    """Return a parameter, (size,) in DL4J's file, as the array that the layer uses."""
    array: FloatArray = values.reshape(_permuted(parameter), order=_order(parameter))
    if parameter.axes is None:
        return array
    ours: FloatArray = array.transpose(np.argsort(parameter.axes))
    return ours


def to_file(parameter: Parameter, values: NDArray[N]) -> NDArray[N]:
    """Return an array of a layer as the numbers of DL4J's file: shape (size,)."""
    array = values.reshape(parameter.shape)
    if parameter.axes is not None:
        array = array.transpose(parameter.axes)
    return array.reshape(-1, order=_order(parameter))


def _order(parameter: Parameter) -> Literal["C", "F"]:
    return "C" if parameter.order == "c" else "F"


def _permuted(parameter: Parameter) -> tuple[int, ...]:
    """Return DL4J's shape without the ones that it adds."""
    axes = range(len(parameter.shape)) if parameter.axes is None else parameter.axes
    return tuple(parameter.shape[axis] for axis in axes)
