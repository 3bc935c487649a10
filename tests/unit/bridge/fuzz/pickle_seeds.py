"""Pickle files of every kind of object that Spark's are read for."""

import array
import datetime
import decimal
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from daskdl_bridge.readers.java_arrays import encode_byte_arrays
from tests.unit.bridge import spark_classes
from tests.unit.bridge.fuzz.canary import Allowed
from tests.unit.bridge.fuzz.seeds import Seed
from tests.unit.bridge.sequence_files import header, records, stored_bytes
from tests.unit.bridge.spark_classes import spark_class

__all__ = ["pickle_file", "pickle_seeds"]

_LABELLED = {"features": "features", "label": "label"}
_VALUE = {"features": "value", "require_labels": False}
_KEYED = {**_VALUE, "key": "key"}
_ROW = {"features": "x", "label": "y"}
# Sparse vectors may claim any width; what their dense rows may take is the user's.
_BOUNDED = {"most_part_bytes": 1 << 24}
_ALLOW = {"allow": (f"{Allowed.__module__}.Allowed",)}


def pickle_file(pickles: Sequence[bytes]) -> bytes:
    """Return a file of a record for two pickles each."""
    pairs = [
        (b"", stored_bytes(encode_byte_arrays(pickles[at : at + 2])))
        for at in range(0, len(pickles), 2)
    ]
    return header("NullWritable", "BytesWritable") + records(pairs)


def pickle_seeds() -> list[Seed]:
    """Return a seed for each kind of object and protocol."""
    with pytest.MonkeyPatch.context() as patched:
        spark_classes.provide(patched)
        return [
            Seed(
                "part-00000",
                tuple(pickle.dumps(one, protocol) for one in _batches(objects)),
                ({**how, "dtype": "float64", **_BOUNDED}, {**how, **_BOUNDED}),
                pickle_file,
            )
            for protocol in (2, 4, 5)
            for objects, how in _objects()
        ]


def _batches(objects: list[Any]) -> list[Any]:
    """Return batches, and an object alone where it is not taken for a batch."""
    alone = objects[:1] if isinstance(objects[0], list) else objects[0]
    return [objects, objects, alone]


def _objects() -> list[tuple[list[Any], dict[str, Any]]]:
    dense = spark_class("ml.linalg", "DenseVector")(1.0, 2.0, 3.0)
    sparse = spark_class("ml.linalg", "SparseVector")(3, [0, 2], [1.0, 2.0])
    old = spark_class("mllib.linalg", "DenseVector")(1.0, 2.0)
    point = spark_class("mllib.regression", "LabeledPoint")
    row = spark_class("sql.types", "_create_row")
    day = datetime.date(2024, 1, 2)
    now = datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.timezone.utc)
    return [
        ([1.5, 2.5, -3.0], _VALUE),
        ([[1.0, 2.0], [3.0, 4.0]], _VALUE),
        ([("a", 1, [0.5, 1.5])] * 2, {"features": "_c2", "label": "_c1", "key": "_c0"}),
        ([(1, np.arange(3.0)), (2, np.zeros(3))], _KEYED),
        ([np.arange(6, dtype="f4").reshape(2, 3)] * 2, _VALUE),
        ([("a", array.array("d", [1, 2]))] * 2, _KEYED),
        ([np.float32(1), np.float32(2)], _VALUE),
        ([("k", dense), ("l", sparse)], _KEYED),
        ([point(1.0, old), point(0.0, old)], _LABELLED),
        ([row(["x", "y"], (1.0, 2)), row(["x", "y"], (2.0, 3))], _ROW),
        ([{"x": [1.0], "y": 0, "day": day, "now": now}] * 2, {**_ROW, "key": "day"}),
        ([(decimal.Decimal("1.5"), now, b"ab")] * 2, {**_VALUE, "features": "_c2"}),
        ([Allowed(1.0, 2.0), Allowed(2.0, 3.0)], {**_ROW, **_ALLOW}),
    ]
