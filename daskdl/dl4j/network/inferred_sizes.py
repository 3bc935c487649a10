"""Inferred numbers of input features of graphs whose layers do not state them.

Layers say how many numbers they take, and vertices how those in front of and behind
them are related; from that follows what nothing says outright.
"""

from collections.abc import Mapping
from typing import Any

from daskdl.dl4j.network.inputs import inner, stated_size

_Part = Mapping[str, Any]

# What comes out of these has as many features as each thing that goes in.
_KEEPING = {
    "activation",
    "batch_normalization",
    "dropout",
    "element_wise",
    "element_wise_multiplication",
    "l2_normalize",
    "local_response_normalization",
    "loss",
    "mask",
    "prelu",
    "reverse_time_series",
    "scale",
    "shift",
    "stack",
    "unstack",
}


def inferred_sizes(parts: Mapping[str, _Part]) -> dict[str, int]:
    """Return the numbers of features of inputs and vertices that follow from others.

    Parameters
    ----------
    parts : mapping of str to mapping
        Layers and vertices by name, with `inputs`.

    Returns
    -------
    dict of str to int
        What stays open is left out.
    """
    sizes: dict[str, int] = {}
    for name, part in parts.items():
        _state(sizes, name, part)
    n_known = -1
    while len(sizes) > n_known:
        n_known = len(sizes)
        for name, part in parts.items():
            _relate(sizes, name, part)
    return sizes


def _state(sizes: dict[str, int], name: str, part: _Part) -> None:
    """Enter the sizes that a layer or vertex states by itself."""
    layer = inner(part)
    n_in, reads = stated_size(layer), part["inputs"]
    # A preprocessor changes what arrives.
    if n_in is not None and len(reads) == 1 and part.get("preprocessor") is None:
        sizes.setdefault(reads[0], n_in)
    if part["type"] == "subset" and _are_counts(part.get("from"), part.get("to")):
        sizes[name] = part["to"] - part["from"] + 1
    elif part["type"] == "l2":
        sizes[name] = 1
    elif layer is part and isinstance(part.get("n_out"), int):
        sizes[name] = part["n_out"]


def _are_counts(*values: Any) -> bool:
    return all(isinstance(value, int) for value in values)


def _relate(sizes: dict[str, int], name: str, part: _Part) -> None:
    """Enter the sizes that follow from those on the other side of a vertex."""
    reads = part["inputs"]
    if part["type"] in _KEEPING and part.get("preprocessor") is None:
        alike = [name, *reads]
        known = next((sizes[each] for each in alike if each in sizes), None)
        if known is not None:
            for each in alike:
                sizes.setdefault(each, known)
    elif part["type"] == "merge":
        _relate_merged(sizes, name, reads)


def _relate_merged(sizes: dict[str, int], name: str, reads: list[str]) -> None:
    missing = [each for each in reads if each not in sizes]
    known = sum(sizes[each] for each in reads if each in sizes)
    if not missing:
        sizes.setdefault(name, known)
    elif name in sizes and len(missing) == 1 and sizes[name] > known:
        sizes[missing[0]] = sizes[name] - known
