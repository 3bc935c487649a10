"""One real HDFS for all tests of this folder: two NameNodes, three DataNodes."""

import getpass
import importlib.util
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.hdfs.httpfs.gateway import httpfs

# The test bed lies beside the repository; a fresh checkout has none.
TESTBED = Path(
    os.environ.get("DASKDL_TESTBED") or Path(__file__).parents[3] / "shared" / "testbed"
)
# The smallest block that HDFS allows: a file of a few MB then spans several blocks.
BLOCK_BYTES = 1 << 20


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start an HDFS; ``.uri`` is its root, ``.command(...)`` breaks it on purpose.

    ``HADOOP_CONF_DIR`` is set while it runs, so that this process and those that it
    starts find the name service.
    """
    pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
    minihdfs = load_minihdfs()
    # A gateway speaks for others.
    proxy = f"hadoop.proxyuser.{getpass.getuser()}"
    cluster = minihdfs.MiniHDFS(
        tmp_path_factory.mktemp("hdfs"),
        ha=True,
        datanodes=3,
        conf={
            "dfs.blocksize": BLOCK_BYTES,
            f"{proxy}.hosts": "*",
            f"{proxy}.groups": "*",
        },
    )
    try:
        cluster.start()
    except minihdfs.HDFSError as error:
        pytest.skip(f"the mini HDFS does not start: {error}")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.env.items():
            patch.setenv(name, value)
        yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def gateway(hdfs: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start an HttpFS before the HDFS, and return its URL."""
    folder = tmp_path_factory.mktemp("httpfs")
    with httpfs(folder, hdfs.conf_dir, hdfs.state["hadoop"]) as root:
        yield root


@pytest.fixture(params=["hdfs", "webhdfs"])
def url(hdfs: Any, request: pytest.FixtureRequest) -> str:
    """URL of a directory that is not there yet, by either protocol."""
    name = f"daskdl-{uuid.uuid4().hex}"
    if request.param == "hdfs":
        return f"{hdfs.uri}/{name}"
    return f"{web_server(hdfs)}/{name}"


def web_server(hdfs: Any, namenode: int | None = None) -> str:
    """Return the URL of a NameNode over HTTP, of the active one by default."""
    pytest.importorskip("requests", reason="requests is not installed")
    if namenode is None:
        namenode = int(hdfs.command("active"))
    server: str = hdfs.state["web"][namenode]
    return server.replace("http:", "webhdfs:")


def load_minihdfs() -> ModuleType:
    path = TESTBED / "hdfs" / "minihdfs.py"
    if not path.is_file():
        pytest.skip(f"no test bed: {path} is missing (set DASKDL_TESTBED)")
    spec = importlib.util.spec_from_file_location("minihdfs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_java(conf_dir: str, tool: str, *arguments: str) -> None:
    """Run a tool of Hadoop, such as ``DFSAdmin``, on a cluster."""
    home = os.environ.get("JAVA_HOME")
    command = [
        f"{home}/bin/java" if home else "java",
        f"-Djava.security.krb5.conf={os.environ.get('KRB5_CONFIG', '')}",
        "-cp",
        os.pathsep.join([conf_dir, *load_minihdfs().classpath()]),
        f"org.apache.hadoop.hdfs.tools.{tool}",
        *arguments,
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
