import pytest

from daskdl import (
    AttentionVertex,
    DuplicateToTimeSeriesVertex,
    ElementWiseVertex,
    FrozenVertex,
    L2NormalizeVertex,
    L2Vertex,
    LastTimeStepVertex,
    MergeVertex,
    PoolHelperVertex,
    ReshapeVertex,
    ScaleVertex,
    ShiftVertex,
    StackVertex,
    SubsetVertex,
    UnstackVertex,
)
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    Recurrent,
)

ROWS = FeedForward(size=3)
MORE = FeedForward(size=4)
SERIES = Recurrent(size=3)
IMAGES = Convolutional(height=4, width=5, channels=3)
LONG = Recurrent(size=3, time_steps=6)
LAST = IMAGES.replaced(data_format="NHWC")
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
        (
            MergeVertex(merge_axis=2),
            [Recurrent(size=3, time_steps=4), Recurrent(size=3, time_steps=5)],
            Recurrent(size=3, time_steps=9),
        ),
        (MergeVertex(merge_axis=2), [SERIES, Recurrent(size=3, time_steps=5)], SERIES),
        (
            MergeVertex(merge_axis=1),
            [LAST, LAST.replaced(height=1)],
            LAST.replaced(height=5),
        ),
        (MergeVertex(), [SERIES, LONG], LONG.replaced(size=6)),
        (MergeVertex(), [FeedForward(size=None), ROWS], FeedForward(size=None)),
        (ElementWiseVertex(op="add"), [FeedForward(size=1), ROWS], ROWS),
        (ElementWiseVertex(op="add"), [SERIES, LONG], LONG),
        (
            ElementWiseVertex(op="product"),
            [IMAGES.replaced(height=1, width=1), IMAGES],
            IMAGES,
        ),
        (L2Vertex(), [IMAGES, IMAGES], FeedForward(size=1)),
        (StackVertex(), [ROWS, ROWS], ROWS),
        (
            StackVertex(),
            [LONG, LONG.replaced(time_steps=7)],
            LONG.replaced(time_steps=7),
        ),
        (StackVertex(), [LONG, SERIES], SERIES),
        (UnstackVertex(from_=0, stack_size=2), [IMAGES], IMAGES),
        (PoolHelperVertex(), [IMAGES], IMAGES.replaced(height=3, width=4)),
        (
            PoolHelperVertex(),
            [Convolutional(channels=2)],
            Convolutional(channels=2),
        ),
        (ReshapeVertex(new_shape=[-1, 6]), [ROWS], FeedForward(size=6)),
        (ReshapeVertex(new_shape=[2, -1]), [IMAGES], FeedForward(size=60)),
        (
            ReshapeVertex(new_shape=[-1, 3, 4]),
            [IMAGES],
            Recurrent(size=3, time_steps=4),
        ),
        (
            ReshapeVertex(new_shape=[-1, 4, 3]),
            [LAST],
            Recurrent(size=3, time_steps=4, data_format="NWC"),
        ),
        (
            ReshapeVertex(new_shape=[2, 3, -1]),
            [SERIES],
            SERIES,
        ),
        (
            ReshapeVertex(new_shape=[-1, 2, 3, 4, 5]),
            [ROWS],
            Convolutional3D(channels=2, depth=3, height=4, width=5),
        ),
        (FrozenVertex(vertex=SubsetVertex(from_=1, to=1)), [ROWS], FeedForward(size=1)),
        (
            AttentionVertex(n_out=5, project_input=True),
            [LONG, SERIES, Recurrent(size=2)],
            LONG.replaced(size=5),
        ),
    ],
)
def test_a_vertex_knows_what_comes_out(vertex, input_types, output_type):
    assert vertex.output_type(input_types) == output_type


@pytest.mark.parametrize(
    ("vertex", "input_types", "message"),
    [
        (
            MergeVertex(),
            [ROWS, SERIES],
            "inputs: must be of one kind, got rows of 3 and",
        ),
        (
            MergeVertex(merge_axis=2),
            [SERIES, Recurrent(size=4)],
            "inputs: must be alike except for axis 2, got time series of 3",
        ),
        (
            MergeVertex(merge_axis=0),
            [SERIES],
            "merge_axis: must be from 1 to 2, the la",
        ),
        (
            MergeVertex(merge_axis=4),
            [IMAGES],
            "merge_axis: must be from 1 to 3, .*got 4",
        ),
        (MergeVertex(), [IMAGES, SMALLER], "inputs: must be alike except for features"),
        (
            ElementWiseVertex(op="add"),
            [ROWS, MORE],
            "inputs: must have one shape, or 1",
        ),
        (
            ElementWiseVertex(op="max"),
            [ROWS, SERIES],
            "inputs: must be of one kind, got",
        ),
        (ElementWiseVertex(op="subtract"), [ROWS], "inputs: must be two names for op"),
        (SubsetVertex(from_=1, to=3), [ROWS], "to: must be from 1 .* to 2, .*got 3"),
        (SubsetVertex(from_=2, to=1), [ROWS], "to: must be from 2 .* to 2, .*got 1"),
        (ScaleVertex(scale_factor=2), [ROWS, ROWS], "inputs: must be one name"),
        (L2Vertex(), [ROWS], "inputs: must be two names, got"),
        (
            L2Vertex(),
            [ROWS, MORE],
            "inputs: must have one shape, got rows of 3 and rows",
        ),
        (
            L2NormalizeVertex(dimensions=0),
            [ROWS],
            "dimensions: must be from 1 to 1, the",
        ),
        (
            StackVertex(),
            [ROWS, MORE],
            "inputs: must have one shape, got rows of 3 and ro",
        ),
        (
            StackVertex(),
            [ROWS, SERIES],
            "inputs: must be of one kind, got rows of 3 and",
        ),
        (PoolHelperVertex(), [ROWS], "inputs: must be images, got rows of 3"),
        (
            PoolHelperVertex(),
            [IMAGES.replaced(width=1)],
            "inputs: must have 2 rows and columns, got images of 4 x 1",
        ),
        (
            ReshapeVertex(new_shape=[5, -1, 2]),
            [IMAGES.replaced(height=None)],
            "new_shape: must say how many features or channels there are, which images",
        ),
        (
            FrozenVertex(vertex=ScaleVertex(scale_factor=2, inputs="x")),
            [ROWS],
            "vertex.inputs: must be left out: those of the frozen vertex count, got",
        ),
        (
            FrozenVertex(vertex=LastTimeStepVertex()),
            [ROWS],
            "vertex.inputs: must be a time series, got rows of 3",
        ),
        (
            AttentionVertex(n_out=3),
            [SERIES, SERIES],
            "inputs: must be three time series: queries, keys and values, got time ser",
        ),
        (
            AttentionVertex(n_out=3),
            [SERIES, ROWS, SERIES],
            "inputs: must be three time series: .*got time series .*, rows of 3, time",
        ),
        (
            AttentionVertex(n_out=3, n_in_keys=4),
            [SERIES, SERIES, SERIES],
            "n_in_keys: must be 3, what comes in, got 4",
        ),
        (
            AttentionVertex(n_out=2),
            [SERIES, SERIES, SERIES],
            "n_out: must be 3, what comes in, got 2",
        ),
        (
            AttentionVertex(n_out=3),
            [SERIES, Recurrent(size=3, time_steps=4), Recurrent(size=3, time_steps=5)],
            "inputs: must be keys and values of one number of steps, got 4 and 5",
        ),
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


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            UnstackVertex,
            {"from_": 2, "stack_size": 2},
            "from: must be less than stack_si",
        ),
        (ReshapeVertex, {"new_shape": [3]}, "new_shape: must have 2 to 5 axes, got"),
        (
            ReshapeVertex,
            {"new_shape": [-1, -1]},
            "new_shape: must have sizes from 1 on",
        ),
        (ReshapeVertex, {"new_shape": [-1, 0]}, "new_shape: must have sizes from 1 on"),
        (
            ReshapeVertex,
            {"new_shape": [-1, 2], "mask_shape": [0, 1]},
            "mask_shape: must have sizes from 1 on, and -1 at most once, got",
        ),
        (
            AttentionVertex,
            {"n_out": 4, "n_heads": 2},
            "n_heads: must be 1 without projec",
        ),
        (
            AttentionVertex,
            {"n_out": 4, "n_heads": 3, "project_input": True},
            "head_size: must be given where n_heads, 3, does not divide n_out, 4",
        ),
    ],
)
def test_a_vertex_refuses_options_that_cannot_be(kind, options, message):
    with pytest.raises(OptionError, match=message):
        kind(**options)


def test_attention_takes_from_the_network_what_it_leaves_open():
    vertex = AttentionVertex(n_out=3, project_input=True, l2=0.5)
    filled = vertex.filled(
        {"updater": "given", "l2": 9, "weight_init": "zero"}, [SERIES] * 3, "att"
    )
    found = (filled.updater, filled.l2, filled.weight_init, filled.n_in_keys)
    assert found == ("given", 0.5, "zero", 3)


def test_attention_says_how_its_parameters_change():
    trained = AttentionVertex(n_out=3, updater="adam", weight_decay=0.1).trained
    assert (trained.updater.type, trained.weight_decay) == ("adam", 0.1)


def test_the_parameters_of_attention_are_those_of_dl4j():
    vertex = AttentionVertex(n_out=5, n_heads=2, head_size=4, project_input=True)
    shapes = {p.name: p.shape_in_file for p in vertex.parameters([SERIES] * 3)}
    assert shapes == {
        "Wq": (2, 4, 3),
        "Wk": (2, 4, 3),
        "Wv": (2, 4, 3),
        "Wo": (8, 5),
    }


def test_what_a_frozen_vertex_holds_never_changes():
    held = AttentionVertex(n_out=3, project_input=True)
    parameters = FrozenVertex(vertex=held).parameters([SERIES] * 3)
    assert {item.role for item in parameters} == {"frozen"}


def test_a_frozen_vertex_speaks_for_what_it_holds():
    frozen = FrozenVertex(vertex=LastTimeStepVertex(mask_input="x"))
    assert frozen.reads_network_input == "x"
    assert frozen.trained is None
    assert not frozen.draws_random_numbers


def test_attention_takes_sizes_that_nothing_else_tells():
    vertex = AttentionVertex(n_out=5, n_in_keys=4, project_input=True)
    unknown = [SERIES, Recurrent(size=None), SERIES]
    shapes = {item.name: item.shape for item in vertex.parameters(unknown)}
    assert shapes["Wk"] == (1, 5, 4)
