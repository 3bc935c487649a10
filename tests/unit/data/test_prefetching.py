import contextlib
import contextvars
import threading
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.data import prefetching
from daskdl.data.prefetching import prefetch
from daskdl.errors import OptionError


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


@given(st.lists(st.integers()), st.integers(1, 4))
def test_items_come_in_order(items, n_batches):
    assert list(prefetch(items, n_batches)) == items


def test_items_are_made_in_the_context_of_who_asks_for_them():
    asked = contextvars.ContextVar("asked")
    asked.set("here")
    made = (asked.get("nowhere") for _ in range(1))
    assert list(prefetch(made, 2)) == ["here"]


def test_nothing_starts_before_the_first_item_is_asked_for():
    before = threading.active_count()
    prefetch(iter([1]), 2)
    assert threading.active_count() == before


def test_at_most_n_wait_and_one_is_in_the_making():
    made = []
    ahead = threading.Event()

    def items():
        for number in range(10):
            made.append(number)
            if len(made) == 4:
                ahead.set()
            yield number

    with contextlib.closing(prefetch(items(), 2)) as fetched:
        next(fetched)
        assert ahead.wait(10)
        assert made == [0, 1, 2, 3]


def test_an_error_of_the_producer_comes_after_its_items():
    def items():
        yield 1
        raise LookupError("no second")

    fetched = prefetch(items())
    assert next(fetched) == 1
    with pytest.raises(LookupError, match="no second"):
        next(fetched)


def test_an_error_of_the_consumer_ends_the_thread():
    def consume():
        with contextlib.closing(prefetch(range(100), 1)) as fetched:
            for _ in fetched:
                raise KeyError("consumer")

    with pytest.raises(KeyError, match="consumer"):
        consume()


def test_closing_early_closes_the_producer():
    is_closed = threading.Event()

    def items():
        try:
            yield from range(100)
        finally:
            is_closed.set()

    fetched = prefetch(items(), 1)
    next(fetched)
    fetched.close()
    assert is_closed.is_set()


def test_closing_twice_is_harmless():
    fetched = prefetch(range(5))
    next(fetched)
    fetched.close()
    fetched.close()


def test_dropping_the_generator_ends_the_thread():
    fetched = prefetch(range(100), 1)
    next(fetched)
    del fetched


def test_an_abandoned_thread_does_not_outlive_the_main_thread(monkeypatch):
    monkeypatch.setattr(prefetching, "_LOOK_AROUND_S", 0.001)
    fetched = prefetch(range(100), 1)
    next(fetched)
    (thread,) = (t for t in threading.enumerate() if t.name == "daskdl-prefetch")
    ended = types.SimpleNamespace(is_alive=lambda: False)
    with monkeypatch.context() as patch:
        patch.setattr(threading, "main_thread", lambda: ended)
        thread.join(10)
    assert not thread.is_alive()
    fetched.close()


def test_what_cannot_be_iterated_is_the_consumers_error():
    with pytest.raises(TypeError, match="not iterable"):
        next(prefetch(5))


def test_0_batches_are_refused_at_once():
    with pytest.raises(OptionError, match="prefetch: n_batches must be > 0, got 0"):
        prefetch([], 0)
