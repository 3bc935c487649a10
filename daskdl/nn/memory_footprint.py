"""The memory that a network will take, checked before it is taken."""

import math
import os
from collections.abc import Sequence

from daskdl.errors import OptionError
from daskdl.nn.conf.topology import Node

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def n_params_of(nodes: Sequence[Node]) -> int:
    """Return the number of parameters of layers together."""
    return sum(_size(node) for node in nodes)


def check_footprint(
    who: str, nodes: Sequence[Node], n_numbers: int, itemsize: int
) -> None:
    """Refuse a network that this machine cannot hold.

    Parameters
    ----------
    who : str
        For messages.
    nodes : sequence of Node
        Its layers and vertices.
    n_numbers : int
        Parameters, gradients and updater state together.
    itemsize : int
        Bytes of one.

    Raises
    ------
    OptionError
        With the largest layer and its sizes.
    """
    there = _memory_bytes()
    n_bytes = n_numbers * itemsize
    if n_bytes <= there:
        return
    node = max(nodes, key=_size)
    shapes = ", ".join(f"{item.name} {item.shape}" for item in node.parameters)
    raise OptionError(
        f"{who}: parameters, gradients and updater state must fit in this machine's "
        f"memory of {_in_words(there)}, they take {_in_words(n_bytes)}. The largest "
        f"layer is {node.name!r}{_keys(node)} with the parameters {shapes}."
    )


def _size(node: Node) -> int:
    return sum(math.prod(item.shape) for item in node.parameters)


def _keys(node: Node) -> str:
    """Return the keys that make a layer large, with their values."""
    sizes = {key: getattr(node.conf, key, None) for key in ("n_in", "n_out")}
    given = [f"{key}: {size}" for key, size in sizes.items() if size is not None]
    return f" ({', '.join(given)})" if given else ""


def _memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _in_words(n_bytes: float) -> str:
    for unit in _UNITS:
        if n_bytes < 1024 or unit == _UNITS[-1]:
            break
        n_bytes /= 1024
    return f"{n_bytes:.4g} {unit}"
