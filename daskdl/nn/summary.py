"""A network as a table for people, and its rows for programs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.nn.conf.topology import Node

if TYPE_CHECKING:
    from daskdl.nn.step import StepNetwork


_HEAD = ("name", "type", "in", "out", "parameters", "shapes")


@dataclass(frozen=True)
class LayerRow:
    """The row of a layer or vertex in the table of a network.

    Parameters
    ----------
    name : str
        In the network.
    kind : str
        Its class; of a wrapper also that of the layer inside.
    inputs, output : str
        What goes in and comes out, in words.
    parameters : dict of str to tuple of int
        Shapes, in the order of the flat vector.
    """

    name: str
    kind: str
    inputs: str
    output: str
    parameters: dict[str, tuple[int, ...]]

    @property
    def n_params(self) -> int:
        """Number of parameters."""
        return sum(math.prod(shape) for shape in self.parameters.values())

    @property
    def shapes(self) -> str:
        """The parameters in words; a dash if there are none."""
        named = (f"{name} {shape}" for name, shape in self.parameters.items())
        return ", ".join(named) or "-"


def layer_rows(nodes: Sequence[Node]) -> list[LayerRow]:
    """Return a row for each layer or vertex, in the order of `nodes`."""
    return [
        LayerRow(
            node.name,
            _kind(node.conf),
            " + ".join(str(input_type) for input_type in node.input_types),
            str(node.output_type),
            {item.name: item.shape for item in node.parameters},
        )
        for node in nodes
    ]


def summarize(title: str, nodes: Sequence[Node]) -> str:
    """Return a table with a line a layer or vertex, and the number of parameters.

    Parameters
    ----------
    title : str
        The class of the network.
    nodes : sequence of Node
        In the order in which they are computed.
    """
    found = layer_rows(nodes)
    rows = [_HEAD, *(_cells(row) for row in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    ]
    lines.insert(1, "-" * len(lines[0]))
    total = sum(row.n_params for row in found)
    return "\n".join(
        [f"{title}, {total:,} parameters", *(line.rstrip() for line in lines)]
    )


def in_one_line(network: "StepNetwork[Any]") -> str:
    """Return class, size and training of a network in one line."""
    n_params = f"{network.n_params:,} parameters"
    told = f"{type(network).__name__}: {len(network.nodes)} layers, {n_params}"
    if network.iteration_count:
        told += f", {network.iteration_count:,} iterations, score {network.score:.4g}"
    return f"<{told}>"


def in_many_lines(network: "StepNetwork[Any]") -> str:
    """Return the table of a network, its dialect, normalizer and class names."""
    lines = [summarize(type(network).__name__, network.nodes)]
    lines.append(f"dialect: {network.conf.dialect}")
    if network.normalizer is not None:
        lines.append(f"normalizer: {normalizer_in_words(network.normalizer)}")
    if network.class_names is not None:
        lines.append(f"classes: {', '.join(network.class_names)}")
    return "\n".join(lines)


def normalizer_in_words(normalizer: Normalizer) -> str:
    """Return the class of a normalizer, and whether it is fitted and changes labels."""
    words = type(normalizer).__name__
    if normalizer.is_fit_label:
        words += ", labels too"
    return words if normalizer.is_fitted else f"{words}, not fitted yet"


def _cells(row: LayerRow) -> tuple[str, ...]:
    count = f"{row.n_params:,}" if row.n_params else "-"
    return (row.name, row.kind, row.inputs, row.output, count, row.shapes)


def _kind(conf: Any) -> str:
    held = getattr(conf, "layer", getattr(conf, "vertex", None))
    name = type(conf).__name__
    return name if held is None else f"{name} of {_kind(held)}"
