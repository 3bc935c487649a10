import pytest

from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from daskdl import (
    DuplicateToTimeSeriesVertex,
    ElementWiseVertex,
    L2NormalizeVertex,
    LastTimeStepVertex,
    MergeVertex,
    ScaleVertex,
    ShiftVertex,
    SubsetVertex,
)

ROWS = FeedForward(size=3)
MORE = FeedForward(size=4)
SERIES = Recurrent(size=3)
IMAGES = Convolutional(height=4, width=5, channels=3)
SMALLER = Convolutional(height=3, width=5, channels=3)


@pytest.mark.parametrize(
    ("vertex", "input_types", "output_type"),
    [
        (MergeVertex(), [ROWS, MORE], FeedForward(size=7)),
        (MergeVertex(), [SERIES, SERIES], Recurrent(size=6)),
        (MergeVertex(), [IMAGES, IMAGES], IMAGES.replaced(channels=6)),
        (ElementWiseVertex(op="add"), [ROWS, ROWS, ROWS], ROWS),
        (ElementWiseVertex(op="Subtract"), [SERIES, SERIES], SERIES),
        (SubsetVertex(from_=1, to=2), [ROWS], FeedForward(size=2)),
        (SubsetVertex(from_=0, to=0), [IMAGES], IMAGES.replaced(channels=1)),
        (ScaleVertex(scale_factor=2), [IMAGES], IMAGES),
        (ShiftVertex(shift_factor=2), [SERIES], SERIES),
        (L2NormalizeVertex(), [ROWS], ROWS),
        (LastTimeStepVertex(), [SERIES], ROWS),
        (DuplicateToTimeSeriesVertex(input_name="x"), [ROWS], SERIES),
    ],
)
def test_a_vertex_knows_what_comes_out(vertex, input_types, output_type):
    assert vertex.output_type(input_types) == output_type


@pytest.mark.parametrize(
    ("vertex", "input_types", "message"),
    [
        (MergeVertex(), [ROWS, SERIES], "inputs: must be alike except for features"),
        (MergeVertex(), [IMAGES, SMALLER], "inputs: must be alike except for features"),
        (ElementWiseVertex(op="add"), [ROWS, MORE], "inputs: must have one shape, got"),
        (ElementWiseVertex(op="subtract"), [ROWS], "inputs: must be two names for op"),
        (SubsetVertex(from_=1, to=3), [ROWS], "to: must be from 1 .* to 2, .*got 3"),
        (SubsetVertex(from_=2, to=1), [ROWS], "to: must be from 2 .* to 2, .*got 1"),
        (ScaleVertex(scale_factor=2), [ROWS, ROWS], "inputs: must be one name"),
        (LastTimeStepVertex(), [ROWS], "inputs: must be a time series, got rows of 3"),
        (
            DuplicateToTimeSeriesVertex(input_name="x"),
            [SERIES],
            "inputs: must be rows, got time series",
        ),
    ],
)
def test_a_vertex_refuses_what_it_cannot_take(vertex, input_types, message):
    with pytest.raises(OptionError, match=message):
        vertex.output_type(input_types)


def test_a_vertex_says_which_network_input_it_reads_besides():
    assert LastTimeStepVertex(mask_input="x").reads_network_input == "x"
    assert DuplicateToTimeSeriesVertex(input_name="y").reads_network_input == "y"
    assert MergeVertex().reads_network_input is None
