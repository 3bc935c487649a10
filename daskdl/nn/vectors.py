"""The flat vectors of a network, and where each parameter and its state lie in them."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.namespace import FloatArray, to_device, to_host
from daskdl.errors import ShapeError
from daskdl.nn.conf.topology import Node
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.memory_footprint import check_footprint
from daskdl.nn.param_roles import LayerSpan, plan_parameters
from daskdl.nn.update_plan import UpdatePlan


class Vectors:
    """Parameters, gradients and updater state of a network.

    They are one-dimensional and contiguous, written through and never replaced: layers
    hold views of them.

    Parameters
    ----------
    who : str
        What messages call the network.
    nodes : sequence of Node
    dtype : dtype
        Of all three.
    namespace : module
        NumPy or CuPy.

    Attributes
    ----------
    layout : ParamLayout
        Where each parameter lies.
    plan : UpdatePlan
        How gradients become updates, and where the updaters' state lies.
    params, gradients : ndarray of shape (n_params,)
    updater_state : ndarray of shape (n_state,)

    Raises
    ------
    OptionError
        If there is not the memory for them.
    """

    def __init__(
        self,
        who: str,
        nodes: Sequence[Node],
        dtype: np.dtype[Any],
        namespace: ModuleType,
    ) -> None:
        self._who = who
        self.layout = ParamLayout.of(
            {
                f"{node.key}_{item.name}": item.shape
                for node in nodes
                for item in node.parameters
            }
        )
        self.plan = UpdatePlan(self.layout, layer_spans(self.layout, nodes))
        sizes = (self.layout.size, self.layout.size, self.plan.state_size)
        check_footprint(who, nodes, sum(sizes), dtype.itemsize)
        vectors: list[FloatArray] = [namespace.zeros(n, dtype) for n in sizes]
        self.params, self.gradients, self.updater_state = vectors

    def write_params(self, values: Any) -> None:
        """Copy values of shape (n_params,) into the parameters."""
        self._copy("params", self.params, values)

    def write_updater_state(self, values: Any) -> None:
        """Copy values of shape (n_state,) into the updaters' state; None is afresh."""
        self.plan.initialize_state(self.updater_state)
        if values is not None:
            self._copy("updater_state", self.updater_state, values)

    def _copy(self, what: str, vector: FloatArray, values: Any) -> None:
        values = to_host(values)
        if values.size != vector.size:
            raise ShapeError(
                f"{self._who}: {what} must have {vector.size} elements, got "
                f"{values.size}."
            )
        vector[...] = to_device(values.reshape(-1), vector)


def layer_spans(layout: ParamLayout, nodes: Sequence[Node]) -> list[LayerSpan]:
    """Return the parameters of each layer or vertex with their roles."""
    found = []
    for node in nodes:
        trained = node.conf.trained
        if node.parameters and trained is not None:
            slots = [layout[f"{node.key}_{item.name}"] for item in node.parameters]
            order = () if isinstance(node.conf, VertexConf) else node.conf.table_order
            found.append(
                plan_parameters(trained, slots, node.parameters, table_order=order)
            )
    return found
