"""The scheduler of a cluster inside Spark, without a Spark."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

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
# In a process of its own, which a client that nobody takes leaves threads in.
STRANGER = """
import sys
from distributed import Client
Client(sys.argv[1], timeout=3)
print("taken")
"""


def schedulers_of(pid):
    return [
        child.pid
        for child in psutil.Process(pid).children()
        if scheduler_process.__module__ in child.cmdline()
    ]


def test_the_scheduler_is_another_process_that_ends_with_the_block():
    with scheduler_process(HOST, HOST, certificates(WHO, "tls")):
        pids = schedulers_of(os.getpid())
        assert len(pids) == 1
    assert left_of(pids) == []


def test_it_takes_nobody_without_its_certificates():
    with scheduler_process(HOST, HOST, certificates(WHO, "tls")) as address:
        stranger = subprocess.run(
            [sys.executable, "-c", STRANGER, address],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert stranger.returncode == 1
    assert "Error" in stranger.stderr
    assert "taken" not in stranger.stdout


def test_it_ends_with_a_driver_that_is_killed():
    driver = subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE)
    try:
        assert driver.stdout.readline().decode().startswith("tcp://")
        pids = schedulers_of(driver.pid)
        assert len(pids) == 1
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        driver.stdout.close()
    assert left_of(pids) == []


def test_a_host_that_is_not_of_this_machine_is_refused():
    # Kept for documentation: RFC 5737.
    elsewhere = "192.0.2.200"
    with (
        pytest.raises(ClusterError, match=f"must start at '{elsewhere}'"),
        scheduler_process(elsewhere, elsewhere, None),
    ):
        pass
