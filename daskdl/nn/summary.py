"""A network as a table for people."""

from collections.abc import Sequence

from daskdl.arrays.flat import ParamLayout
from daskdl.nn.conf.topology import Node

_HEAD = ("name", "type", "in", "out", "parameters")


def summarize(title: str, nodes: Sequence[Node], layout: ParamLayout) -> str:
    """Return one line a layer or vertex, and the number of parameters.

    Parameters
    ----------
    title : str
        The class of the network.
    nodes : sequence of Node
        In the order in which they are computed.
    layout : ParamLayout
        Of the whole network.
    """
    rows = [_HEAD, *(_row(node) for node in nodes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    ]
    lines.insert(1, "-" * len(lines[0]))
    return "\n".join(
        [
            f"{title}, {layout.size:,} parameters",
            *(line.rstrip() for line in lines),
        ]
    )


def _row(node: Node) -> tuple[str, str, str, str, str]:
    return (
        node.name,
        type(node.conf).__name__,
        " + ".join(str(input_type) for input_type in node.input_types),
        str(node.output_type),
        ", ".join(f"{item.name} {item.shape}" for item in node.parameters) or "-",
    )
