"""Do the versions on a cluster go together?"""

import copy

import pytest

from daskdl.cluster.versions import check_versions
from daskdl.errors import VersionMismatchError

HERE = {
    "python": "3.11.7.final.0",
    "daskdl": "0.1.0",
    "distributed": "2026.8.0",
    "numpy": "2.4.6",
    "dask": "2026.8.0",
    "cloudpickle": "3.1.1",
    "msgpack": "1.1.0",
    "pandas": "3.0.0",
}


def cluster():
    return {
        "client": {"packages": dict(HERE)},
        "scheduler": {"packages": dict(HERE)},
        "workers": {
            "tcp://a": {"packages": dict(HERE)},
            "tcp://b": {"packages": dict(HERE)},
        },
    }


def with_worker(**packages):
    versions = copy.deepcopy(cluster())
    versions["workers"]["tcp://b"]["packages"].update(packages)
    return versions


def with_scheduler(**packages):
    versions = copy.deepcopy(cluster())
    versions["scheduler"]["packages"].update(packages)
    return versions


@pytest.mark.parametrize(
    "versions",
    [
        cluster(),
        with_worker(python="3.11.2.final.0"),
        with_worker(numpy="2.4.1"),
        with_scheduler(numpy=None),
        with_worker(pandas=None),
    ],
    ids=[
        "equal",
        "python patch",
        "numpy patch",
        "scheduler without numpy",
        "worker without pandas",
    ],
)
def test_versions_that_go_together_pass(versions, caplog):
    assert check_versions(versions) is None
    assert caplog.messages == []


def test_what_may_not_be_understood_is_told_in_one_line(caplog):
    check_versions(with_worker(cloudpickle="2.2.0", pandas=None))
    (message,) = caplog.messages
    assert "cloudpickle 3.1.1 here, 2.2.0 on worker tcp://b" in message
    assert "pandas" not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        (with_worker(daskdl="0.2.0"), "daskdl 0.1.0 here, 0.2.0 on worker tcp://b"),
        (with_worker(daskdl=None), "daskdl 0.1.0 here, not installed on worker tcp:"),
        (with_worker(python="3.12.1.final.0"), "python 3.11.7 here, 3.12.1 on worker"),
        (with_worker(numpy="2.5.0"), "numpy 2.4.6 here, 2.5.0 on worker tcp://b"),
        (with_scheduler(distributed="2026.7.1"), "2026.7.1 on the scheduler"),
    ],
)
def test_versions_that_do_not_go_together_are_refused(versions, message):
    with pytest.raises(VersionMismatchError, match=message):
        check_versions(versions)


def test_many_differences_are_counted():
    versions = cluster()
    versions["workers"] = {
        f"tcp://{n}": {"packages": {**HERE, "daskdl": "0.2.0"}} for n in range(9)
    }
    with pytest.raises(VersionMismatchError, match="and 4 more"):
        check_versions(versions)
