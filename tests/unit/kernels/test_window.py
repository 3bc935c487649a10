import pytest

from daskdl.kernels.window import window_axis
from tests.unit.kernels.naive import cells
from tests.unit.kernels.windows import WINDOWS, make_window


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "dilation", "mode", "out", "before"),
    [
        (28, 5, 1, 0, 1, "truncate", 24, 0),
        (7, 3, 2, 0, 1, "truncate", 3, 0),
        (8, 3, 2, 0, 1, "truncate", 3, 0),
        (8, 3, 2, 1, 1, "truncate", 4, 1),
        (8, 3, 1, 0, 2, "truncate", 4, 0),
        (9, 3, 2, 0, 1, "strict", 4, 0),
        (28, 5, 1, 0, 1, "same", 28, 2),
        (28, 5, 1, 9, 1, "same", 28, 2),
        (5, 2, 1, 0, 1, "same", 5, 0),
        (5, 4, 1, 0, 1, "same", 5, 1),
        (7, 3, 2, 0, 1, "same", 4, 1),
        (8, 3, 2, 0, 1, "same", 4, 0),
        (7, 1, 3, 0, 1, "same", 3, 0),
    ],
)
def test_sizes_and_padding_are_those_of_dl4j(
    size, kernel, stride, padding, dilation, mode, out, before
):
    axis = window_axis(size, kernel, stride, padding, dilation, mode)
    assert (axis.out, axis.before) == (out, before)


@pytest.mark.parametrize("name", WINDOWS)
def test_ranges_meet_exactly_the_cells_inside(name):
    for axis in make_window(name).axes:
        expected = sorted(cells(axis))
        found = []
        for cell in range(axis.kernel):
            inside, windows = axis.ranges(cell)
            positions = range(axis.size)[inside]
            indices = range(axis.out)[windows]
            found += [(i, cell, p) for i, p in zip(indices, positions, strict=True)]
        assert sorted(found) == expected


@pytest.mark.parametrize("name", WINDOWS)
def test_counts_are_the_cells_inside(name):
    axis = make_window(name).axes[0]
    inside = [window for window, _, _ in cells(axis)]
    assert axis.counts() == [inside.count(window) for window in range(axis.out)]


def test_a_window_in_the_padding_has_no_cells():
    axis = window_axis(3, 2, 2, 4, 1, "truncate")
    assert axis.counts() == [0, 0, 2, 1, 0]


def test_windows_overlap_if_the_stride_is_smaller_than_the_reach():
    assert make_window("plain").overlaps


def test_windows_with_gaps_do_not_overlap():
    assert not make_window("gaps").overlaps
