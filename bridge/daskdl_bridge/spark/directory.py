"""Where Spark writes what workers read: a directory that both see."""

import os
import tempfile
import uuid
from contextlib import suppress
from typing import Any

from daskdl.checks import some
from daskdl.cluster.calls import call_each
from daskdl.data.retries import BROKEN
from daskdl.data.store import is_one_of, remove
from daskdl.errors import OptionError
from daskdl_bridge.spark.session import is_one_machine, setting
from daskdl_bridge.storage import filesystem, join_url, url_of

__all__ = ["DIRECTORY_SETTING", "DIRECTORY_VARIABLE", "export_directory"]

DIRECTORY_SETTING = "spark.daskdl.exportDirectory"
DIRECTORY_VARIABLE = "DASKDL_EXPORT_DIRECTORY"

# Enough tasks that each executor has some, whose number Spark Connect does not tell.
_PROBES = 64
# A worker that is stopped reads nothing either, and is told of where it matters.
_ANSWER_S = 10.0


def export_directory(
    session: Any, given: str | None, storage_options: dict[str, Any]
) -> str:
    """Return the directory for exports, which Spark and Dask's workers see.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
    given : str, optional
        As the user named it; else the environment or the session says it. Where Spark
        runs on this machine a directory for temporary files will do.
    storage_options : dict
        How to reach the store.

    Returns
    -------
    str
        A URL, also of a local directory: Spark takes a bare path for one of its default
        file system.

    Raises
    ------
    OptionError
        If none is named and Spark runs elsewhere; or if it is a local one that
        executors or workers do not see.
    """
    named = given or setting(session, DIRECTORY_SETTING, DIRECTORY_VARIABLE)
    if named is None:
        if not is_one_machine(session):
            raise OptionError(
                "export_directory: must name a directory that Spark's executors and "
                "Dask's workers see, such as hdfs:///user/ann/daskdl, got None. Give "
                f"it, or set {DIRECTORY_SETTING} or {DIRECTORY_VARIABLE}."
            )
        named = tempfile.gettempdir()
    fs, path = filesystem(named, storage_options)
    if not is_one_of(fs, "file", "local"):
        return url_of(fs, path)
    _check_seen(session, named, fs, path)
    return f"file://{path}"


def _check_seen(session: Any, named: str, fs: Any, path: str) -> None:
    """Refuse a local directory in which others do not see what is written here."""
    marker = f"{path}/.daskdl-{uuid.uuid4().hex}"
    try:
        fs.makedirs(path, exist_ok=True)
        fs.touch(marker)
    except OSError as error:
        raise OptionError(
            f"export_directory: {named} must be a directory that can be written, it is "
            f"not: {error.strerror or error}."
        ) from error
    try:
        blind = [*_blind_executors(session, marker), *_blind_workers(marker)]
    finally:
        with suppress(*BROKEN):
            remove(fs, marker)
    if blind:
        raise OptionError(
            f"export_directory: {named} must be seen by Spark's executors and by "
            f"Dask's workers, got {some(blind)} that do not see what this process "
            f"writes there. Name one of a shared store, such as "
            f"{join_url('hdfs:///user/ann', 'daskdl')}."
        )


def _blind_executors(session: Any, marker: str) -> list[str]:
    if is_one_machine(session):
        return []

    def look(batches: Any) -> Any:
        # Imported there: executors need pyarrow and nothing of this package.
        import os
        import socket

        import pyarrow

        for batch in batches:
            sees = os.path.exists(marker)
            host = [] if sees or not len(batch) else [socket.gethostname()]
            yield pyarrow.RecordBatch.from_pydict(
                {"host": pyarrow.array(host, pyarrow.string())}
            )

    tasks = session.range(0, _PROBES, 1, _PROBES)
    rows = tasks.mapInArrow(look, "host string").distinct().collect()
    return sorted(f"executors on {row['host']}" for row in rows)


def _blind_workers(marker: str) -> list[str]:
    from distributed import Client

    try:
        client = Client.current()
    except ValueError:
        return []
    asked = dict.fromkeys(client.nthreads(), (marker,))
    answers = client.sync(call_each, client, os.path.exists, asked, _ANSWER_S)
    blind = [address for address, sees in answers.values.items() if not sees]
    return sorted(f"worker {address}" for address in blind)
