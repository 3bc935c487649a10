"""What daskdl does inside a Spark program; needs pyspark, classic or Connect.

Names are found by entry point (group ``daskdl.spark``) when they are first used, so
that this module imports neither pyspark nor the bridge.
"""

import importlib.metadata
from typing import Any

from daskdl.checks import did_you_mean
from daskdl.errors import MissingExtraError

_GROUP = "daskdl.spark"


def __getattr__(name: str) -> Any:
    known = {one.name: one for one in importlib.metadata.entry_points(group=_GROUP)}
    if name not in known:
        raise AttributeError(
            f"module 'daskdl.spark' has no attribute {name!r}."
            f"{did_you_mean(name, known)}"
        )
    try:
        value = known[name].load()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        raise MissingExtraError(
            f"daskdl.spark.{name}: needs pyspark. Run: pip install 'daskdl[spark]'."
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(one.name for one in importlib.metadata.entry_points(group=_GROUP))
