"""From a layer's configuration to the layer at work."""

from typing import Any

from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.conf import layers as conf
from daskdl.nn.conf.convolutional import Convolution2D, Subsampling
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.activation import ActivationLayer
from daskdl.nn.layers.batch_normalization import BatchNormalizationLayer
from daskdl.nn.layers.convolution import ConvolutionLayer
from daskdl.nn.layers.dense import DenseLayer
from daskdl.nn.layers.dropout import DropoutLayer
from daskdl.nn.layers.global_pooling import GlobalPoolingLayer
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.lstm import LstmLayer
from daskdl.nn.layers.output import RowOutputLayer
from daskdl.nn.layers.rnn_output import RnnOutputLayer
from daskdl.nn.layers.subsampling import SubsamplingLayer

LAYER_OF_CONF: dict[type[LayerConf], type[Layer[Any]]] = {
    conf.Activation: ActivationLayer,
    conf.BatchNormalization: BatchNormalizationLayer,
    conf.Dense: DenseLayer,
    conf.Dropout: DropoutLayer,
    conf.GlobalPooling: GlobalPoolingLayer,
    conf.LSTM: LstmLayer,
    conf.Output: RowOutputLayer,
    conf.RnnOutput: RnnOutputLayer,
    Convolution2D: ConvolutionLayer,
    Subsampling: SubsamplingLayer,
}


def build_layer(
    layer_conf: LayerConf, input_type: InputType, name: str, workspace: Workspace
) -> Layer[Any]:
    """Return the layer that does what a configuration says.

    Parameters
    ----------
    layer_conf : LayerConf
        With nothing left open; see :meth:`NetworkConf.resolved`.
    input_type : InputType
        What the layer gets. Flattened images have become images at the door.
    name : str
        Unique in the network: the layer's buffers are keyed by it.
    workspace : Workspace
        Lends the layer all its arrays.

    Raises
    ------
    OptionError
        If an option is left open, the input does not fit, or the kind is unknown.
    """
    kind = LAYER_OF_CONF.get(type(layer_conf))
    if kind is None:
        raise OptionError(
            f"build_layer: the configuration of {name!r} must be of a known layer, "
            f"got {type(layer_conf).__name__}."
        )
    return kind(layer_conf, inside_type(input_type), name, workspace)
