"""Spark sessions: that of data, and what is set in it."""

import os
from typing import Any

from distributed.utils import get_ip

from daskdl_bridge.spark.kinds import is_connect, is_frame

__all__ = ["LOOPBACK", "is_one_machine", "session_of", "setting"]

LOOPBACK = "127.0.0.1"


def session_of(data: Any) -> Any:
    """Return the session that a DataFrame or RDD belongs to."""
    if is_frame(data):
        return data.sparkSession
    from pyspark.sql import SparkSession

    # An RDD knows its context only, and a process has one of those.
    return SparkSession.builder.getOrCreate()


def setting(session: Any, name: str, variable: str) -> str | None:
    """Return what is set in an environment variable, or else in Spark's session.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
    name : str
        In Spark: ``spark.daskdl.scheduler``.
    variable : str
        Of the environment, which a user of one program sets more easily than Spark's
        configuration.
    """
    return os.environ.get(variable) or session.conf.get(name, None)


def is_one_machine(session: Any) -> bool:
    """Return whether driver, executors and this process are on the same machine."""
    # "local-cluster[...]" too.
    if not session.conf.get("spark.master", "").startswith("local"):
        return False
    return not is_connect(session) or get_ip(session.client.host) == LOOPBACK
