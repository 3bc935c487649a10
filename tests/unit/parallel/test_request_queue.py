"""Which requests are taken together, and who waits for room."""

import threading
import time
from dataclasses import dataclass

import pytest

from daskdl.parallel.request_queue import RequestQueue


@dataclass(eq=False)
class Made:
    """Stands in for a request: those of one kind go with each other."""

    kind: str
    rows: int = 1

    def goes_with(self, other):
        return self.kind == other.kind

    def __repr__(self):
        return f"{self.kind}{self.rows}"


def queue_of(*kinds, limit=64):
    queue = RequestQueue(limit)
    for kind in kinds:
        assert queue.put(Made(kind[0], int(kind[1:])))
    return queue


def taken(queue, most_rows, times=1):
    return [" ".join(map(repr, queue.take(most_rows))) for _ in range(times)]


@pytest.mark.parametrize(
    ("waiting", "batches"),
    [
        ("a1 a1 a1", ["a1 a1 a1"]),
        ("a1 b1 a1 b1", ["a1 a1", "b1 b1"]),
        ("a3 a3 a1", ["a3 a1", "a3"]),
        ("a4 a1", ["a4", "a1"]),
        ("a9 a1 a1", ["a9", "a1 a1"]),
        ("b1 a3 b3 a1 b1", ["b1 b3", "a3 a1", "b1"]),
    ],
)
def test_who_waits_longest_is_first_and_takes_along_who_goes_with_it(waiting, batches):
    queue = queue_of(*waiting.split())
    assert taken(queue, 4, len(batches)) == batches
    assert queue.is_empty


def test_without_a_limit_of_rows_one_is_taken():
    assert taken(queue_of("a1", "a1"), None, 2) == ["a1", "a1"]


def test_who_takes_waits_for_a_request():
    queue, found = RequestQueue(2), []
    thread = threading.Thread(target=lambda: found.extend(queue.take(4)))
    thread.start()
    request = Made("a")
    queue.put(request)
    thread.join()
    assert found == [request]


def wait_until_one_has_no_room(queue):
    while not queue._n_without_room:
        time.sleep(0.001)


def test_who_brings_too_many_waits_for_room():
    queue = queue_of("a1", limit=1)
    thread = threading.Thread(target=queue.put, args=(Made("b"),))
    thread.start()
    wait_until_one_has_no_room(queue)
    assert taken(queue, 4, 2) == ["a1", "b1"]
    thread.join()


def test_what_waits_at_the_close_is_still_taken():
    queue = queue_of("a1")
    queue.close()
    assert taken(queue, 4, 2) == ["a1", ""]


def test_nothing_is_put_behind_the_close():
    queue = queue_of()
    queue.close()
    assert not queue.put(Made("a"))


def test_who_waits_for_room_at_the_close_is_still_taken():
    queue, found = queue_of("a1", limit=1), []
    thread = threading.Thread(target=lambda: found.append(queue.put(Made("b"))))
    thread.start()
    wait_until_one_has_no_room(queue)
    queue.close()
    assert taken(queue, 4, 3) == ["a1", "b1", ""]
    thread.join()
    assert found == [True]
