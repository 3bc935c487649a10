"""The scheduler of a cluster inside Spark, without a Spark."""

import os
import signal
import subprocess
import sys

import pytest
from distributed import Client

from daskdl.cluster.started_workers import certificates
from daskdl.errors import ClusterError
from daskdl_bridge.spark.cluster_process import WHO
from daskdl_bridge.spark.cluster_scheduler import scheduler_process
from tests.left_processes import left_of

HOST = "127.0.0.1"
DRIVER = f"""
import time
from daskdl_bridge.spark.cluster_scheduler import scheduler_process
with scheduler_process({HOST!r}, {HOST!r}, None) as address:
    print(address, flush=True)
    time.sleep(60)
"""


def pid_at(address, security=None):
    with Client(address, security=security, set_as_default=False) as client:
        return client.run_on_scheduler(os.getpid)


def test_the_scheduler_is_another_process_that_ends_with_the_block():
    security = certificates(WHO, "tls")
    with scheduler_process(HOST, HOST, security) as address:
        pid = pid_at(address, security)
        assert pid != os.getpid()
    assert left_of([pid]) == []


def test_it_takes_nobody_without_its_certificates():
    with (
        scheduler_process(HOST, HOST, certificates(WHO, "tls")) as address,
        pytest.raises((OSError, TypeError)),
    ):
        Client(address, timeout=3, set_as_default=False)


def test_it_ends_with_a_driver_that_is_killed():
    driver = subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE)
    try:
        pid = pid_at(driver.stdout.readline().decode().strip())
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        driver.stdout.close()
    assert left_of([pid]) == []


def test_a_host_that_is_not_of_this_machine_is_refused():
    # Kept for documentation: RFC 5737.
    elsewhere = "192.0.2.200"
    with (
        pytest.raises(ClusterError, match=f"must start at '{elsewhere}'"),
        scheduler_process(elsewhere, elsewhere, None),
    ):
        pass
