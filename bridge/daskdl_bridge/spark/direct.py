"""Live DataFrames and RDDs in the memory of Dask's workers, with no store between.

Spark's tasks push their rows to the workers by Arrow Flight, what DL4J called
``RDDTrainingApproach.Direct``. What comes back to the driver, of one attempt of each
task, says which rows count.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dask.utils import parse_bytes
from distributed import Client

from daskdl.checks import check_positive
from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import MissingExtraError, OptionError
from daskdl.option_types import with_checked_types
from daskdl_bridge import element_blocks
from daskdl_bridge.element_kinds import ElementKind, Keys
from daskdl_bridge.spark.direct_pieces import Spill
from daskdl_bridge.spark.direct_session import Session
from daskdl_bridge.spark.direct_source import (
    Piece,
    open_pieces,
    open_pieces_of_blocks,
)
from daskdl_bridge.spark.directory import (
    DIRECTORY_SETTING,
    DIRECTORY_VARIABLE,
    export_directory,
)
from daskdl_bridge.spark.executor_errors import telling_executor_errors
from daskdl_bridge.spark.export import carry_by_value, chosen_columns
from daskdl_bridge.spark.kinds import is_frame, is_rdd
from daskdl_bridge.spark.rdd_kinds import Form, blocks_of, kind_of_rdd
from daskdl_bridge.spark.running_clusters import check_slots
from daskdl_bridge.spark.session import session_of, setting
from daskdl_bridge.storage import join_url

__all__ = ["DirectData", "direct"]


@dataclass(eq=False)
class DirectData:
    """What Dask's workers hold of a DataFrame or an RDD, to be given in its place.

    A context manager: on the way out the workers' servers are closed, their memory is
    freed and what they wrote is removed. Spark may stop before.

    Attributes
    ----------
    name : str
        What messages call the data.
    form : {"columns", "minibatches", "examples"}
        See :class:`daskdl_bridge.spark.export.Export`.
    pieces : tuple of Piece
        Where the rows are, in their order.
    keys : {"values"}, optional
        See :class:`daskdl_bridge.spark.export.Export`.
    """

    name: str
    form: Form
    pieces: tuple[Piece, ...]
    keys: Keys | None
    _schema: Any = field(repr=False)
    _session: Session = field(repr=False)

    @property
    def rows(self) -> int:
        """Number of rows of a DataFrame, or of blocks of an RDD."""
        return sum(piece.rows for piece in self.pieces)

    def open(self, options: SourceOptions) -> Source:
        """Return partitions of what the workers hold; see `open_pieces`.

        Raises
        ------
        OptionError
            If the block has ended.
        """
        session = self._session
        if session.is_closed:
            raise OptionError(
                "direct: data must be given within their with block, it has ended: the "
                "workers hold nothing any more."
            )
        access = session.options.access
        if self.form == "columns":
            return open_pieces(self.name, self.pieces, self._schema, access, options)
        is_minibatches = self.form == "minibatches"
        return open_pieces_of_blocks(
            self.name,
            self.pieces,
            access,
            options,
            minibatches=is_minibatches,
            keys=self.keys,
        )

    @property
    def storage_options(self) -> dict[str, Any]:
        """How workers reach what they wrote."""
        spill = self._session.options.spill
        return {} if spill is None else spill.storage_options

    def close(self) -> None:
        """Free what the workers hold; harmless if that is done."""
        self._session.close()

    def __enter__(self) -> "DirectData":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@with_checked_types
def direct(
    data: Any,
    client: Client,
    *,
    columns: Sequence[str] | None = None,
    memory_limit: int | str | None = None,
    export_directory: str | None = None,
    storage_options: dict[str, Any] | None = None,
    worker_timeout_s: float = 60.0,
) -> DirectData:
    """Have Spark send a DataFrame or an RDD into the memory of Dask's workers.

    Parameters
    ----------
    data : pyspark DataFrame or RDD
        RDDs hold what :func:`daskdl_bridge.spark.export.export` takes. Executors need
        pyarrow with Flight, and must reach the workers at the addresses by which Dask
        knows them, on ports of their choice.
    client : distributed.Client
        All workers that are there hold a part. Those that come later read from them.
    columns : sequence of str, optional
        Of a DataFrame; all if not given.
    memory_limit : int or str, optional
        Of the rows that one worker holds: bytes, or ``"2 GiB"``. A quarter of the
        worker's own limit if not given. The examples that it makes of rows come beside
        that.
    export_directory : str, optional
        Where workers write what is beyond: a directory that Spark's executors and all
        workers see, or what `daskdl_bridge.spark.directory` names by default.
    storage_options : dict, optional
        How this process and the workers reach that store.
    worker_timeout_s : float
        How long a worker may take to answer, and how long one may send no heartbeat
        while it is sent rows (10 s at least): kernels may hold it, and it may be
        stopped. Spark's job is then canceled.

    Returns
    -------
    DirectData
        To be used in a ``with`` block.

    Raises
    ------
    OptionError
        If `data` is nothing of Spark's, or a stream; if workers have no room and there
        is no export directory, or one that not all see; if workers hold all of Spark's
        slots.
    DataError
        If there are no rows, or an RDD holds what cannot be sent.
    ClusterError
        If no worker is there, or none takes what an executor sends.
    WorkerLostError
        If a worker went while it was sent rows, or was silent for too long.

    Notes
    -----
    A worker that dies takes its rows with it; a fit then ends with a `WorkerLostError`.
    Where that is too dear, use :func:`daskdl_bridge.spark.export.export`.
    """
    if not is_frame(data) and not is_rdd(data):
        raise OptionError(
            "direct: data must be a DataFrame or an RDD of Spark, got "
            f"{type(data).__module__}.{type(data).__qualname__}. Give paths as they "
            "are."
        )
    check_positive("direct", "worker_timeout_s", worker_timeout_s)
    session_of_spark = session_of(data)
    check_slots("direct", session_of_spark)
    _check_flight()
    with telling_executor_errors("direct"):
        sent, rows_of, form, name = _sent(session_of_spark, data, columns)
    limit = _bytes(memory_limit)
    spill = _spill(session_of_spark, client, export_directory, storage_options)
    session = Session(client, limit, spill, worker_timeout_s)
    try:
        session.open()
        with telling_executor_errors("direct"):
            told = session.push(session_of_spark, sent, rows_of)
        settled = session.settled(told)
    except BaseException:
        session.close()
        raise
    keys = kind_of_rdd(data).keys if is_rdd(data) else None
    return DirectData(name, form, settled.pieces, keys, settled.schema, session)


def _sent(
    session: Any, data: Any, columns: Sequence[str] | None
) -> tuple[Any, Callable[[Any], Any] | None, Form, str]:
    """Return what is sent, what makes rows of an RDD, their form, and the name."""
    if is_frame(data):
        frame = chosen_columns("direct", data, columns)
        return frame, None, "columns", "Spark DataFrame"
    kind = kind_of_rdd(data)
    name = f"Spark RDD of {kind.value}"
    if kind is ElementKind.ROWS:
        return session.createDataFrame(data), None, "columns", name
    rows_of, form = blocks_of("direct", kind)
    carry_by_value(element_blocks)
    return data, rows_of, form, name


def _check_flight() -> None:
    try:
        import pyarrow.flight  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "direct: needs pyarrow with Flight here, on the workers and on Spark's "
            "executors. Run: pip install pyarrow."
        ) from error


def _bytes(memory_limit: int | str | None) -> int | None:
    if memory_limit is None:
        return None
    try:
        n_bytes = parse_bytes(memory_limit)
    except ValueError as error:
        raise OptionError(
            f"direct: memory_limit must be bytes or a size such as '2 GiB', got "
            f"{memory_limit!r}."
        ) from error
    return int(check_positive("direct", "memory_limit", n_bytes))


def _spill(
    session: Any,
    client: Client,
    given: str | None,
    storage_options: dict[str, Any] | None,
) -> Spill | None:
    named = given or setting(session, DIRECTORY_SETTING, DIRECTORY_VARIABLE)
    if named is None:
        return None
    options = dict(storage_options or {})
    with client.as_current():
        above = export_directory(session, named, options)
    return Spill(join_url(above, f"daskdl-direct-{uuid.uuid4().hex}"), options)
