"""Who is waited for before a fit, and how an adaptive cluster is asked."""

from types import SimpleNamespace

import pytest

from daskdl.cluster import enough_workers as module
from daskdl.cluster.enough_workers import asked_for, enough_workers
from daskdl.errors import OptionError, WorkerLostError


class Filling:
    """A cluster to which a worker comes at every second look."""

    id = "client"
    cluster = None  # it is somebody else's

    def __init__(self, *workers, comes=True):
        self.workers = list(workers)
        self.comes = comes
        self.looks = 0
        self.asks, self.futures = {}, []
        self.scheduler = SimpleNamespace(address="tcp://s:8786")
        self.cancelled = []

    def nthreads(self):
        self.looks += 1
        if self.comes and not self.looks % 2:
            self.workers.append(f"w{self.looks}")
        return dict.fromkeys(self.workers, 2)

    def submit(self, function, *, key, resources, pure):
        self.asks[key] = resources
        self.futures.append(SimpleNamespace(key=key, status="pending"))
        return self.futures[-1]

    def cancel(self, futures):
        self.cancelled += [future.key for future in futures]

    def run_on_scheduler(self, *args, wait):
        return None


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.0)


def waited(client, wanted, timeout_s=60.0):
    with enough_workers(client, wanted, None, timeout_s):
        assert client.cancelled == [], "an adaptive cluster would take them back"


def test_nothing_is_asked_for_where_enough_are_there(caplog):
    client = Filling("a", comes=False)
    waited(client, None)
    assert (client.asks, caplog.messages) == ({}, [])


def test_a_first_worker_is_waited_for():
    client = Filling()
    waited(client, None)
    assert client.workers


@pytest.mark.parametrize("look", range(1, 9))
def test_a_first_worker_may_come_between_any_two_looks(look):
    """One that is there and was not found was once taken for an address misspelt."""
    client = Filling(comes=False)
    nthreads = client.nthreads

    def look_again():
        if client.looks == look:
            client.workers = ["a"]
        return nthreads()

    client.nthreads = look_again
    waited(client, None)
    assert client.workers == ["a"]


def test_it_is_told_that_workers_are_waited_for_and_how_the_wait_ends(caplog):
    client = Filling()
    waited(client, 3)
    first, *_, last = caplog.messages
    assert first.startswith("waiting for workers: 3 must be there, ")
    assert last.endswith(" workers are there")


def test_an_adaptive_cluster_is_asked_by_tasks_that_no_worker_can_run():
    client = Filling("a", comes=False)
    with pytest.raises(WorkerLostError):
        waited(client, 2, 0.0)
    # Dask wants a worker of two threads for ten seconds of work, of half a second each.
    assert len(client.asks) == 2 * 2 * 10
    assert next(iter(client.asks.values())) == {"daskdl-asks-for-workers": 1}
    assert client.cancelled == list(client.asks)


def test_what_was_lost_is_asked_for_again():
    """As when somebody restarts the cluster."""
    client = Filling("a", comes=False)
    with asked_for(client, 1) as ask_again:
        for future in client.futures[:5]:
            future.status = "cancelled"
        ask_again()
        ask_again()
    assert len(client.asks) == 20 + 5
    assert len(client.cancelled) == 20


def test_more_is_asked_for_where_a_worker_has_more_threads():
    """The other would be taken back while it starts."""
    client = Filling(comes=False)
    with asked_for(client, 2) as ask_again:
        before = len(client.asks)
        client.workers.append("of two threads")
        ask_again()
    assert len(client.asks) == 2 * before


def test_too_few_in_time_are_refused():
    message = (
        "must have at least 2 workers within 0 s, got 1. Start them with "
        "`dask worker tcp://s:8786`, or ask for fewer"
    )
    with pytest.raises(WorkerLostError, match=message):
        waited(Filling("a", comes=False), 2, 0.0)


def test_none_in_time_is_refused():
    message = "must have at least 1 worker within 0 s, got 0"
    with pytest.raises(WorkerLostError, match=message):
        waited(Filling(comes=False), None, 0.0)


def test_an_address_that_is_misspelt_is_refused_at_once():
    with pytest.raises(OptionError, match=r"must be workers of the cluster, got \['b"):
        waited(Filling("a", comes=False), ["b"])


@pytest.mark.parametrize("wanted", [0, 1.5, True])
def test_a_number_that_is_none_is_refused_at_once(wanted):
    with (
        pytest.raises(OptionError, match="workers must be a whole number > 0, got"),
        enough_workers(Filling(), wanted, None, 60.0),
    ):
        pass
