"""Who is on one host: processes that can share memory."""

import os
import platform
import subprocess
import sys

import pytest

from daskdl.cluster import host_memory
from daskdl.cluster.host_memory import can_share_memory, host_here

sharing = pytest.mark.skipif(not can_share_memory(), reason="no shared memory here")


@sharing
def test_processes_of_one_machine_are_on_one_host():
    code = "from daskdl.cluster.host_memory import host_here; print(host_here())"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == host_here()


@sharing
def test_a_container_with_memory_of_its_own_is_another_host(monkeypatch):
    here = host_here()
    # Some other file system takes the place of what a container mounts there.
    monkeypatch.setattr(host_memory, "_FOLDER", "/proc")
    assert host_here() != here


@sharing
def test_another_machine_is_another_host(monkeypatch, tmp_path):
    here = host_here()
    other = tmp_path / "boot_id"
    other.write_text("c1f9b2de-0000-4000-8000-000000000000\n")
    monkeypatch.setattr(host_memory, "_BOOT_ID", str(other))
    assert host_here() != here


@sharing
def test_another_user_is_on_another_host(monkeypatch):
    here = host_here()
    monkeypatch.setattr(os, "getuid", lambda: -1)
    assert host_here() != here


@pytest.mark.parametrize("missing", ["memory", "boot id"])
def test_without_shared_memory_the_machine_has_its_name(monkeypatch, tmp_path, missing):
    if missing == "memory":
        monkeypatch.setattr(host_memory, "_FOLDER", str(tmp_path / "none"))
    else:
        monkeypatch.setattr(host_memory, "_BOOT_ID", str(tmp_path / "none"))
    assert host_here() == platform.node()
