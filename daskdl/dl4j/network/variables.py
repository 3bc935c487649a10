"""The list of parameters that DL4J keeps beside each layer."""

from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.topology import Node


def variables_of(node: Node) -> list[str]:
    """Return the names of a layer's parameters in the order of DL4J's list."""
    table = node.conf.table_order if isinstance(node.conf, LayerConf) else ()
    return list(table) or [item.name for item in node.parameters]
