"""The flat parameter vectors of DL4J in this package's order and back views."""

from daskdl.formats.dl4j import parameters


def from_dl4j(network, vector, *, log_std_layers=()):
    """Return a flat vector of DL4J in the layout of `network`.

    DL4J may keep the logarithm of the running standard deviation.
    """
    values = parameters.from_dl4j(network, vector.copy())
    views = network.layout.views(values)
    for node in network.nodes:
        if node.name in log_std_layers:
            variance = views[f"{node.key}_var"]
            variance[...] = 10.0 ** (2 * variance)
    return values
