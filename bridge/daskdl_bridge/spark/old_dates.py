"""Days and instants of long ago, which Spark 3 does not write unless told how."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from daskdl.errors import DataError
from daskdl_bridge.spark.kinds import is_connect

__all__ = ["refused_old_dates", "writing_old_dates"]

# The second is that of timestamps which are stored as INT96.
_MODES = (
    "spark.sql.parquet.datetimeRebaseModeInWrite",
    "spark.sql.parquet.int96RebaseModeInWrite",
)
_REFUSED = "WRITE_ANCIENT_DATETIME"


@contextmanager
def writing_old_dates(session: Any) -> Iterator[None]:
    """Have jobs of this thread write dates and timestamps to Parquet as they are.

    Spark 4 does. Spark 3 refuses dates before 15 October 1582 and timestamps before
    1900, unless its session says how. What the session says counts here too.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        It stays as it is. Of Spark Connect nothing can be told beside it.
    """
    if is_connect(session):
        yield
        return
    # Tasks look their settings up among the properties of the job, where Spark puts
    # what the session has; no other thread's jobs have these.
    context = session.sparkContext
    before = {mode: context.getLocalProperty(mode) for mode in _MODES}
    for mode in _MODES:
        context.setLocalProperty(mode, "CORRECTED")
    try:
        yield
    finally:
        for mode, value in before.items():
            context.setLocalProperty(mode, value)


def refused_old_dates(who: str, text: str) -> DataError | None:
    """Return what to raise if the text of an error says that Spark refused old dates.

    Parameters
    ----------
    who : str
        For the message.
    text : str
        Of Spark.
    """
    if _REFUSED not in text:
        return None
    settings = " and ".join(f'spark.conf.set("{mode}", "CORRECTED")' for mode in _MODES)
    return DataError(
        f"{who}: dates must be of 15 October 1582 or later, and timestamps of 1900 or "
        "later, for Spark 3 to write them to Parquet, got earlier ones in a column. "
        f"{settings} write them as they are; or leave the column out."
    )
