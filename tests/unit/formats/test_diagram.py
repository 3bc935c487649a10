"""Pictures of networks: nothing overlaps, nothing is left out."""

import itertools
import xml.etree.ElementTree as ET

import pytest

from daskdl.formats.diagram.drawing import network_svg
from daskdl.formats.diagram.placement import BOX_HEIGHT, BOX_WIDTH, place
from daskdl.formats.diagram.rows import Bend, rows_of
from tests.unit.formats import onnx_cases as cases
from tests.unit.formats import onnx_graphs as graphs

SVG = "{http://www.w3.org/2000/svg}"
CHAIN = {str(i): (str(i - 1),) if i else () for i in range(100)}
DIAMOND = {"in": (), "a": ("in",), "b": ("in",), "c": ("b",), "end": ("a", "c")}


def blocks(n):
    """Return a chain of blocks with an edge around each: three vertices a block."""
    reads, end = {"in": ()}, "in"
    for i in range(n):
        reads[f"{i}a"], reads[f"{i}b"] = (end,), (f"{i}a",)
        reads[f"{i}"] = (f"{i}b", end)
        end = f"{i}"
    return reads


GRAPHS = {"chain": CHAIN, "diamond": DIAMOND, "blocks": blocks(30), "one": {"in": ()}}


@pytest.mark.parametrize("reads", GRAPHS.values(), ids=GRAPHS)
def test_boxes_do_not_overlap(reads):
    boxes = place(reads).boxes
    assert boxes.keys() == reads.keys()
    for (x0, y0), (x1, y1) in itertools.combinations(boxes.values(), 2):
        assert abs(x0 - x1) >= BOX_WIDTH or abs(y0 - y1) >= BOX_HEIGHT


@pytest.mark.parametrize("reads", GRAPHS.values(), ids=GRAPHS)
def test_boxes_lie_in_the_picture(reads):
    placed = place(reads)
    assert all(0 <= x <= placed.width - BOX_WIDTH for x, _ in placed.boxes.values())
    assert all(0 <= y <= placed.height - BOX_HEIGHT for _, y in placed.boxes.values())


@pytest.mark.parametrize("reads", GRAPHS.values(), ids=GRAPHS)
def test_every_edge_is_drawn_once(reads):
    drawn = [(edge.source, edge.target) for edge in place(reads).edges]
    expected = [(source, name) for name, sources in reads.items() for source in sources]
    assert drawn == expected


@pytest.mark.parametrize("reads", GRAPHS.values(), ids=GRAPHS)
def test_edges_begin_and_end_at_their_boxes(reads):
    placed = place(reads)
    for edge in placed.edges:
        (x0, y0), (x1, y1) = placed.boxes[edge.source], placed.boxes[edge.target]
        assert edge.points[0] == (x0 + BOX_WIDTH / 2, y0 + BOX_HEIGHT)
        assert edge.points[-1] == (x1 + BOX_WIDTH / 2, y1)


def test_edges_go_around_the_boxes_of_rows_that_they_pass():
    placed = place(DIAMOND)
    (around,) = [e for e in placed.edges if (e.source, e.target) == ("a", "end")]
    (x, y) = around.points[1]
    assert not any(
        left <= x <= left + BOX_WIDTH and top <= y <= top + BOX_HEIGHT
        for left, top in placed.boxes.values()
    )


def test_a_vertex_stands_below_what_it_reads():
    boxes = place(DIAMOND).boxes
    assert all(boxes[s][1] < boxes[name][1] for name in DIAMOND for s in DIAMOND[name])


def test_rows_are_put_in_an_order_without_needless_crossings():
    found = rows_of({"a": (), "b": (), "x": ("b",), "y": ("a",)})
    first, second = found.rows
    assert [found.above[item][0] for item in second] == first


def test_an_edge_bends_in_each_row_that_it_passes():
    chain = rows_of(DIAMOND).chain("a", "end")
    assert chain == ["a", Bend("a", "end", 2), "end"]


def test_long_networks_are_broken_into_columns_between_blocks():
    placed = place(blocks(30))
    links = [edge for edge in placed.edges if edge.gutter is not None]
    assert len({x for x, _ in placed.boxes.values()}) > 3
    assert links
    assert all(edge.gutter > edge.points[0][0] for edge in links)
    assert 0.5 < placed.width / placed.height < 3


def test_short_networks_are_one_column():
    placed = place({str(i): (str(i - 1),) if i else () for i in range(16)})
    assert len({x for x, _ in placed.boxes.values()}) == 1


def test_what_cannot_be_broken_stays_one_column():
    """Everywhere two edges lead on."""
    reads = {"a0": (), "b0": ()}
    for i in range(1, 30):
        reads[f"a{i}"], reads[f"b{i}"] = (f"a{i - 1}",), (f"b{i - 1}",)
    assert all(edge.gutter is None for edge in place(reads).edges)


@pytest.mark.parametrize(
    "make", [graphs.mlp, graphs.small_resnet, graphs.two_outputs, graphs.siamese]
)
def test_pictures_are_xml_with_every_layer(make):
    network = make()
    root = ET.fromstring(network_svg(network.conf))
    names = [
        text.text for text in root.iter(f"{SVG}text") if text.get("class") == "name"
    ]
    inputs = list(getattr(network.conf, "inputs", {"input": None}))
    assert sorted(names) == sorted([*inputs, *(node.name for node in network.nodes)])


def test_titles_tell_shapes_and_parameters():
    picture = network_svg(graphs.mlp().conf)
    assert "layer0: Dense\nfrom input\nin: rows of 20\nout: rows of 64\n" in picture
    assert "1,344 parameters: W (20, 64), b (64,)" in picture


def test_outputs_are_marked():
    root = ET.fromstring(network_svg(graphs.two_outputs().conf))
    groups = [g for g in root.iter(f"{SVG}g") if "output" in (g.get("class") or "")]
    assert len(groups) == 2


def test_a_layer_may_be_called_input():
    dense = {**cases.DENSE, "name": "input"}
    network = cases.sequence(cases.ROWS, dense, cases.OUT)
    assert "input of the network" in network_svg(network.conf)


def test_long_names_are_cut_and_stand_in_the_title():
    name = "a<b&" + "x" * 40
    network = cases.sequence(cases.ROWS, {**cases.DENSE, "name": name}, cases.OUT)
    picture = network_svg(network.conf)
    assert f"a&lt;b&amp;{'x' * 19}…</text>" in picture
    assert f"<title>a&lt;b&amp;{'x' * 40}: Dense" in picture


def test_open_sizes_are_question_marks():
    network = cases.sequence(cases.OPEN, cases.CONV, cases.POOL, cases.OUT)
    assert "? x ? x 3" in network_svg(network.conf)


def test_large_counts_are_shortened():
    network = cases.sequence(
        cases.FeedForward(size=999), {"type": "dense", "n_out": 2000}, cases.OUT
    )
    assert "2 M params" in network_svg(network.conf)
