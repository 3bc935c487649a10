"""The forms that Spark wrote, and the checksums of the rows it was given.

A row is its values in the manifest's column order as JSON without blanks: floats by the
shortest text of the double, not finite ones as text, bytes as hex after ``0x``, lists,
vectors and structs as lists. A row's digest is the SHA-256 of that.
"""

import hashlib
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

SAMPLES = Path(__file__).parents[2] / "data" / "spark"
FORMS = json.loads((SAMPLES / "manifest.json").read_text())["forms"]


def path_of(form: str) -> str:
    return str(SAMPLES / form)


def first_file(form: str) -> Path:
    return min(p for p in (SAMPLES / form).rglob("part-*") if p.is_file())


def columns_of(form: str) -> dict[str, str]:
    """Name and Spark type of each column."""
    return dict(one.split(" ", 1) for one in FORMS[form]["columns"].split(", "))


def checksums(rows: Iterable[list[Any]]) -> dict[str, Any]:
    total, ordered, n_rows = 0, hashlib.sha256(), 0
    for row in rows:
        text = json.dumps([plain(value) for value in row], separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).digest()
        total = (total + int.from_bytes(digest[:8], "big")) % 2**64
        ordered.update(digest)
        n_rows += 1
    return {
        "rows": n_rows,
        "unordered": f"{total:016x}",
        "ordered": ordered.hexdigest(),
    }


def plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, dict):
        return [plain(one) for one in value.values()]
    if isinstance(value, list | np.ndarray):
        return [plain(one) for one in np.asarray(value, object).tolist()]
    return value
