"""``key=value`` on the command line, put into the plain values of a job file."""

import itertools
import re
from collections.abc import Iterable
from typing import Any

from daskdl.cli.stored_options import TEXTS, text_of
from daskdl.errors import OptionError
from daskdl.nn.conf.errors import got
from daskdl.nn.conf.yaml import load_yaml

__all__ = ["apply_overrides"]


def apply_overrides(values: dict[str, Any], overrides: Iterable[str]) -> None:
    """Set the keys that `overrides` name in `values`, in place.

    Parameters
    ----------
    values : dict
        What a job file holds; mappings that a key needs are made.
    overrides : iterable of str
        ``training.epochs=3``, ``network.layers[0].n_out=64``. Values are YAML, those of
        ``data`` that must be text also text as it stands: ``data.delimiter=|``. Where
        the file has a bare name that stands for a mapping (``updater: adam``), a key
        below it keeps the name as `type`.

    Raises
    ------
    OptionError
        If an override has no ``=``, or its key leads into something that has no keys.
    """
    for override in overrides:
        key, separator, text = override.partition("=")
        if not separator or not key:
            raise OptionError(f"run: an override must be key=value, got {override!r}.")
        is_text = key.removeprefix("data.") in TEXTS and key.startswith("data.")
        _set(values, key, text_of(text) if is_text else load_yaml(text, override))


def _set(values: dict[str, Any], key: str, value: Any) -> None:
    parts = _parts(key)
    place: Any = values
    for part, below in itertools.pairwise(parts):
        part = _in_place(place, part)
        _check_holds(place, part, key)
        child = place.get(part) if isinstance(place, dict) else place[part]
        if child is None and isinstance(below, str):
            child = place[part] = {}
        elif isinstance(child, str):
            child = place[part] = {_name_in(place, values, part): child}
        place = child
    last = _in_place(place, parts[-1])
    _check_holds(place, last, key)
    place[last] = value


def _name_in(place: Any, job: dict[str, Any], part: str | int) -> str:
    """Return the key that a bare text stands for where there may be a mapping."""
    return "path" if place is job and part == "model" else "type"


def _in_place(place: Any, part: str | int) -> str | int:
    """Return a number as the name that it is where names are, as of a vertex."""
    return str(part) if isinstance(place, dict) else part


def _check_holds(place: Any, part: str | int, key: str) -> None:
    if isinstance(place, dict) and isinstance(part, str):
        return
    if isinstance(place, list) and isinstance(part, int) and part < len(place):
        return
    wanted = f"item {part}" if isinstance(part, int) else f"key {part!r}"
    raise OptionError(
        f"{key}: the job must hold something with {wanted} there, got {got(place)}."
    )


def _parts(key: str) -> list[str | int]:
    """Split ``network.layers[0].n_out`` into names and numbers."""
    names = re.sub(r"\[(\d+)\]", r".\1", key).split(".")
    return [int(name) if name.isdecimal() else name for name in names]
