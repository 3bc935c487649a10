"""The list of parameters that DL4J keeps beside each layer."""

from daskdl.nn.conf.topology import Node


def variables_of(node: Node) -> list[str]:
    """Return the names of a layer's parameters in the order in which DL4J lists them."""
    if not hasattr(node.conf, "table_order"):
        return [item.name for item in node.parameters]
    return list(node.conf.table_order) or [item.name for item in node.parameters]
