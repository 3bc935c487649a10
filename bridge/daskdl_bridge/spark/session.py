"""Spark sessions: that of data, and what is set in it."""

import os
from typing import Any

from daskdl_bridge.spark.kinds import is_frame

__all__ = ["runs_here", "session_of", "setting"]


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


def runs_here(session: Any) -> bool:
    """Whether Spark's executors run on this machine, as far as its master tells."""
    return str(session.conf.get("spark.master", "")).startswith("local")
