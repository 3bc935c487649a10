"""The rows that are held back for validation."""

from typing import Any

from daskdl.errors import DataError, OptionError
from daskdl_bridge.spark.column_names import quoted
from daskdl_bridge.spark.executor_errors import telling_executor_errors

__all__ = ["split_by_indicator"]


def split_by_indicator(who: str, frame: Any, indicator: str) -> tuple[Any, Any]:
    """Return the rows to train on and those held back, as DataFrames.

    Parameters
    ----------
    who : str
        For messages: the estimator.
    frame : pyspark DataFrame
    indicator : str
        The column that is true where a row is held back; null is false.

    Raises
    ------
    OptionError
        If the column is not boolean.
    DataError
        If it is true in no row, or in all; before anything is trained.
    """
    from pyspark.sql import functions

    kind = frame.schema[indicator].dataType.simpleString()
    if kind != "boolean":
        raise OptionError(
            f"{who}: validationIndicatorCol must name a boolean column, got "
            f"{indicator!r} of {kind}."
        )
    is_held = functions.coalesce(functions.col(quoted(indicator)), functions.lit(False))
    train, held_back = frame.where(~is_held), frame.where(is_held)
    for rows, purpose, value in (
        (held_back, "validation", "true"),
        (train, "training", "false or null"),
    ):
        with telling_executor_errors(who):
            is_empty = rows.isEmpty()
        if is_empty:
            raise DataError(
                f"{who}: validationIndicatorCol must leave rows for {purpose}, got "
                f"none: {indicator!r} is {value} in no row."
            )
    return train, held_back
