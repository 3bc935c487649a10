"""Loops joined into fewer ones visit the same numbers in the same order."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from daskdl.kernels.tiles.nest import Axis, joined
from tests.unit.kernels.tiles.nests import offsets

many = settings(max_examples=60, derandomize=True)
few_strides = st.integers(-3, 3)


@st.composite
def loops(draw):
    """Draw axes, of which many go on where the next one ends."""
    axes = []
    for _ in range(draw(st.integers(0, 4))):
        size = draw(st.integers(1, 4))
        strides = [draw(few_strides) for _ in range(3)]
        if axes and draw(st.booleans()):
            inner = axes[0]
            strides = [inner.size * k for k in (inner.a, inner.b, inner.c)]
        axes.insert(0, Axis(size, *strides))
    return tuple(axes)


def visited(axes, name):
    return offsets(*((axis.size, getattr(axis, name)) for axis in axes)).ravel()


@many
@given(axes=loops())
def test_joined_loops_visit_the_same_numbers(axes):
    for name in "abc":
        np.testing.assert_array_equal(visited(joined(axes), name), visited(axes, name))


@many
@given(axes=loops())
def test_no_joined_loop_runs_once(axes):
    assert all(axis.size > 1 for axis in joined(axes))


@many
@given(axes=loops())
def test_joining_twice_changes_nothing(axes):
    assert joined(joined(axes)) == joined(axes)


def test_contiguous_loops_become_one():
    axes = (Axis(3, 20, 40, 8), Axis(5, 4, 8, 0), Axis(1, 7, 7, 7), Axis(4, 1, 2, 0))
    assert joined(axes) == (Axis(3, 20, 40, 8), Axis(20, 1, 2, 0))
