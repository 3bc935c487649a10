"""What a graph may be: outputs that others read, merges, an order that is given."""

import pytest

from daskdl import (
    ComputationGraphConfiguration,
    Dense,
    FeedForward,
    MergeVertex,
    Output,
    ScaleVertex,
)
from daskdl.errors import OptionError
from daskdl.nn.conf.network import configuration_from_dict

TWO = {"a": FeedForward(size=4), "b": FeedForward(size=3)}


def graph(vertices, outputs="out", **options):
    return ComputationGraphConfiguration(
        inputs=TWO, vertices=vertices, outputs=outputs, **options
    )


def merged(**options):
    return graph({"out": Output(n_out=2, inputs=["a", "b"])}, **options)


def test_a_layer_that_reads_several_gets_a_vertex_that_merges_them():
    conf = merged()
    assert list(conf.vertices) == ["out", "out-merge"]
    assert conf.vertices["out-merge"] == MergeVertex(inputs=["a", "b"])
    assert conf.nodes()[1].conf.n_in == 7


def test_a_merge_that_was_put_in_stays():
    conf = merged()
    assert configuration_from_dict(conf.to_dict()) == conf


def test_the_name_of_a_merge_must_be_free():
    vertices = {
        "out": Output(n_out=2, inputs=["a", "b"]),
        "out-merge": ScaleVertex(scale_factor=2, inputs="a"),
    }
    with pytest.raises(OptionError, match=r"vertices\.out-merge: must be another"):
        graph(vertices)


def chain(**options):
    vertices = {
        "d": Dense(n_out=2, inputs="a"),
        "e": Dense(n_out=2, inputs="b"),
        "m": MergeVertex(inputs=["d", "e"]),
        "out": Output(n_out=2, inputs="m"),
    }
    return graph(vertices, **options)


def names(conf):
    return [node.name for node in conf.nodes()]


def test_an_order_that_is_given_wins():
    conf = chain(order=["b", "a", "e", "d", "m", "out"])
    assert names(chain()) == ["d", "e", "m", "out"]
    assert names(conf) == ["e", "d", "m", "out"]


def test_the_order_is_part_of_the_configuration():
    conf = chain(order=["b", "a", "e", "d", "m", "out"])
    assert configuration_from_dict(conf.to_dict()) == conf


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (["a", "d", "m", "out"], r"order: must name every .* once, got .* at 'b', 'e'"),
        (
            ["a", "b", "d", "e", "m", "x", "out"],
            r"order: must name every input and vertex once, got something else at 'x'",
        ),
        (
            ["a", "b", "d", "e", "m", "out", "out"],
            r"order: must name every input and vertex once, .* at 'out'",
        ),
        (
            ["a", "b", "m", "d", "e", "out"],
            r"order: must have 'm' behind all that it reads, got it in front of 'd'",
        ),
    ],
)
def test_an_order_that_cannot_be_is_refused(order, message):
    with pytest.raises(OptionError, match=message):
        chain(order=order)


def test_an_output_may_be_read_by_others():
    conf = graph(
        {
            "first": Output(n_out=2, inputs="a"),
            "second": Output(n_out=2, inputs=["first", "b"]),
        },
        outputs=["second", "first"],
    )
    assert names(conf) == ["first", "second-merge", "second"]


def test_an_output_layer_in_the_middle_needs_no_labels():
    conf = graph(
        {
            "first": Output(n_out=2, inputs="a"),
            "out": Output(n_out=2, inputs=["first", "b"]),
        }
    )
    assert conf.outputs == ("out",)
