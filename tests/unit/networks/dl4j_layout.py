"""The flat parameter vectors of DL4J in this package's order and back views.

DL4J flattens dense and recurrent weights column by column, puts a convolution's bias
first and its weights as (out, in, height, width), and may keep the logarithm of the
running standard deviation.
"""

import numpy as np

from daskdl.nn.conf.layers import BatchNormalization, Convolution2D


def from_dl4j(network, vector, *, log_std_layers=()):
    """Return a flat vector of DL4J in the layout of `network`."""
    values = np.empty(network.layout.size)
    ours = network.layout.views(values)
    offset = 0
    for node, layer in network._layers:
        shapes = layer.conf.parameter_shapes(layer.input_type)
        names = list(shapes)
        if isinstance(layer.conf, Convolution2D):
            names = ["b", "W"]
        for name in names:
            view = ours[f"{node.key}_{name}"]
            part = vector[offset : offset + view.size]
            offset += view.size
            view[...] = _converted(layer.conf, name, part, view.shape)
            if name == "var" and node.name in log_std_layers:
                view[...] = 10.0 ** (2 * view)
    assert offset == len(vector)
    return values


def _converted(conf, name, part, shape):
    if isinstance(conf, BatchNormalization) or name == "b":
        return part
    if isinstance(conf, Convolution2D):
        height, width, n_in, n_out = shape
        return part.reshape(n_out, n_in, height, width).transpose(2, 3, 1, 0)
    return part.reshape(shape, order="F")
