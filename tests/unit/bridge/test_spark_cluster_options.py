"""What a cluster inside Spark takes from its arguments and from Spark's options."""

import pytest

from daskdl.errors import OptionError
from daskdl_bridge.spark.cluster_options import SparkClusterOptions

LOOPBACK = "127.0.0.1"


class Conf:
    def __init__(self, options):
        self._options = options

    def get(self, name, *default):
        return self._options.get(name, *default)


class Session:
    """A session of which only the options are asked."""

    def __init__(self, **options):
        self.conf = Conf({f"spark.{k.replace('_', '.')}": options[k] for k in options})


def connect_session(host, **options):
    session = type("SparkSession", (Session,), {"__module__": "pyspark.sql.connect.x"})(
        **options
    )
    session.client = type("Client", (), {"host": host})
    return session


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": 0}, "workers must be a whole number > 0, got 0"),
        ({"threads": 1.5}, "threads must be a whole number > 0, got 1.5"),
        ({"memory": 4096}, "memory must be a str, got int"),
        ({"memory": "much"}, "memory must be a size such as '2 GiB'"),
        ({"memory": "100 MiB"}, "memory must be at least '400 MiB'"),
        ({"host": 1}, "host must be a str, got int"),
        ({"start_timeout_s": 0}, "start_timeout_s must be > 0, got 0"),
        ({"security": "ssl"}, "security must be one of 'none', 'tls', got 'ssl'"),
    ],
)
def test_nonsense_is_refused(options, said):
    with pytest.raises(OptionError, match=f"daskdl.spark.cluster: {said}"):
        SparkClusterOptions(**{"workers": 2, **options})


def test_a_worker_has_the_cores_of_a_task():
    session = Session(task_cpus="3")
    assert SparkClusterOptions(workers=1).worker_threads(session) == 3


def test_threads_that_are_given_are_taken():
    session = Session(task_cpus="3")
    assert SparkClusterOptions(workers=1, threads=2).worker_threads(session) == 2


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({"master": "local[4]"}, "auto"),
        ({"master": "local"}, "auto"),
        ({"master": "yarn", "executor_memoryOverhead": "2g"}, "1664 MiB"),
        ({"master": "k8s://x", "executor_memoryOverhead": "2048"}, "1664 MiB"),
        (
            {
                "master": "spark://x:7077",
                "executor_memoryOverhead": "4GB",
                "executor_cores": "8",
                "task_cpus": "2",
            },
            "928 MiB",
        ),
    ],
)
def test_memory_is_what_spark_sets_aside(options, limit):
    assert SparkClusterOptions(workers=1).worker_memory(Session(**options)) == limit


def test_memory_that_is_given_is_taken():
    options = SparkClusterOptions(workers=1, memory="3 GiB")
    assert options.worker_memory(Session(master="yarn")) == "3 GiB"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"master": "yarn"}, "memory must be given"),
        (
            {"master": "spark://x:7077", "executor_memoryOverhead": "4g"},
            "memory must be given",
        ),
        (
            {"master": "yarn", "executor_memoryOverhead": "512m"},
            r"memory \(from spark.executor.memoryOverhead\) must be a",
        ),
        (
            {"master": "yarn", "executor_memoryOverhead": "lots"},
            "memoryOverhead must be a size such as '4g', got 'lots'",
        ),
    ],
)
def test_memory_that_nobody_set_aside_is_asked_for(options, said):
    with pytest.raises(OptionError, match=said):
        SparkClusterOptions(workers=1).worker_memory(Session(**options))


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_on_one_machine_the_scheduler_listens_on_loopback(master):
    session = Session(master=master, driver_host="driver")
    hosts = SparkClusterOptions(workers=1).scheduler_hosts(session)
    assert hosts == (LOOPBACK, LOOPBACK)


def test_executors_know_the_scheduler_as_they_know_the_driver():
    session = Session(master="yarn", driver_host="edge", driver_bindAddress="0.0.0.0")
    assert SparkClusterOptions(workers=1).scheduler_hosts(session) == (
        "0.0.0.0",
        "edge",
    )


def test_without_an_address_to_bind_it_listens_where_it_is_known():
    session = Session(master="yarn", driver_host="edge")
    assert SparkClusterOptions(workers=1).scheduler_hosts(session) == ("edge", "edge")


def test_a_host_that_is_given_is_taken():
    options = SparkClusterOptions(workers=1, host="10.0.0.1")
    assert options.scheduler_hosts(Session(master="yarn")) == ("10.0.0.1", "10.0.0.1")


def test_beside_a_local_connect_server_it_listens_on_loopback():
    session = connect_session("localhost", master="local[2]")
    hosts = SparkClusterOptions(workers=1).scheduler_hosts(session)
    assert hosts == (LOOPBACK, LOOPBACK)


def test_with_connect_it_listens_where_the_server_is_reached(monkeypatch):
    ours = "10.0.0.7"
    monkeypatch.setattr(
        "daskdl_bridge.spark.cluster_options.get_ip", {"server": ours}.__getitem__
    )
    session = connect_session("server", master="yarn", driver_host="elsewhere")
    assert SparkClusterOptions(workers=1).scheduler_hosts(session) == (ours, ours)
