"""What Spark hands over, told apart without importing pyspark.

Openers are asked for all data, also where no pyspark is installed.
"""

from typing import Any

__all__ = ["is_connect", "is_frame", "is_handed_over", "is_rdd"]


def is_frame(data: Any) -> bool:
    """Whether `data` is a DataFrame, of classic Spark or of Spark Connect."""
    return _is_a(data, "pyspark.sql.", "DataFrame")


def is_rdd(data: Any) -> bool:
    """Whether `data` is an RDD."""
    return _is_a(data, "pyspark.", "RDD")


def is_handed_over(data: Any) -> bool:
    """Whether `data` is what `export` or `direct` of this package returned."""
    package = "daskdl_bridge.spark."
    return _is_a(data, package, "Export") or _is_a(data, package, "DirectData")


def is_connect(data: Any) -> bool:
    """Whether a DataFrame or session speaks to a server of Spark Connect."""
    return type(data).__module__.startswith("pyspark.sql.connect.")


def _is_a(data: Any, package: str, name: str) -> bool:
    return any(
        kind.__name__ == name and f"{kind.__module__}.".startswith(package)
        for kind in type(data).__mro__
    )
