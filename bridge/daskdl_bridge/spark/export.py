"""Exports: DataFrames and RDDs written by Spark where Dask's workers read them.

Spark writes Parquet by its own committer, so that a task that is tried again or twice
leaves its rows once, on every version and through Spark Connect. What DL4J called
``RDDTrainingApproach.Export``.
"""

import atexit
import logging
import uuid
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from daskdl.data.retries import BROKEN
from daskdl.data.store import kind_of, remove
from daskdl.errors import OptionError
from daskdl.option_types import with_checked_types
from daskdl_bridge import element_blocks
from daskdl_bridge.element_kinds import ElementKind, Keys
from daskdl_bridge.spark.column_names import quoted
from daskdl_bridge.spark.directory import export_directory
from daskdl_bridge.spark.executor_errors import telling_executor_errors
from daskdl_bridge.spark.kinds import is_frame, is_rdd
from daskdl_bridge.spark.old_dates import writing_old_dates
from daskdl_bridge.spark.rdd_kinds import Form, blocks_of, kind_of_rdd
from daskdl_bridge.spark.running_clusters import check_slots
from daskdl_bridge.spark.session import session_of
from daskdl_bridge.storage import filesystem, join_url

__all__ = [
    "Export",
    "carry_by_value",
    "chosen_columns",
    "delete_temp_files",
    "export",
    "exported",
]

logger = logging.getLogger(__name__)

# Row groups that a worker reads as a partition. Parquet looks at their size after a
# hundred rows only, unless it is told to; and a row is a minibatch here.
_BLOCK_OPTIONS = {
    "parquet.block.size": str(16 << 20),
    "parquet.page.size.row.check.min": "1",
    "parquet.page.size.row.check.max": "1",
    "parquet.enable.dictionary": "false",
    "compression": "none",
}


@dataclass(frozen=True, eq=False)
class Export:
    """Data that Spark has written, to be given wherever its DataFrame or RDD may be.

    As a context manager it removes the files on the way out. Spark may stop before.

    Attributes
    ----------
    url : str
        Directory of Parquet files.
    name : str
        What messages call the data.
    form : {"columns", "minibatches", "examples"}
        Columns of a table, or blocks of an RDD: its minibatches, or examples that are
        still to be cut.
    storage_options : dict
        How to reach the store.
    keys : {"values", "pickles"}, optional
        What stands for the keys of blocks in a predictions file; None if they have
        none.
    """

    url: str
    name: str
    form: Form = "columns"
    storage_options: dict[str, Any] = field(default_factory=dict)
    keys: Keys | None = None

    @property
    def called(self) -> str:
        """What was exported, without where it is: ``Spark DataFrame``."""
        return self.name.removesuffix(f" in {self.url}")

    def delete_temp_files(self) -> None:
        """Remove the files; harmless if they are gone."""
        fs, path = filesystem(self.url, self.storage_options)
        try:
            if kind_of(fs, path) is not None:
                remove(fs, path, recursive=True)
        except BROKEN as error:
            logger.warning("%s: must be removed, it is not: %s", self.url, error)

    def __enter__(self) -> "Export":
        return self

    def __exit__(self, *exception: object) -> None:
        self.delete_temp_files()


@with_checked_types
def export(
    data: Any,
    directory: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Export:
    """Have Spark write a DataFrame or an RDD where Dask's workers read it.

    Parameters
    ----------
    data : pyspark DataFrame or RDD
        RDDs hold DataSets, MultiDataSets, LabeledPoints, Rows, ``(key, features)`` or
        ``(key, features, features mask)``, or ``(features, labels)``: arrays of one
        example each, or a tuple of them for each input. An array in front is features.
    directory : str, optional
        A directory that Spark's executors and Dask's workers see; the export gets one
        of its own in it. See `daskdl_bridge.spark.directory.export_directory`.
    columns : sequence of str, optional
        Of a DataFrame; all if not given.
    storage_options : dict, optional
        How this process and the workers reach the store.

    Returns
    -------
    Export
        Given to ``fit`` or ``evaluate`` as often as it is needed; remove its files
        with `Export.delete_temp_files`, or by a ``with`` block.

    Raises
    ------
    OptionError
        If `data` is nothing of Spark's or is a stream, the directory is not seen by
        all, or Dask's workers hold all of Spark's slots; before Spark writes.
    DataError
        If an RDD holds nothing, or what cannot be exported.
    """
    if not is_frame(data) and not is_rdd(data):
        raise OptionError(
            "export: data must be a DataFrame or an RDD of Spark, got "
            f"{type(data).__module__}.{type(data).__qualname__}."
        )
    options = dict(storage_options or {})
    session = session_of(data)
    check_slots("export", session)
    if is_frame(data):
        frame = chosen_columns("export", data, columns)
        form, keys, name = "columns", None, "Spark DataFrame"
    else:
        with telling_executor_errors("export"):
            frame, form, name = _frame_of_rdd(session, data)
        keys = kind_of_rdd(data).keys
    above = export_directory(session, directory, options)
    url = join_url(above, f"daskdl-export-{uuid.uuid4().hex}")
    done = Export(url, f"{name} in {url}", form, options, keys)  # type: ignore[arg-type]
    try:
        how = {} if form == "columns" else _BLOCK_OPTIONS
        with telling_executor_errors("export"), writing_old_dates(session):
            frame.write.options(**how).parquet(url)
    except BaseException:
        done.delete_temp_files()
        raise
    return done


def chosen_columns(who: str, frame: Any, columns: Sequence[str] | None) -> Any:
    """Return a DataFrame of some columns, all if None.

    Raises
    ------
    OptionError
        If it is a stream.
    """
    if frame.isStreaming:
        raise OptionError(
            f"{who}: data must be a DataFrame with an end, got a stream. Hand over "
            "each batch: data.writeStream.foreachBatch(...)."
        )
    return frame if columns is None else frame.select(list(map(quoted, columns)))


def _frame_of_rdd(session: Any, rdd: Any) -> tuple[Any, Form, str]:
    kind = kind_of_rdd(rdd)
    name = f"Spark RDD of {kind.value}"
    if kind is ElementKind.ROWS:
        return session.createDataFrame(rdd), "columns", name
    rows_of, form = blocks_of("export", kind)
    rows = rdd.mapPartitions(rows_of)
    carry_by_value(element_blocks)
    frame = session.createDataFrame(
        rows, element_blocks.BLOCK_SCHEMA, verifySchema=False
    )
    return frame, form, name


def carry_by_value(module: Any) -> None:
    """Have Spark carry the functions of a module: executors need not have it."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(module)


class _Kept:
    """Exports that this process made by itself, and removes again.

    What a DataFrame was exported to is given again as long as the object lives.
    """

    def __init__(self) -> None:
        self._of: dict[int, dict[tuple[str, ...] | None, Export]] = {}
        self._others: list[Export] = []

    def of(self, data: Any) -> dict[tuple[str, ...] | None, Export]:
        if id(data) not in self._of:
            self._of[id(data)] = {}
            weakref.finalize(data, self._forget, id(data))
        return self._of[id(data)]

    def keep(self, one: Export) -> None:
        if not self._others:
            atexit.register(self.remove_all)
        self._others.append(one)

    def remove_all(self) -> None:
        for number in list(self._of):
            self._forget(number)
        while self._others:
            self._others.pop().delete_temp_files()

    def _forget(self, number: int) -> None:
        for one in self._of.pop(number, {}).values():
            one.delete_temp_files()


_KEPT = _Kept()


def exported(
    data: Any,
    directory: str | None,
    columns: Sequence[str] | None,
    storage_options: dict[str, Any],
) -> Export:
    """Return the export of some columns, made unless it is there.

    It is removed when the DataFrame or RDD is, at the end of the process, or by
    `delete_temp_files`.
    """
    wanted = None if columns is None else tuple(columns)
    known = _KEPT.of(data)
    if wanted not in known:
        known[wanted] = export(
            data, directory, columns=columns, storage_options=storage_options
        )
    return known[wanted]


def kept_until_exit(one: Export) -> Export:
    """Return an export whose files a DataFrame or RDD of the user reads."""
    _KEPT.keep(one)
    return one


def delete_temp_files() -> None:
    """Remove what ``fit`` and its like had Spark export, and written predictions.

    DataFrames and RDDs that predictions came back as cannot be read after that.
    """
    _KEPT.remove_all()
