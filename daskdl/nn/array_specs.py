"""Specifications of the inputs and outputs of a network, and of the labels."""

from collections.abc import Sequence

from numpy.typing import DTypeLike

from daskdl.nn.batches import ArraySpec
from daskdl.nn.conf.axes import feature_axis
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.topology import Node
from daskdl.nn.data_format import image_shape_of
from daskdl.nn.layers.yolo2_output import Yolo2Output
from daskdl.nn.loss_evaluations import n_classes_of
from daskdl.nn.losses.box_labels import box_rule
from daskdl.nn.losses.label_rules import LabelRule, label_rule
from daskdl.nn.row_rules import row_rule


def input_spec(
    who: str, input_type: InputType, readers: Sequence[Node], dtype: DTypeLike
) -> ArraySpec:
    """Return the spec of an input of a network of that dtype, called `who`."""
    images = image_shape_of(input_type, [node.conf for node in readers])
    return ArraySpec(who, input_type, images, rule=row_rule(readers, dtype))


def output_specs(who: str, nodes: Sequence[Node]) -> list[ArraySpec]:
    """Return the specs of the outputs of a network called `who`."""
    return [ArraySpec(name_of(who, node), node.output_type) for node in nodes]


def label_specs(who: str, nodes: Sequence[Node]) -> list[ArraySpec]:
    """Return the specs of the labels of each output."""
    return [
        ArraySpec(
            name_of(who, node),
            node.labels_type,
            classes=n_classes_of(loss, node.output_type),
            rule=_rule(node, loss),
        )
        for node, loss in zip(nodes, option_of(nodes, "loss"), strict=True)
    ]


def _rule(node: Node, loss: str) -> LabelRule | None:
    if isinstance(node.conf, Yolo2Output):
        return box_rule(feature_axis(node.labels_type))
    return label_rule(loss, node.output_type.shape[-1])


def option_of(nodes: Sequence[Node], option: str) -> list[str]:
    """Return the names of the losses or activations of outputs; "" for none."""
    found = [getattr(node.conf, option, "") for node in nodes]
    return [getattr(value, "type", value) for value in found]


def name_of(who: str, node: Node) -> str:
    """Return the name of a node in messages of a network called `who`."""
    return f"{who} {node.name} ({type(node.conf).__name__})"
