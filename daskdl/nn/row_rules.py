"""What features must be that layers look up: numbers of rows of their weights."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.topology import Node, Part
from daskdl.nn.layers.embedding import LookupConf
from daskdl.nn.layers.wrapper import WrapperConf
from daskdl.nn.losses.label_rules import LabelRule


def row_rule(nodes: Sequence[Node], dtype: DTypeLike) -> LabelRule | None:
    """Return the rule for features that layers look up; None if none of them does.

    Parameters
    ----------
    nodes : sequence of Node
        What reads the features. One with a preprocessor may see other numbers.
    dtype : dtype
        Of the network: it is what features become in it that must be whole.
    """
    found = list(_tables(nodes))
    if not found:
        return None
    n_in, node = min(found, key=lambda each: each[0])
    kind = type(node.conf).__name__
    return LabelRule(
        f"be whole numbers from 0 to {n_in - 1}, the rows of the weights of "
        f"{node.name} ({kind})",
        partial(_are_rows, n_in, dtype),
    )


def _tables(nodes: Sequence[Node]) -> Iterator[tuple[int, Node]]:
    """Yield the nodes that features reach as they are, with their numbers of rows."""
    for node in nodes:
        conf = _innermost(node.conf)
        if isinstance(conf, LookupConf) and not _changes_features(conf):
            yield conf.inferred_n_in(node.input_types[0]), node


def _innermost(conf: Part) -> Part:
    while isinstance(conf, WrapperConf) and not _changes_features(conf):
        conf = conf.layer
    return conf


def _changes_features(conf: LayerConf) -> bool:
    return conf.preprocessor is not None or conf.input_dropout is not None


def _are_rows(n_in: int, dtype: DTypeLike, features: Any) -> Any:
    numbers = features.astype(dtype, copy=False)
    return (numbers >= 0) & (numbers < n_in) & (numbers == np.floor(numbers))
