"""How many threads a process may use."""

import os
import subprocess
import sys
import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from daskdl.arrays import thread_count
from daskdl.arrays.thread_count import (
    blas_given,
    blas_limited_to,
    leaving_one_core,
    threads_here,
)

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
needs_cores = pytest.mark.skipif(CORES < 2, reason="needs two cores")


def blas_threads():
    return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}


def test_a_limit_of_threadpoolctl_is_obeyed():
    with threadpool_limits(limits=1):
        assert threads_here() == 1


@needs_cores
def test_blas_may_use_as_many_as_it_is_given():
    with threadpool_limits(limits=2):
        assert threads_here() == 2


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"])
def test_the_environment_is_obeyed(variable):
    unset = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environ = {k: v for k, v in os.environ.items() if k not in unset}
    command = "from daskdl.arrays.thread_count import *; print(threads_here())"
    ended = subprocess.run(
        [sys.executable, "-c", command],
        env={**environ, variable: "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
    )
    assert ended.stdout.strip() == b"1"


def test_there_are_not_more_than_cores():
    with threadpool_limits(limits=CORES + 3):
        assert threads_here() <= CORES


@needs_cores
def test_a_process_that_is_bound_to_a_core_has_one():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        with threadpool_limits(limits=2):
            assert threads_here() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("text", "found"),
    [("max 100000", float("inf")), ("150000 100000", 2), ("50000 100000", 1)],
)
def test_the_share_of_a_container_counts(monkeypatch, tmp_path, text, found):
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(thread_count, "_QUOTA", tmp_path / "cpu.max")
    assert thread_count._quota.__wrapped__() == found


def test_blas_gets_its_threads_back():
    with threadpool_limits(limits=2):
        with blas_limited_to(1):
            assert blas_threads() == {1}
        assert blas_threads() == {2}


@needs_cores
def test_one_who_keeps_blas_to_a_thread_takes_none_from_others():
    with threadpool_limits(limits=2), blas_limited_to(1):
        assert threads_here() == 2


def test_blas_gets_them_back_when_the_last_one_ends():
    with threadpool_limits(limits=2):
        first, second = blas_limited_to(1), blas_limited_to(1)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_the_lowest_limit_counts():
    with threadpool_limits(limits=3):
        with blas_limited_to(2):
            with blas_limited_to(1):
                assert blas_threads() == {1}
            assert blas_threads() == {2}
        assert blas_threads() == {3}


def test_a_limit_gives_blas_no_more_than_it_has():
    with threadpool_limits(limits=1), blas_limited_to(2):
        assert blas_threads() == {1}


@needs_cores
def test_blas_may_be_given_more_than_it_has():
    with threadpool_limits(limits=1):
        with blas_given(2):
            assert blas_threads() == {2}
            assert threads_here() == 2
            with blas_limited_to(1):
                assert blas_threads() == {1}
            assert blas_threads() == {2}
        assert blas_threads() == {1}


def test_what_others_were_given_goes_when_the_last_one_ends():
    with threadpool_limits(limits=1):
        first, second = blas_given(2), blas_given(3)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {3}
        second.__exit__(None, None, None)
        assert blas_threads() == {1}


def test_every_thread_may_limit_blas():
    """Also one that threadpoolctl does not listen to: another was the first."""
    found = []

    def limit():
        with blas_limited_to(1):
            found.append(blas_threads())

    with threadpool_limits(limits=2):
        other = threading.Thread(target=limit)
        other.start()
        other.join()
        assert blas_threads() == {2}
    assert found == [{1}]


@needs_cores
def test_a_thread_may_leave_a_core_to_others():
    with threadpool_limits(limits=2):
        with leaving_one_core(), leaving_one_core():
            assert threads_here() == 1
        assert threads_here() == 2


def test_who_leaves_the_only_core_has_it_all_the_same():
    with threadpool_limits(limits=1), leaving_one_core():
        assert threads_here() == 1


@needs_cores
def test_other_threads_leave_nothing():
    found = []
    with threadpool_limits(limits=2), leaving_one_core():
        other = threading.Thread(target=lambda: found.append(threads_here()))
        other.start()
        other.join()
    assert found == [2]
