"""A layer that somebody wrote for DL4J, and again for daskdl."""

from typing import Literal

from daskdl.dl4j.network.functions import ACTIVATION
from daskdl.dl4j.network.json_objects import JavaClass, Key
from daskdl.dl4j.network.layer_keys import FF
from daskdl.dl4j.network.layer_row import LayerRow
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.layers.affine import affine

PACKAGE = "org.deeplearning4j.regressiontest.customlayer100a."


class TwoHalves(WeightOptions, TrainingOptions, LayerConf):
    """A dense layer with one activation for each half of its columns."""

    type: Literal["two_halves"] = "two_halves"
    second_activation: AnyActivation = "sigmoid"

    def output_type(self, input_type):
        self.inferred_n_in(input_type)
        return FeedForward(size=self.n_out)

    def parameters(self, input_type):
        return self.dense_parameters(input_type, has_bias=True)

    def forward(self, run, x):
        preout, _ = affine(run, x)
        middle = preout.shape[1] // 2
        first = activation_function(self.activation)
        second = activation_function(self.second_activation)
        output = preout.copy()
        output[:, :middle] = first.forward(preout[:, :middle].copy())
        output[:, middle:] = second.forward(preout[:, middle:].copy())
        return output, None


ROW = LayerRow(
    JavaClass(
        "CustomLayer",
        "two_halves",
        {**FF, "secondActivationFunction": Key("second_activation", ACTIVATION)},
    ),
    PACKAGE,
    is_regularized=True,
)
