"""One Spark on this machine for all tests of this folder."""

import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from tests.hdfs.conftest import hdfs  # noqa: F401 - a fixture
from tests.spark.places import SESSION, client_options


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start a Spark session with two local threads and no web pages."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs java on the PATH")
    options = {
        **SESSION,
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    with pytest.MonkeyPatch.context() as patch:
        # Else Spark's Python workers are the first python3 on the PATH.
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = sql.SparkSession.builder.master("local[2]").appName("daskdl tests")
        session = builder.config(map=options).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


@pytest.fixture(params=["local", pytest.param("hdfs", marks=pytest.mark.slow)])
def folder(request: pytest.FixtureRequest, tmp_path: Path, spark: Any) -> str:
    """Path or URL of a directory that daskdl and Spark both reach."""
    if request.param == "local":
        return str(tmp_path)
    mini = request.getfixturevalue("hdfs")
    # Spark may run already, without the configuration of the mini HDFS.
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in client_options(mini).items():
        configuration.set(name, value)
    return f"{mini.uri}/{uuid.uuid4().hex}"


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A client of a Dask cluster of two workers."""
    options: dict[str, Any] = {
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
    }
    with (
        LocalCluster(n_workers=2, host="127.0.0.1", **options) as cluster,
        Client(cluster) as client,
    ):
        yield client
