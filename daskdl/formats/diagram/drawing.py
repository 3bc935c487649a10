"""A network as a picture: an SVG file that needs nothing else. Pure."""

from collections.abc import Sequence
from html import escape

from daskdl.formats.diagram.placement import (
    BOX_HEIGHT,
    BOX_WIDTH,
    MARGIN,
    Edge,
    Placement,
    place,
)
from daskdl.formats.diagram.style import STYLE
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.conf.topology import Node
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.summary import LayerRow, layer_rows

__all__ = ["network_svg"]

_TITLE_HEIGHT = 48
# Letters that fit into a box at the sizes of the style sheet.
_NAME_LETTERS, _LETTERS = 24, 32
_CORNER = 9.0


def network_svg(conf: MultiLayerConfiguration | ComputationGraphConfiguration) -> str:
    """Return the picture of a network.

    Parameters
    ----------
    conf : MultiLayerConfiguration or ComputationGraphConfiguration
        What the network is.

    Returns
    -------
    str
        An SVG document, in light or dark colours as its reader prefers. Boxes are
        inputs, layers and vertices; what does not fit into one stands in its title.

    Notes
    -----
    Vertices stand below what they read. Long networks are broken into columns.
    """
    nodes = conf.nodes()
    reads: dict[str, Sequence[str]] = {node.name: node.inputs for node in nodes}
    if isinstance(conf, MultiLayerConfiguration):
        # A layer may be called "input" too.
        first_input = "input" if "input" not in reads else "input of the network"
        inputs: dict[str, InputType] = {first_input: conf.input}
        outputs: Sequence[str] = [nodes[-1].name]
        reads[nodes[0].name] = (first_input,)
    else:
        inputs, outputs = conf.inputs, conf.outputs
    reads = {**dict.fromkeys(inputs, ()), **reads}
    placed = place(reads)
    rows = layer_rows(nodes)
    parts = [
        *(_edge(edge) for edge in placed.edges),
        *(_input(name, kind, placed) for name, kind in inputs.items()),
        *(
            _box(node, row, placed, is_output=node.name in outputs)
            for node, row in zip(nodes, rows, strict=True)
        ),
    ]
    is_sequence = isinstance(conf, MultiLayerConfiguration)
    title = "MultiLayerNetwork" if is_sequence else "ComputationGraph"
    total = sum(row.n_params for row in rows)
    return _document(title, f"{total:,} parameters", parts, placed)


def _document(
    title: str, subtitle: str, parts: Sequence[str], placed: Placement
) -> str:
    width, height = placed.width, placed.height + _TITLE_HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(title)}"><style>{STYLE}</style>'
        f'<rect class="paper" width="100%" height="100%"/>'
        f'<text class="title" x="{MARGIN}" y="{MARGIN}">{escape(title)}</text>'
        f'<text class="subtitle" x="{MARGIN}" y="{MARGIN + 18}">{escape(subtitle)}'
        f'</text><g transform="translate(0 {_TITLE_HEIGHT})">{"".join(parts)}</g>'
        "</svg>\n"
    )


def _input(name: str, input_type: InputType, placed: Placement) -> str:
    texts = ("input", _shape(input_type))
    return _framed("input", name, texts, str(input_type), placed)


def _box(node: Node, row: LayerRow, placed: Placement, *, is_output: bool) -> str:
    number = f"   {_short(row.n_params)} params" if row.n_params else ""
    shape = _shape(node.output_type)
    kind = "layer" if row.n_params else "plain"
    if isinstance(node.conf, VertexConf):
        kind = "vertex"
    lines = [
        f"{node.name}: {row.kind}",
        f"from {', '.join(node.inputs)}",
        f"in: {row.inputs}",
        f"out: {row.output}",
        f"{row.n_params:,} parameters: {row.shapes}" if row.n_params else "",
    ]
    title = "\n".join(line for line in lines if line)
    classes = f"{kind} output" if is_output else kind
    return _framed(classes, node.name, (row.kind, shape + number), title, placed)


def _framed(
    kind: str, name: str, texts: tuple[str, str], title: str, placed: Placement
) -> str:
    x, y = placed.boxes[name]
    middle = x + BOX_WIDTH / 2
    first, second = (escape(_cut(text, _LETTERS)) for text in texts)
    return (
        f'<g class="{kind}"><title>{escape(title)}</title>'
        f'<rect class="box" x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="7"/>'
        f'<text class="name" x="{middle:g}" y="{y + 19:g}">'
        f"{escape(_cut(name, _NAME_LETTERS))}</text>"
        f'<text class="kind" x="{middle:g}" y="{y + 35:g}">{first}</text>'
        f'<text class="shape" x="{middle:g}" y="{y + 50:g}">{second}</text></g>'
    )


def _edge(edge: Edge) -> str:
    (x, y) = edge.points[-1]
    head = f"M{x - 4:g} {y - 7:g}L{x:g} {y:g}L{x + 4:g} {y - 7:g}"
    title = escape(f"{edge.source} to {edge.target}")
    return (
        f'<g class="edge"><title>{title}</title><path d="{_path(edge)}"/>'
        f'<path class="head" d="{head}"/></g>'
    )


def _path(edge: Edge) -> str:
    """Return a line that leaves and arrives upright, and passes rows so."""
    (x, y), *rest = edge.points
    path = [f"M{x:g} {y:g}"]
    last = len(rest) - 1
    for number, (to_x, to_y) in enumerate(rest):
        # A bend is as high as a box beside it: the line is straight along that.
        stop = to_y if number == last else to_y - BOX_HEIGHT / 2
        if number == 0 and edge.gutter is not None:
            path.append(_around(x, y, edge.gutter, to_x, stop))
        else:
            half = (y + stop) / 2
            path.append(f"C{x:g} {half:g} {to_x:g} {half:g} {to_x:g} {stop:g}")
        x, y = to_x, stop
        if number < last:
            y = to_y + BOX_HEIGHT / 2
            path.append(f"V{y:g}")
    return "".join(path)


def _around(x0: float, y0: float, gutter: float, x1: float, y1: float) -> str:
    """Return a line from the foot of a column to the head of the next one."""
    below, above, corner = y0 + 17, y1 - 17, _CORNER
    return (
        f"V{below - corner:g}Q{x0:g} {below:g} {x0 + corner:g} {below:g}"
        f"H{gutter - corner:g}Q{gutter:g} {below:g} {gutter:g} {below - corner:g}"
        f"V{above + corner:g}Q{gutter:g} {above:g} {gutter + corner:g} {above:g}"
        f"H{x1 - corner:g}Q{x1:g} {above:g} {x1:g} {above + corner:g}V{y1:g}"
    )


def _shape(input_type: InputType) -> str:
    sizes = inside_type(input_type).shape
    return " x ".join("?" if size is None else str(size) for size in sizes)


def _short(number: int) -> str:
    """Return a count in few letters: 1234567 as 1.23 M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return str(number)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
