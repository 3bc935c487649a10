"""Spark jobs of this thread that another thread may cancel."""

import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from daskdl_bridge.spark.kinds import is_connect

__all__ = ["cancelable"]

logger = logging.getLogger(__name__)


@contextmanager
def cancelable(session: Any) -> Iterator[Callable[[], None]]:
    """Tag the jobs that this thread runs in the block.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        Classic or of Spark Connect.

    Yields
    ------
    callable
        Cancels them, from any thread. Python of their tasks is ended by Spark within
        seconds, whatever it waits for.
    """
    tag = f"daskdl-{uuid.uuid4().hex}"
    if is_connect(session):
        add, remove, cancel = session.addTag, session.removeTag, session.interruptTag
    else:
        context = session.sparkContext
        add, remove = context.addJobTag, context.removeJobTag
        cancel = context.cancelJobsWithTag

    def canceled() -> None:
        try:
            cancel(tag)
        except Exception as error:  # noqa: BLE001 - a session may have been stopped
            logger.warning("the jobs with tag %s stay: %s", tag, error)

    add(tag)
    try:
        yield canceled
    finally:
        remove(tag)
