"""Layers without arithmetic in ONNX: repeating, padding, cropping, blocks."""

from collections.abc import Sequence

from daskdl.formats.onnx.graph import Graph, Part, axis_of

__all__ = [
    "write_cropping",
    "write_space_to_depth",
    "write_upsampling",
    "write_zero_padding",
]


def write_upsampling(graph: Graph, part: Part, x: str) -> str:
    """Write steps, pixels or voxels repeated."""
    scales = [1.0] * (len(part.input_type.shape) + 1)
    for axis, factor in enumerate(part.conf.size, 1):
        scales[axis_of(part.input_type, axis)] = factor
    return graph.op(
        "Resize",
        x,
        "",
        graph.floats(scales, "scales"),
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


def write_zero_padding(graph: Graph, part: Part, x: str) -> str:
    """Write zeros around series, images or volumes."""
    sides = _sides(part, part.conf.padding)
    before = [side[0] for side in sides]
    behind = [side[1] for side in sides]
    return graph.op("Pad", x, graph.wholes(*before, *behind), mode="constant")


def write_cropping(graph: Graph, part: Part, x: str) -> str:
    """Write series, images or volumes without their borders."""
    for axis, (before, behind) in enumerate(_sides(part, part.conf.cropping)):
        if before or behind:
            x = graph.sliced(x, before, -behind or None, axis)
    return x


def write_space_to_depth(graph: Graph, part: Part, x: str) -> str:
    """Write blocks of pixels as channels."""
    return graph.op("SpaceToDepth", x, blocksize=part.conf.block_size)


def _sides(part: Part, values: Sequence[int]) -> list[tuple[int, int]]:
    """Return the two numbers of an option for the ends of each axis in the graph."""
    sides = [(0, 0)] * (len(part.input_type.shape) + 1)
    for axis in range(len(values) // 2):
        place = axis_of(part.input_type, axis + 1)
        sides[place] = (values[2 * axis], values[2 * axis + 1])
    return sides
