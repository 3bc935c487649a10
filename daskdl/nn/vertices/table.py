"""The kinds of vertices: each configuration and the vertex at work, a row a kind."""

from collections.abc import Sequence
from typing import Any

from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.attention import Attention, AttentionVertex
from daskdl.nn.vertices.duplicate_to_time_series import (
    DuplicateToTimeSeries,
    DuplicateToTimeSeriesVertex,
)
from daskdl.nn.vertices.element_wise import ElementWise, ElementWiseVertex
from daskdl.nn.vertices.frozen_vertex import Frozen, FrozenVertex
from daskdl.nn.vertices.l2 import L2, L2Vertex
from daskdl.nn.vertices.l2_normalize import L2Normalize, L2NormalizeVertex
from daskdl.nn.vertices.last_time_step import LastTimeStep, LastTimeStepVertex
from daskdl.nn.vertices.merge import Merge, MergeVertex
from daskdl.nn.vertices.pool_helper import PoolHelper, PoolHelperVertex
from daskdl.nn.vertices.preprocessor_vertex import (
    PreprocessorAtVertex,
    PreprocessorVertex,
)
from daskdl.nn.vertices.reshape import Reshape, ReshapeVertex
from daskdl.nn.vertices.reverse_time_series import (
    ReverseTimeSeries,
    ReverseTimeSeriesVertex,
)
from daskdl.nn.vertices.scale import Scale, ScaleVertex
from daskdl.nn.vertices.shift import Shift, ShiftVertex
from daskdl.nn.vertices.stack import Stack, StackVertex
from daskdl.nn.vertices.subset import Subset, SubsetVertex
from daskdl.nn.vertices.unstack import Unstack, UnstackVertex
from daskdl.nn.vertices.vertex import Vertex

VERTICES: dict[type[VertexConf], type[Vertex[Any]]] = {
    AttentionVertex: Attention,
    DuplicateToTimeSeriesVertex: DuplicateToTimeSeries,
    ElementWiseVertex: ElementWise,
    FrozenVertex: Frozen,
    L2NormalizeVertex: L2Normalize,
    L2Vertex: L2,
    LastTimeStepVertex: LastTimeStep,
    MergeVertex: Merge,
    PoolHelperVertex: PoolHelper,
    PreprocessorVertex: PreprocessorAtVertex,
    ReshapeVertex: Reshape,
    ReverseTimeSeriesVertex: ReverseTimeSeries,
    ScaleVertex: Scale,
    ShiftVertex: Shift,
    StackVertex: Stack,
    SubsetVertex: Subset,
    UnstackVertex: Unstack,
}


def build_vertex(
    vertex_conf: VertexConf,
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
    kind = VERTICES.get(type(vertex_conf))
    if kind is None:
        raise OptionError(
            f"build_vertex: the configuration of {name!r} must be of a known vertex, "
            f"got {type(vertex_conf).__name__}."
        )
    inside = [inside_type(input_type) for input_type in input_types]
    return kind(vertex_conf, inside, name, workspace)
