"""The kinds of vertices that the package brings."""

from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.attention import AttentionVertex
from daskdl.nn.vertices.element_wise import ElementWiseVertex
from daskdl.nn.vertices.frozen_vertex import FrozenVertex
from daskdl.nn.vertices.l2 import L2NormalizeVertex, L2Vertex
from daskdl.nn.vertices.merge import MergeVertex
from daskdl.nn.vertices.preprocessor_vertex import PreprocessorVertex
from daskdl.nn.vertices.reshape import ReshapeVertex
from daskdl.nn.vertices.scale import ScaleVertex, ShiftVertex
from daskdl.nn.vertices.series import (
    DuplicateToTimeSeriesVertex,
    LastTimeStepVertex,
    ReverseTimeSeriesVertex,
)
from daskdl.nn.vertices.stack import (
    PoolHelperVertex,
    StackVertex,
    SubsetVertex,
    UnstackVertex,
)

VERTICES: tuple[type[VertexConf], ...] = (
    AttentionVertex,
    DuplicateToTimeSeriesVertex,
    ElementWiseVertex,
    FrozenVertex,
    L2NormalizeVertex,
    L2Vertex,
    LastTimeStepVertex,
    MergeVertex,
    PoolHelperVertex,
    PreprocessorVertex,
    ReshapeVertex,
    ReverseTimeSeriesVertex,
    ScaleVertex,
    ShiftVertex,
    StackVertex,
    SubsetVertex,
    UnstackVertex,
)
