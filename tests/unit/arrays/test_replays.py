"""Which runs are captured, with what stands in for the graphs of CuPy."""

import contextlib
import types

import numpy as np
import pytest

from daskdl.arrays import replays
from daskdl.arrays.replays import Replays
from daskdl.arrays.workspace import Workspace


class Graph:
    """Does what was done while it was captured."""

    def __init__(self, work):
        self.launch = work


class Stream:
    """Records nothing: the work is done again by whoever launches."""

    def __init__(self, cupy):
        self._cupy = cupy

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def synchronize(self):
        return None

    def begin_capture(self, mode):
        self._cupy.captures = True

    def end_capture(self):
        self._cupy.captures = False
        return Graph(self._cupy.again)


@pytest.fixture
def cupy():
    found = types.SimpleNamespace(captures=False, again=None)
    found.cuda = types.SimpleNamespace(
        MemoryPool=lambda: types.SimpleNamespace(malloc=None),
        get_current_stream=lambda: Stream(found),
        Stream=lambda non_blocking: Stream(found),
        using_allocator=lambda malloc: contextlib.nullcontext(),
    )
    pool = types.SimpleNamespace(free_all_blocks=lambda: None)
    found.get_default_memory_pool = lambda: pool
    return found


class Doubling:
    """Writes twice its first argument where the result lies."""

    def __init__(self, cupy, *, reads=False):
        self._cupy, self._reads = cupy, reads
        self.runs, self.result = 0, np.zeros(())

    def __call__(self, given):
        self.runs += 1
        if self._cupy.captures and self._reads:
            raise RuntimeError("D2H transfers are disallowed")

        def work():
            np.multiply(given[0], 2, out=self.result)

        self._cupy.again = work
        work()
        return self.result


def test_the_third_run_is_captured_and_those_behind_it_replayed(cupy):
    work = Doubling(cupy)
    replayed = Replays(cupy, work, Workspace())
    for value in range(6):
        assert replayed.run([np.array(float(value)), None]) == 2 * value
    # Two, once more and the capture.
    assert work.runs == 4


def test_what_reads_numbers_goes_on_launch_by_launch(cupy):
    work = Doubling(cupy, reads=True)
    replayed = Replays(cupy, work, Workspace())
    for value in range(6):
        assert replayed.run([np.array(float(value))]) == 2 * value
    assert not cupy.captures


def test_each_shape_has_a_graph_of_its_own_up_to_a_number(cupy, monkeypatch):
    monkeypatch.setattr(replays, "_MOST_GRAPHS", 1)
    work = Doubling(cupy)
    replayed = Replays(cupy, work, Workspace())
    for _ in range(4):
        replayed.run([np.array(1.0)])
    runs = work.runs
    for _ in range(4):
        replayed.run([np.array(1.0), np.zeros(3)])
    assert work.runs == runs + 4


def test_an_array_that_stays_is_read_where_it_is(cupy):
    work, place = Doubling(cupy), np.zeros(())
    replayed = Replays(cupy, work, Workspace())
    for value in range(6):
        place[...] = value
        assert replayed.run([place]) == 2 * value
