"""One layer of any configuration, with parameters and gradients of its own."""

import numpy as np

from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.layers.layer import Layer


class Single:
    """A layer in its stage, float64.

    Options of the network are keywords; its activation is tanh.
    """

    def __init__(self, conf, input_type, **network):
        defaults = NetworkConf(**{"activation": "tanh", **network}).defaults()
        self.resolved = conf.filled(defaults, input_type, "me")
        self.layer = Layer(self.resolved, input_type, "me", Workspace())
        self.layout = ParamLayout.of(self.resolved.parameter_shapes(input_type))
        self.params = np.zeros(self.layout.size)
        self.gradients = np.zeros(self.layout.size)
        self.layer.bind(
            self.layout.views(self.params), self.layout.views(self.gradients)
        )
        self.layer.initialize(np.random.default_rng(3))

    def forward(self, x, *, training=True, rng=None, mask=None):
        return self.layer.forward(
            x, training=training, mask=mask, rng=rng, batch_size=len(x)
        )
