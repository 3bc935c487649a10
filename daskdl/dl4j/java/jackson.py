"""JSON text as DL4J's Jackson prints it: two spaces, ``" : "``, Java's numbers.

Only what networks and evaluations need.
"""

import json
import math
from typing import Any

import numpy as np

from daskdl.evaluation.number_texts import number_text


def dumps(value: Any) -> str:
    """Return the text of nested dicts, lists, strings, numbers and ``None``."""
    return _text(value, indent=0)


def _text(value: Any, indent: int) -> str:
    if isinstance(value, dict):
        return _object(value, indent)
    if isinstance(value, list):
        items = ", ".join(_text(item, indent) for item in value)
        return f"[ {items} ]" if value else "[ ]"
    if isinstance(value, float | np.floating):
        number = number_text(value)
        return number if math.isfinite(value) else f'"{number}"'
    return json.dumps(value, ensure_ascii=False)


def _object(value: dict[str, Any], indent: int) -> str:
    if not value:
        return "{ }"
    inner = "  " * (indent + 1)
    lines = [
        f"{inner}{json.dumps(key, ensure_ascii=False)} : {_text(item, indent + 1)}"
        for key, item in value.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n" + "  " * indent + "}"
