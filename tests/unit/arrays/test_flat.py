import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.arrays.flat import ParamLayout, Slot
from daskdl.errors import ShapeError

SHAPES = st.dictionaries(
    st.text(st.characters(codec="ascii"), min_size=1, max_size=4),
    st.lists(st.integers(0, 4), max_size=4).map(tuple),
    max_size=6,
)


@given(SHAPES)
def test_views_cover_the_vector_once(shapes):
    layout = ParamLayout.of(shapes)
    vector = np.zeros(layout.size)
    for view in layout.views(vector).values():
        view += 1
    assert vector.tolist() == [1.0] * layout.size


@given(SHAPES)
def test_views_share_memory_with_the_vector(shapes):
    layout = ParamLayout.of(shapes)
    vector = np.zeros(layout.size)
    assert all(
        view.size == 0 or np.shares_memory(view, vector)
        for view in layout.views(vector).values()
    )


@given(SHAPES)
def test_views_have_the_shapes_and_the_order_that_were_asked_for(shapes):
    layout = ParamLayout.of(shapes)
    views = layout.views(np.zeros(layout.size))
    assert {name: view.shape for name, view in views.items()} == shapes
    assert list(views) == list(shapes)


def test_values_lie_row_by_row():
    layout = ParamLayout.of({"W": (2, 3), "b": (3,)})
    views = layout.views(np.arange(9.0))
    assert views["W"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert views["b"].tolist() == [6, 7, 8]


def test_a_slot_says_where_it_lies():
    slot = ParamLayout.of({"W": (2, 3), "b": (3,)})["b"]
    assert (slot.offset, slot.size, slot.stop) == (6, 3, 9)


def test_an_unknown_slot_is_a_key_error():
    with pytest.raises(KeyError, match="c"):
        ParamLayout.of({"W": (2, 3)})["c"]


def test_a_vector_of_another_size_is_refused():
    with pytest.raises(ShapeError, match=r"must have shape \(6,\), got \(7,\)"):
        ParamLayout.of({"W": (2, 3)}).views(np.zeros(7))


def test_a_vector_with_gaps_is_refused():
    with pytest.raises(ShapeError, match="must be contiguous"):
        ParamLayout.of({"W": (2, 3)}).views(np.zeros(12)[::2])


def test_slots_that_leave_a_gap_are_refused():
    with pytest.raises(ShapeError, match="slot 'b' must begin at 2"):
        ParamLayout((Slot("a", (2,), 0), Slot("b", (2,), 3)))


def test_two_slots_of_one_name_are_refused():
    with pytest.raises(ShapeError, match="names must be unique"):
        ParamLayout((Slot("a", (2,), 0), Slot("a", (2,), 2)))
