"""What ``daskdl doctor`` says of a cluster, told by hand."""

import asyncio
import socket
from types import SimpleNamespace

import pytest

from daskdl.cli import doctor_cluster_checks
from daskdl.cli.doctor_cluster_checks import (
    CheckedCluster,
    check_cluster,
    clocks_apart,
    opened_cluster,
)
from daskdl.cli.versions import versions_here
from daskdl.cluster.calls import Answers

NOW_S = 1.7e9


def test_clocks_that_were_read_meanwhile_are_right():
    assert clocks_apart("clocks", {"w": 100.5}, 100.0, 101.0).is_ok


def test_a_clock_that_is_behind_is_told_by_how_much():
    found = clocks_apart("clocks", {"w": 40.0, "v": 100.0}, 100.0, 101.0)
    assert (found.level, found.found) == (
        "warning",
        "differ from this one: 'w by 60 s'",
    )


def test_a_clock_that_is_ahead_is_told_by_how_much():
    found = clocks_apart("clocks", {"w": 401.0}, 100.0, 101.0)
    assert "'w by 300 s'" in found.found


def test_clocks_that_were_read_slowly_are_not_called_right():
    found = clocks_apart("clocks", {"w": 105.0}, 100.0, 113.9)
    assert found.level == "warning"
    assert found.found == "cannot be told more closely than 14.9 s: answers took 13.9 s"


@pytest.fixture
def closed_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_a_port_where_nobody_listens_is_found(closed_port):
    address = f"tcp://127.0.0.1:{closed_port}"
    ((found, reason),) = asyncio.run(doctor_cluster_checks._unreachable([address]))
    assert found == address
    assert "Connect call failed" in reason


def test_a_port_where_somebody_listens_is_none():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        assert asyncio.run(doctor_cluster_checks._unreachable([address])) == []


@pytest.fixture
def cluster(monkeypatch):
    """A cluster of two workers, whose facts a test may change."""
    # However long a busy machine takes between two lines of a test.
    clock = SimpleNamespace(time=lambda: NOW_S)
    monkeypatch.setattr(doctor_cluster_checks, "time", clock)
    facts = {
        address: {
            "versions": versions_here(),
            "time_s": NOW_S,
            "host": "h",
        }
        for address in ("tcp://h:1", "tcp://h:2")
    }
    answers = {
        doctor_cluster_checks._facts: Answers(facts),
        doctor_cluster_checks._unreachable: Answers({"tcp://h:1": []}),
    }
    client = SimpleNamespace(
        nthreads=lambda: dict.fromkeys(facts, 1),
        run_on_scheduler=lambda function: function(),
    )
    checked = CheckedCluster(client)
    monkeypatch.setattr(
        CheckedCluster, "on_workers", lambda self, function, *given: answers[function]
    )
    return SimpleNamespace(checked=checked, facts=facts, answers=answers)


def levels(cluster):
    return {finding.what: finding.level for finding in check_cluster(cluster.checked)}


def found(cluster, what):
    (one,) = (one for one in check_cluster(cluster.checked) if one.what == what)
    return one


def test_a_cluster_that_is_well_is_ok(cluster):
    assert set(levels(cluster).values()) == {"ok"}


def test_a_worker_with_another_version_is_named(cluster):
    cluster.facts["tcp://h:2"]["versions"]["pyarrow"] = "1.0"
    versions = found(cluster, "versions of the cluster")
    assert versions.level == "warning"
    assert "pyarrow 1.0 on tcp://h:2" in versions.found


def test_a_worker_that_is_silent_is_an_error(cluster):
    silent = Answers(cluster.facts, silent=frozenset({"tcp://h:3"}))
    cluster.answers[doctor_cluster_checks._facts] = silent
    assert found(cluster, "workers").is_failure


def test_workers_that_do_not_reach_each_other_are_an_error(cluster):
    apart = Answers({"tcp://h:1": [("tcp://h:2", "refused")]})
    cluster.answers[doctor_cluster_checks._unreachable] = apart
    connections = found(cluster, "connections between workers")
    assert connections.is_failure
    assert "'tcp://h:2 from tcp://h:1: refused'" in connections.found


def test_a_scheduler_that_does_not_answer_is_an_error(closed_port):
    with opened_cluster(f"tcp://127.0.0.1:{closed_port}") as (cluster, (finding,)):
        assert (cluster, finding.is_failure) == (None, True)


def test_without_a_scheduler_there_is_nothing_to_find():
    with opened_cluster(None) as (cluster, findings):
        assert (cluster, findings) == (None, [])
