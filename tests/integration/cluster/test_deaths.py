"""Kill -9 of a worker at any moment of what the cluster does; others are left.

Named moments first, each of which ended in an error or a hang before; then, if asked
for, moments that are drawn over the whole length.
"""

import os
import random
import signal
import sys
import threading
from dataclasses import replace

import pytest

from daskdl.cluster import frontend_inference, inference, member_tasks
from daskdl.cluster.bus import installation
from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.cluster.dashboard.plugin import PLUGIN_NAME as DASHBOARD
from daskdl.cluster.session_members import SessionMembers
from daskdl.errors import WorkerLostError
from daskdl.nn.fitting.events import FitStarted, Progress
from tests.integration.cluster.disturbed import (
    MASTERS,
    OPERATIONS,
    Newcomer,
    WorkerProcesses,
    assert_nothing_is_left,
    evaluate,
    fit,
    killed_at,
    predict,
    timed,
)
from tests.listening import Epochs, Events

RUNS = 25  # of each operation
# What the client calls at a moment of a fit, and which of the calls it is.
MOMENTS = {
    "the plugins are put on it": (installation, "call_each", 2),
    "the network is sent": (member_tasks, "share_state", 1),
    "the first order is given": (SessionMembers, "order", 1),
    "the fit is finished": (SessionMembers, "order_all", 2),
}


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    with WorkerProcesses(tmp_path_factory.mktemp("workers")) as started:
        yield started


@pytest.fixture
def client(workers):
    workers.at_least(3)
    yield workers.client
    assert_nothing_is_left(workers.client)


def just_before(monkeypatch, place, name, number, happen):
    """Have something happen just before a function is called for the n-th time."""
    real = getattr(place, name)
    calls = []

    def called(*args, **kwargs):
        calls.append(args)
        if len(calls) == number:
            happen()
        return real(*args, **kwargs)

    monkeypatch.setattr(place, name, called)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_fit_goes_on_when_a_worker_is_killed_as(client, workers, monkeypatch, moment):
    pid = min(workers.pids().values())
    just_before(
        monkeypatch, *MOMENTS[moment], happen=lambda: os.kill(pid, signal.SIGKILL)
    )
    fit(client, epochs=1)


@pytest.mark.parametrize("operation", [evaluate, predict])
def test_results_are_whole_when_the_worker_that_has_the_network_is_killed(
    client, workers, monkeypatch, operation
):
    real = inference.share_state

    def share_and_kill(*args, **options):
        shared = real(*args, **options)
        shared.future.result()
        (holder,) = client.who_has(shared.future)[shared.future.key]
        os.kill(workers.pids()[holder], signal.SIGKILL)
        return shared

    monkeypatch.setattr(inference, "share_state", share_and_kill)
    operation(client)


def test_newcomers_that_die_stop_or_lack_a_package_are_left_out(
    client, workers, tmp_path
):
    """One of each comes during the first epoch, and the fit ends with its own."""
    without = tmp_path / "sitecustomize.py"
    without.write_text("import sys; sys.modules['daskdl'] = None")
    bare = Newcomer(workers, PYTHONPATH=str(tmp_path))
    newcomers = [
        bare,
        Newcomer(workers, sends=signal.SIGKILL),
        Newcomer(workers, sends=signal.SIGSTOP),
        Newcomer(workers, DASKDL_BACKEND_PRIORITY_GPU="cupy"),
    ]

    def come(network):
        if network.epoch_count == 1:
            for newcomer in newcomers:
                newcomer.arrive()

    def begin(event):
        if isinstance(event, FitStarted):
            for newcomer in newcomers:
                newcomer.start()

    try:
        front = fit(
            client, "averaging", epochs=3, listeners=[Epochs(come), Events(begin)]
        )
        assert bare.is_alive()
        # The page of fits stays for an hour, and no worker loads it.
        assert plugins_on_scheduler(client) == {DASHBOARD}
    finally:
        for newcomer in newcomers:
            newcomer.end()
    assert len({epoch.workers for epoch in front.last_fit.epochs}) == 1
    assert front.last_fit.lost == []


def plugins_on_scheduler(client):
    """Return what of ours is there."""

    def look(dask_scheduler):
        return [*dask_scheduler.plugins, *dask_scheduler.worker_plugins]

    found = client.run_on_scheduler(look)
    return {name for name in found if name.startswith("daskdl")}


@pytest.mark.slow
@pytest.mark.parametrize("name", MASTERS)
def test_a_member_that_is_stopped_is_given_up(client, workers, monkeypatch, name):
    monkeypatch.setitem(MASTERS, name, replace(MASTERS[name], peer_timeout_s=40))
    pid = min(workers.pids().values())

    def stop(event):
        if isinstance(event, Progress):
            os.kill(pid, signal.SIGSTOP)

    try:
        front = fit(client, name, epochs=2, listeners=Events(stop))
    finally:
        os.kill(pid, signal.SIGKILL)
    assert len(front.last_fit.lost) == 1


@pytest.mark.slow
def test_a_worker_that_is_stopped_does_not_hold_up_a_start(
    client, workers, monkeypatch
):
    sharing = replace(MASTERS["sharing"], start_timeout_s=5)
    monkeypatch.setitem(MASTERS, "sharing", sharing)
    pid = min(workers.pids().values())
    os.kill(pid, signal.SIGSTOP)
    try:
        options = ClusterOptions(scheduler=workers.address, timeout_s=5.0)
        with connect(options) as another:
            front = fit(another, epochs=1)
    finally:
        os.kill(pid, signal.SIGKILL)
    assert len(front.last_fit.workers) == 2


@pytest.mark.parametrize("after_s", [0.05, 0.3])
def test_without_any_worker_left_an_evaluation_ends(tmp_path, monkeypatch, after_s):
    monkeypatch.setattr("daskdl.cluster.plain_tasks.NO_WORKER_TIMEOUT_S", 1.0)
    with WorkerProcesses(tmp_path) as workers:
        (pid,) = workers.at_least(1).values()
        death = threading.Timer(after_s, os.kill, (pid, signal.SIGKILL))
        # Once the evaluation has found it, however busy the machine is.
        just_before(monkeypatch, frontend_inference, "tally_source", 1, death.start)
        with pytest.raises(WorkerLostError, match=r"worker must be (left|there)"):
            evaluate(workers.client)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("nanny", [False, True], ids=["alone", "nanny"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_worker_is_killed_at_any_moment(tmp_path, name, nanny):
    """The moments are drawn over the whole length, the start included."""
    seed = random.SystemRandom().randrange(10**6)
    sys.stdout.write(f"seed {seed}\n")
    rng = random.Random(seed)
    operation = OPERATIONS[name]
    with WorkerProcesses(tmp_path, nanny=nanny) as workers:
        workers.at_least(3)
        operation(workers.client)  # Compiles the kernels.
        length_s = timed(operation, workers.client)
        for run in range(RUNS):
            pids = workers.at_least(3)
            moment_s = rng.uniform(0, length_s)
            sys.stdout.write(f"run {run}: at {moment_s:.2f} of {length_s:.2f} s\n")
            victim = rng.choice(sorted(pids))
            killed_at(operation, workers.client, pids[victim], moment_s)
            assert_nothing_is_left(workers.client)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize("fate", [signal.SIGKILL, signal.SIGSTOP])
def test_a_newcomer_is_lost_at_any_moment(tmp_path, master, fate):
    seed = random.SystemRandom().randrange(10**6)
    sys.stdout.write(f"seed {seed}\n")
    rng = random.Random(seed)
    with WorkerProcesses(tmp_path) as workers:
        for run in range(5):
            workers.at_least(2)
            newcomer = Newcomer(workers, sends=fate, delay_s=rng.uniform(0, 2))
            sys.stdout.write(f"run {run}: {newcomer.delay_s:.2f} s after it came\n")
            fit(workers.client, master, epochs=10, listeners=Epochs(newcomer))
            newcomer.end()
            assert_nothing_is_left(workers.client)
