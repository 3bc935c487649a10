import gc

import numpy as np
import pytest

from daskdl.arrays.lent_memory import LentMemory
from tests.memory import peak_bytes

SINGLE = np.dtype("float32")
SHAPE = (50, 40)
NBYTES = 8000


def address(array):
    return array.ctypes.data


def grown():
    """Return a memory with room for two arrays, all of it free."""
    memory = LentMemory()
    both = [memory.lend(SHAPE, SINGLE) for _ in range(2)]
    del both
    memory.grow()
    return memory


@pytest.mark.parametrize("make", [LentMemory, grown])
def test_arrays_that_are_held_share_no_memory(make):
    memory = make()
    first, second = (memory.lend(SHAPE, SINGLE) for _ in range(2))
    assert not np.shares_memory(first, second)


def test_memory_goes_on_when_nobody_holds_the_array():
    memory = grown()
    first = address(memory.lend(SHAPE, SINGLE))
    assert address(memory.lend(SHAPE, SINGLE)) == first


@pytest.mark.parametrize(
    "view",
    [
        lambda array: array[3:],
        lambda array: array.reshape(40, 50)[:, :3],
        lambda array: array.view("int32")[::2, 1],
        lambda array: memoryview(array),
        lambda array: np.asarray(memoryview(array))[1:],
        np.ndarray.diagonal,
    ],
    ids=["part", "reshaped", "other type", "buffer", "array of a buffer", "diagonal"],
)
@pytest.mark.parametrize("make", [LentMemory, grown])
def test_memory_stays_as_long_as_a_view_is_held(make, view):
    memory = make()
    array = memory.lend(SHAPE, SINGLE)
    array[...] = 7
    part = view(array)
    del array
    memory.lend(SHAPE, SINGLE)[...] = 0
    assert np.ravel(part).all()


def test_what_is_held_when_memory_grows_keeps_its_numbers():
    memory = LentMemory()
    held = memory.lend(SHAPE, SINGLE)
    held[...] = 7
    memory.grow()
    for _ in range(3):
        memory.lend(SHAPE, SINGLE)[...] = 0
    assert set(held.ravel()) == {7}


def test_what_is_held_when_memory_grows_stays_apart_from_what_comes():
    memory = LentMemory()
    held = memory.lend(SHAPE, SINGLE)
    memory.grow()
    del held
    first, second = (memory.lend(SHAPE, SINGLE) for _ in range(2))
    assert not np.shares_memory(first, second)


def test_the_size_is_that_of_what_was_held_at_one_time():
    memory = LentMemory()
    for _ in range(3):
        memory.lend(SHAPE, SINGLE)
    assert memory.nbytes == NBYTES


def test_arrays_begin_on_cache_lines():
    memory = grown()
    arrays = [memory.lend((5,), SINGLE) for _ in range(3)]
    assert {address(array) % 64 for array in arrays} == {0}


def test_arrays_can_be_written_to_and_lie_in_a_row():
    flags = grown().lend(SHAPE, SINGLE).flags
    assert flags.c_contiguous
    assert flags.writeable


def test_once_there_is_room_nothing_is_allocated():
    memory = grown()

    def twice():
        return [memory.lend(SHAPE, SINGLE) for _ in range(2)]

    twice()
    assert peak_bytes(twice) < NBYTES


def test_arrays_outlive_the_memory():
    memory = grown()
    array = memory.lend(SHAPE, SINGLE)
    array[...] = 7
    del memory
    gc.collect()
    assert set(array.ravel()) == {7}


def test_what_cannot_be_had_is_free_still():
    memory = LentMemory()
    with pytest.raises((MemoryError, OSError, ValueError, OverflowError)):
        memory.lend((1 << 58,), SINGLE)
    assert memory.nbytes == 0
