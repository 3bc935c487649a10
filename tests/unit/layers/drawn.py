"""A layer by itself with its first weights."""

import numpy as np

from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.layers.layer import Layer


def built(conf, input_type, **defaults):
    """Return the layer with parameters that were drawn."""
    options = NetworkConf(activation="identity", **defaults).defaults()
    filled = conf.filled(options, input_type, "me")
    layer = Layer(filled, input_type, "me", Workspace())
    layout = ParamLayout.of(filled.parameter_shapes(input_type))
    params, gradients = np.zeros(layout.size), np.zeros(layout.size)
    layer.bind(layout.views(params), layout.views(gradients))
    layer.initialize(np.random.default_rng(5))
    return layer


def run(layer, x, mask=None):
    return layer.forward(x, training=True, mask=mask)


def mask_behind(layer, mask):
    """Return the mask that goes on with an output for one that arrives."""
    return layer.conf.feed_forward_mask(layer.run, mask)
