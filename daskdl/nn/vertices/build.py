"""From a vertex's configuration to the vertex at work."""

from collections.abc import Sequence
from typing import Any

from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.conf import vertices as conf
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.vertices.duplicate_to_time_series import DuplicateToTimeSeries
from daskdl.nn.vertices.element_wise import ElementWise
from daskdl.nn.vertices.l2_normalize import L2Normalize
from daskdl.nn.vertices.last_time_step import LastTimeStep
from daskdl.nn.vertices.merge import Merge
from daskdl.nn.vertices.scale import Scale
from daskdl.nn.vertices.shift import Shift
from daskdl.nn.vertices.subset import Subset
from daskdl.nn.vertices.vertex import Vertex

VERTEX_OF_CONF: dict[type[conf.VertexConf], type[Vertex[Any]]] = {
    conf.DuplicateToTimeSeriesVertex: DuplicateToTimeSeries,
    conf.ElementWiseVertex: ElementWise,
    conf.L2NormalizeVertex: L2Normalize,
    conf.LastTimeStepVertex: LastTimeStep,
    conf.MergeVertex: Merge,
    conf.ScaleVertex: Scale,
    conf.ShiftVertex: Shift,
    conf.SubsetVertex: Subset,
}


def build_vertex(
    vertex_conf: conf.VertexConf,
    input_types: Sequence[InputType],
    name: str,
    workspace: Workspace,
) -> Vertex[Any]:
    """Return the vertex that does what a configuration says.

    Parameters
    ----------
    vertex_conf : VertexConf
        The configuration.
    input_types : sequence of InputType
        What it gets, in the order of its inputs.
    name : str
        The key in the graph: the vertex's buffers are keyed by it.
    workspace : Workspace
        Lends the vertex all its arrays.

    Raises
    ------
    OptionError
        If the inputs do not fit or the kind is unknown.
    """
    kind = VERTEX_OF_CONF.get(type(vertex_conf))
    if kind is None:
        raise OptionError(
            f"build_vertex: the configuration of {name!r} must be of a known vertex, "
            f"got {type(vertex_conf).__name__}."
        )
    inside = [inside_type(input_type) for input_type in input_types]
    return kind(vertex_conf, inside, name, workspace)
