"""Names of columns as Spark reads them: a dot reaches into a struct unless quoted."""

from typing import Any

__all__ = ["quoted", "with_plain_names"]


def quoted(name: str) -> str:
    """Return what Spark takes for the column of that name, whatever it holds.

    Needed by ``col``, ``select`` and ``frame[...]``, which parse what they are given;
    ``withColumn``, ``drop`` and ``schema[...]`` take names as they are.
    """
    return "`" + name.replace("`", "``") + "`"


def with_plain_names(frame: Any) -> Any:
    """Return a DataFrame of the same columns, with names that need no quotes.

    For ``mapInArrow``: pyspark looks up the columns by their names, unquoted.
    """
    return frame.toDF(*[f"column_{number}" for number in range(len(frame.columns))])
