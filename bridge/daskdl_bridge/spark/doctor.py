"""The checks of ``daskdl doctor --spark``: versions, executors, where exports go."""

import re
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pyspark
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from daskdl.checks import some
from daskdl.cli.doctor_cluster_checks import CheckedCluster, clocks_apart
from daskdl.cli.finding import Finding
from daskdl.cli.versions import versions_here
from daskdl.data.store import info_of, is_one_of, naming
from daskdl.errors import DaskdlError
from daskdl_bridge.spark import executor_facts
from daskdl_bridge.spark.directory import DIRECTORY_SETTING, DIRECTORY_VARIABLE
from daskdl_bridge.spark.executor_facts import (
    FACTS,
    MARKS,
    directory_mark,
    facts,
    marks_of,
)
from daskdl_bridge.spark.session import is_one_machine, setting
from daskdl_bridge.storage import filesystem

__all__ = ["doctor"]

# Enough tasks that each executor has some, whose number Spark Connect does not tell.
_TASKS = 64
_OF_PYTHON = re.compile(r"[\w.]+(Error|Exception): ")
_JAVA = "SELECT java_method('java.lang.System', 'getProperty', 'java.version')"


def doctor(cluster: CheckedCluster | None = None) -> Iterator[Finding]:
    """Check the Spark that this process gets: its own settings and environment rule.

    Parameters
    ----------
    cluster : CheckedCluster, optional
        Whose workers must see the export directory.

    Yields
    ------
    Finding
        Nothing is written, neither by Spark nor here.
    """
    found_one = SparkSession.getActiveSession() is not None
    try:
        session = SparkSession.builder.appName("daskdl doctor").getOrCreate()
        java = session.sql(_JAVA).first()[0]
    # Of Java, Py4J, gRPC or pyspark, by what is missing.
    except Exception as error:  # noqa: BLE001
        yield Finding(
            "Spark",
            f"pyspark {pyspark.__version__} gets no session: {_reason(error)}",
            is_ok=False,
            to_do="set JAVA_HOME, or SPARK_REMOTE for Spark Connect",
        )
        return
    try:
        yield _versions(session, java)
        yield from _executors(session)
        yield _export_directory(session, cluster)
    finally:
        if not found_one:
            session.stop()


def _versions(session: Any, java: str) -> Finding:
    # The numbers behind a second dot may differ.
    is_same = session.version.split(".")[:2] == pyspark.__version__.split(".")[:2]
    return Finding(
        "Spark",
        f"Spark {session.version}, pyspark {pyspark.__version__}, Java {java}, "
        f"master {session.conf.get('spark.master', 'of Spark Connect')}",
        is_ok=is_same,
        to_do="install pyspark of Spark's version",
        is_needed=False,
    )


def _executors(session: Any) -> Iterator[Finding]:
    begin_s = time.time()
    try:
        rows = _on_executors(session, facts, FACTS)
    # What a Python worker ends with comes as a Java exception.
    except Exception as error:  # noqa: BLE001
        yield Finding(
            "executors",
            _reason(error),
            is_ok=False,
            to_do="give executors this Python's minor version, NumPy and PyArrow "
            "(PYSPARK_PYTHON, spark.pyspark.python), and this process pandas",
        )
        return
    end_s = time.time()
    yield _executor_versions(rows)
    what = "clocks of the executors"
    if is_one_machine(session):
        yield Finding(what, "this machine's own: the executors run here")
        return
    # Of a host the last: tasks begin one after another.
    clocks = {row["host"]: row["time_s"] for row in rows}
    yield clocks_apart(what, clocks, begin_s, end_s)


def _executor_versions(rows: list[Any]) -> Finding:
    here = versions_here()
    hosts = {row["host"] for row in rows}
    packages = ("python", "numpy", "daskdl")
    differing = {
        f"{package} {row[package] or 'none'} on {row['host']}, {here[package]} here"
        for row in rows
        for package in packages
        if row[package] != here[package]
    }
    same = ", ".join(f"{package} {here[package]}" for package in packages)
    return Finding(
        "executors",
        some(sorted(differing)) or f"{len(hosts)} hosts, {same}",
        is_ok=not differing,
        to_do="install the same versions there; daskdl is needed for RDDs of DataSet, "
        "predict_udf and models only",
        is_needed=False,
    )


def _export_directory(session: Any, cluster: CheckedCluster | None) -> Finding:
    """Look at the directory of exports, where nothing is written to try it."""
    what = "export directory"
    named = setting(session, DIRECTORY_SETTING, DIRECTORY_VARIABLE)
    if named is None and not is_one_machine(session):
        return Finding(
            what,
            "none is named, and Spark's executors are elsewhere",
            is_ok=False,
            to_do=f"set {DIRECTORY_SETTING} or {DIRECTORY_VARIABLE} to one that "
            "executors and workers see, such as hdfs:///user/ann/daskdl",
            is_needed=False,
        )
    url = named or tempfile.gettempdir()
    try:
        with naming(url):
            fs, path = filesystem(url)
            info = info_of(fs, path)
    except (DaskdlError, OSError) as error:
        return Finding(what, str(error), is_ok=False, to_do="see the message")
    if not is_one_of(fs, "file", "local"):
        told = "is there" if info else "is made by the first export"
        return Finding(what, f"{url} {told}; a store that all see")
    return _local_directory(session, path, cluster)


def _local_directory(
    session: Any, path: str, cluster: CheckedCluster | None
) -> Finding:
    """Compare a local directory with what executors and workers have at its place."""
    ours = directory_mark(path)
    seen: dict[str, tuple[str, int, int]] = {"this process": ours}
    if not is_one_machine(session):
        rows = _on_executors(session, marks_of(path), MARKS)
        seen |= {f"executors on {row['host']}": tuple(row) for row in rows}
    if cluster is not None:
        workers = cluster.on_workers(directory_mark, path).values
        seen |= {f"worker {address}": mark for address, mark in workers.items()}
    blind = sorted(who for who, (_, inode, _) in seen.items() if not inode)
    others = sorted(who for who, mark in seen.items() if _is_another(mark, ours))
    told = f"{path}, the same for all {len(seen)} that looked"
    if others:
        told = f"{path} seems to be another directory for {some(others)}"
    if blind:
        told = f"{path} is no directory that can be written to for {some(blind)}"
    return Finding(
        "export directory",
        told,
        is_ok=not blind and not others,
        to_do="name one of a shared store, such as hdfs:///user/ann/daskdl",
        is_needed=bool(blind),
    )


def _is_another(mark: tuple[str, int, int], ours: tuple[str, int, int]) -> bool:
    host, inode, changed_s = mark
    # On one host it may change between two looks.
    return inode != ours[1] or (host != ours[0] and changed_s != ours[2])


def _on_executors(session: Any, function: Any, schema: str) -> list[Any]:
    cloudpickle.register_pickle_by_value(executor_facts)
    tasks = session.range(0, _TASKS, 1, _TASKS)
    rows: list[Any] = tasks.mapInArrow(function, schema).collect()
    return rows


def _reason(error: BaseException) -> str:
    """Return the line that says why, of the tracebacks of two languages."""
    lines = str(error).partition("JVM stacktrace")[0].splitlines()
    of_python = [line for line in lines if _OF_PYTHON.match(line)]
    return (of_python or [line for line in lines if line.strip()] or [repr(error)])[-1]
