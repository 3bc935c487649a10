"""What features must be that layers look up: numbers of rows of their weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from daskdl.data.finite import first_place
from daskdl.data.float_type import first_ambiguous
from daskdl.errors import DataError
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.topology import Node, Part
from daskdl.nn.layers.embedding import AMBIGUOUS, LookupConf
from daskdl.nn.layers.wrapper import WrapperConf
from daskdl.nn.losses.label_rules import LabelRule


@dataclass(frozen=True, kw_only=True)
class RowRule(LabelRule):
    """The condition that features meet whose rows are looked up.

    Parameters
    ----------
    who : str
        The layer, for messages.
    n_in : int
        Number of rows.
    dtype : dtype
        Of the network.
    """

    who: str
    n_in: int
    dtype: np.dtype[Any]

    def check(self, what: str, labels: Any, counts: Any = None) -> None:
        """Refuse features that are no rows, or may be rounded numbers of others.

        Raises
        ------
        DataError
            With the first such number and its row.
        """
        super().check(what, labels, counts)
        floats = [self.dtype, *([labels.dtype] if labels.dtype.kind == "f" else [])]
        narrow = min(floats, key=first_ambiguous)
        limit = first_ambiguous(narrow)
        place = first_place(labels >= limit) if self.n_in > limit else None
        if place is not None:
            raise DataError(
                f"{what} must be below {limit} in {narrow} to be looked up by "
                f"{self.who}, got {self.told(labels, place)}. {AMBIGUOUS}"
            )


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
    who = f"{node.name} ({type(node.conf).__name__})"
    return RowRule(
        f"be whole numbers from 0 to {n_in - 1}, the rows of the weights of {who}",
        partial(_are_rows, n_in, dtype),
        who=who,
        n_in=n_in,
        dtype=np.dtype(dtype),
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
