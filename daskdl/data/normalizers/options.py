"""Normalizers as plain values, for ``to_dict`` and ``from_dict``.

The key ``type`` names the kind, in checkpoints and job files alike. What was learnt may
be missing: then the normalizer is one that is still to be fitted.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from daskdl.checks import did_you_mean, some
from daskdl.data.normalizers.stats import (
    STATS,
    NormalizerStats,
    stats_from_dict,
    stats_to_dict,
)
from daskdl.errors import FormatError

__all__ = ["check_keys", "check_kind", "parts_of", "stats_list", "stats_values"]


def check_kind(who: str, values: Mapping[str, Any], kind: str) -> None:
    """Refuse values of another kind of normalizer."""
    found = values.get("type")
    if found != kind:
        raise FormatError(
            f"{who}.from_dict: values must have type {kind!r}, got {found!r}."
        )


def check_keys(who: str, values: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse keys that the normalizer does not know."""
    names = ["type", *known]
    for name in values:
        if name not in names:
            raise FormatError(
                f"{who}.from_dict: keys must be among {some(names, len(names))}, got "
                f"{name!r}.{did_you_mean(name, names)}"
            )


def stats_values(prefix: str, stats: Iterable[NormalizerStats]) -> dict[str, Any]:
    """Return the statistics of several arrays of one kind: a list for each part."""
    each = [stats_to_dict(one) for one in stats]
    names = [name for name in (each[0] if each else ()) if name != "type"]
    return {f"{prefix}{name}": [one[name] for one in each] for name in names}


def stats_list(
    who: str, kind: str, values: Mapping[str, Any], prefix: str
) -> list[NormalizerStats] | None:
    """Return the statistics that :func:`stats_values` described; None if unfitted.

    Raises
    ------
    FormatError
        If the values do not come from there.
    """
    columns = {
        name: values[f"{prefix}{name}"]
        for name in parts_of(kind)
        if values.get(f"{prefix}{name}") is not None
    }
    if not columns:
        return None
    is_list = all(isinstance(column, list) for column in columns.values())
    if not is_list or len({len(column) for column in columns.values()}) > 1:
        raise FormatError(
            f"{who}.from_dict: {some(columns)} must be lists with one entry an array."
        )
    rows = zip(*columns.values(), strict=True)
    return [
        stats_from_dict(who, {"type": kind, **dict(zip(columns, row, strict=True))})
        for row in rows
    ]


def parts_of(kind: str) -> tuple[str, ...]:
    """Return the names of the statistics of an array."""
    return (*STATS[kind].names, "dtype")
