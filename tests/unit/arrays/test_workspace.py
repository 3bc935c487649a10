import numpy as np

from daskdl.arrays.workspace import Workspace


def test_the_same_request_gives_the_same_array():
    workspace = Workspace()
    first = workspace.take("x", (2, 3), np.float32)
    assert workspace.take("x", (2, 3), np.float32) is first


def test_a_smaller_request_gets_the_leading_part_of_the_same_memory():
    workspace = Workspace()
    full = workspace.take("x", (4, 3), np.float64)
    full[...] = np.arange(12).reshape(4, 3)
    short = workspace.take("x", (2, 3), np.float64)
    assert short.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.shares_memory(short, full)


def test_going_back_to_the_full_size_allocates_nothing():
    workspace = Workspace()
    full = workspace.take("x", (4, 3), np.float64)
    workspace.take("x", (2, 3), np.float64)
    assert np.shares_memory(workspace.take("x", (4, 3), np.float64), full)


def test_a_larger_request_gets_a_larger_buffer():
    workspace = Workspace()
    workspace.take("x", (2, 3), np.float64)
    assert workspace.take("x", (5, 3), np.float64).shape == (5, 3)
    assert workspace.nbytes == 5 * 3 * 8


def test_keys_do_not_share_memory():
    workspace = Workspace()
    x, y = (workspace.take(key, (4,), np.float64) for key in "xy")
    assert not np.shares_memory(x, y)


def test_dtypes_of_one_key_do_not_share_memory():
    workspace = Workspace()
    single = workspace.take("x", (4,), np.float32)
    double = workspace.take("x", (4,), np.float64)
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    assert not np.shares_memory(single, double)


def test_clear_forgets_the_buffers_but_not_what_was_handed_out():
    workspace = Workspace()
    array = workspace.take("x", (4,), np.float64)
    array[...] = 7
    workspace.clear()
    assert workspace.nbytes == 0
    assert array.tolist() == [7, 7, 7, 7]


LARGE = (1 << 10, 1 << 8)


def test_large_arrays_are_lent_for_as_long_as_they_are_held():
    workspace = Workspace()
    first, second = (workspace.lend("x", LARGE, np.float32) for _ in range(2))
    assert not np.shares_memory(first, second)


def test_what_is_lent_and_held_no_more_serves_other_keys():
    workspace = Workspace()
    for key in "xyz":
        workspace.lend(key, LARGE, np.float32)
    assert workspace.nbytes == 1 << 20


def test_small_arrays_that_are_lent_are_buffers():
    workspace = Workspace()
    first = workspace.lend("x", (4,), np.float64)
    assert workspace.take("x", (4,), np.float64) is first


def test_a_device_lends_by_its_own_library():
    class Library:
        empty = staticmethod(lambda shape, dtype: ("its own", shape, dtype))

    lent = Workspace(Library).lend("x", LARGE, np.float32)
    assert lent == ("its own", LARGE, np.float32)


def test_clear_forgets_what_was_lent_but_not_what_is_held():
    workspace = Workspace()
    array = workspace.lend("x", LARGE, np.float32)
    array[...] = 7
    workspace.clear()
    assert workspace.nbytes == 0
    assert array.min() == 7
