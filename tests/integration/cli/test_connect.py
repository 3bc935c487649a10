"""Clusters that are started, joined and left."""

import os

import dask
import psutil
import pytest
from distributed import LocalCluster

from daskdl.cluster import connect as module
from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.errors import (
    ClusterError,
    OptionError,
    SchedulerUnreachableError,
    VersionMismatchError,
)


@pytest.fixture(scope="module")
def cluster():
    """Somebody else's cluster, with one worker."""
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as running:
        yield running


def environment(names):
    import os

    return {name: os.environ.get(name) for name in names}


def test_local_workers_have_one_thread_each():
    with connect(ClusterOptions(workers=2)) as client:
        assert list(client.nthreads().values()) == [1, 1]


def test_local_workers_use_one_thread_in_blas():
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
    with connect(ClusterOptions(workers=1)) as client:
        (found,) = client.run(environment, names).values()
    assert set(found.values()) == {"1"}


def imported(names):
    import sys

    return [name for name in names if name in sys.modules]


def test_local_workers_import_what_the_user_has_them_import_too():
    """Ours is added to what Dask's configuration says."""
    names = ["daskdl.cluster.local_worker", "this"]
    with (
        dask.config.set({"distributed.worker.preload": ["this"]}),
        connect(ClusterOptions(workers=1)) as client,
    ):
        (found,) = client.run(imported, names).values()
    assert found == names


@pytest.mark.parametrize("dashboard", [False, True])
def test_local_workers_are_profiled_for_a_dashboard_only(dashboard):
    name = "distributed.worker.profile.enabled"
    with connect(ClusterOptions(workers=1, dashboard=dashboard)) as client:
        (found,) = client.run(dask.config.get, name).values()
    assert found is dashboard


def test_local_workers_listen_on_this_machine_only():
    with connect(ClusterOptions(workers=1)) as client:
        (address,) = client.nthreads()
    assert address.startswith("tls://127.0.0.1:")


def test_local_workers_are_gone_after_an_error():
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(ZeroDivisionError), connect(ClusterOptions(workers=1)):
        raise ZeroDivisionError
    left = set(psutil.Process().children(recursive=True)) - before
    assert [p for p in left if "resource_tracker" not in " ".join(p.cmdline())] == []


def test_a_cluster_that_runs_is_joined(cluster):
    with connect(ClusterOptions(scheduler=cluster.scheduler_address)) as client:
        assert len(client.nthreads()) == 1


def test_a_cluster_that_runs_is_left_running(cluster):
    with connect(ClusterOptions(scheduler=cluster.scheduler_address)):
        pass
    assert cluster.status.name == "running"


def test_too_few_workers_are_refused_in_time(cluster):
    options = ClusterOptions(
        scheduler=cluster.scheduler_address, workers=2, start_timeout_s=0.3
    )
    with (
        pytest.raises(ClusterError, match=r"at least 2 workers within 0\.3 s, got 1"),
        connect(options),
    ):
        pass


def bare(facts):
    """Return what a worker without daskdl says of itself."""
    return {**facts, "packages": {**facts["packages"], "daskdl": None}}


def one_more_is_bare(workers):
    return {**workers, "tcp://bare": bare(*workers.values())}


def all_are_bare(workers):
    return {address: bare(facts) for address, facts in workers.items()}


@pytest.fixture
def joined(cluster, monkeypatch):
    """Return a function that joins a cluster whose workers say something else."""

    def join(change, **how):
        def versions(client, options):
            found = real(client, options)
            return {**found, "workers": change(found["workers"])}

        monkeypatch.setattr(module, "_versions", versions)
        with connect(ClusterOptions(scheduler=cluster.scheduler_address), **how) as it:
            return it.id

    real = module._versions
    return join


def test_a_worker_without_daskdl_is_left_to_evaluations(joined):
    assert joined(one_more_is_bare, needs_all=False)


def test_a_worker_without_daskdl_cannot_train(joined):
    with pytest.raises(
        VersionMismatchError, match="not installed on worker tcp://bare"
    ):
        joined(one_more_is_bare)


def test_without_daskdl_on_any_worker_nothing_starts(joined):
    with pytest.raises(VersionMismatchError, match="not installed on worker tcp://"):
        joined(all_are_bare, needs_all=False)


def test_workers_of_another_version_are_refused(cluster, monkeypatch):
    def other(versions):
        for facts in versions["workers"].values():
            facts["packages"]["distributed"] = "1.0"
        return real(versions)

    real = module.check_versions
    monkeypatch.setattr(module, "check_versions", other)
    with (
        pytest.raises(VersionMismatchError, match=r"here, 1\.0 on worker tcp://"),
        connect(ClusterOptions(scheduler=cluster.scheduler_address)),
    ):
        pass


def test_a_cluster_of_ours_lets_nobody_else_in():
    """No certificate, no connection; and nothing listens beyond the loopback."""
    before = listening({os.getpid()})
    with connect(ClusterOptions(workers=1, dashboard=True)) as client:
        address = client.scheduler.address
        pids = {os.getpid(), *client.run(os.getpid).values()}
        # This process may have had servers of other tests before.
        addresses = {address.ip for address in listening(pids) - before}
        with (
            pytest.raises((SchedulerUnreachableError, OptionError)),
            connect(
                ClusterOptions(
                    scheduler=address.replace("tls://", "tcp://"), timeout_s=2
                )
            ),
        ):
            pass
    assert address.startswith("tls://127.0.0.1:")
    assert addresses == {"127.0.0.1"}


def listening(pids):
    return {
        found.laddr
        for found in psutil.net_connections("tcp")
        if found.pid in pids and found.status == psutil.CONN_LISTEN
    }
