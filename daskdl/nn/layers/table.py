"""The kinds of layers: each configuration and the layer at work, a row a kind."""

from typing import Any

from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.activation import Activation, ActivationLayer
from daskdl.nn.layers.auto_encoder import AutoEncoder, AutoEncoderLayer
from daskdl.nn.layers.batch_normalization import (
    BatchNormalization,
    BatchNormalizationLayer,
)
from daskdl.nn.layers.bidirectional import Bidirectional, BidirectionalLayer
from daskdl.nn.layers.capsule import Capsule, CapsuleLayer
from daskdl.nn.layers.capsule_strength import CapsuleStrength
from daskdl.nn.layers.center_loss_output import CenterLossOutput, CenterLossOutputLayer
from daskdl.nn.layers.cnn3d_loss import Cnn3DLoss, Cnn3DLossLayer
from daskdl.nn.layers.cnn_loss import CnnLoss, CnnLossLayer
from daskdl.nn.layers.convolution import Convolution2D, ConvolutionLayer
from daskdl.nn.layers.convolution1d import Convolution1D, Convolution1DLayer
from daskdl.nn.layers.convolution3d import Convolution3D, Convolution3DLayer
from daskdl.nn.layers.cropping import Cropping1D, Cropping2D, Cropping3D
from daskdl.nn.layers.deconvolution2d import Deconvolution2D, Deconvolution2DLayer
from daskdl.nn.layers.deconvolution3d import Deconvolution3D, Deconvolution3DLayer
from daskdl.nn.layers.definition import DefinedLayer, LayerDefinition, OwnLayer
from daskdl.nn.layers.dense import Dense, DenseLayer
from daskdl.nn.layers.depthwise_convolution2d import (
    DepthwiseConvolution2D,
    DepthwiseConvolution2DLayer,
)
from daskdl.nn.layers.dropout import Dropout
from daskdl.nn.layers.element_wise_multiplication import (
    ElementWiseMultiplication,
    ElementWiseMultiplicationLayer,
)
from daskdl.nn.layers.embedding import Embedding, EmbeddingLayer
from daskdl.nn.layers.embedding_sequence import (
    EmbeddingSequence,
    EmbeddingSequenceLayer,
)
from daskdl.nn.layers.frozen import Frozen, FrozenLayer
from daskdl.nn.layers.frozen_with_backprop import (
    FrozenWithBackprop,
    FrozenWithBackpropLayer,
)
from daskdl.nn.layers.global_pooling import GlobalPooling
from daskdl.nn.layers.graves_bidirectional_lstm import (
    GravesBidirectionalLSTM,
    GravesBidirectionalLstmLayer,
)
from daskdl.nn.layers.graves_lstm import GravesLSTM, GravesLstmLayer
from daskdl.nn.layers.last_time_step import LastTimeStep, LastTimeStepLayer
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.learned_self_attention import (
    LearnedSelfAttention,
    LearnedSelfAttentionLayer,
)
from daskdl.nn.layers.local_response_normalization import LocalResponseNormalization
from daskdl.nn.layers.locally_connected1d import (
    LocallyConnected1D,
    LocallyConnected1DLayer,
)
from daskdl.nn.layers.locally_connected2d import (
    LocallyConnected2D,
    LocallyConnected2DLayer,
)
from daskdl.nn.layers.loss_layer import LossLayer, LossOnlyLayer
from daskdl.nn.layers.lstm import LSTM, LstmLayer
from daskdl.nn.layers.mask_layer import Mask
from daskdl.nn.layers.mask_zero import MaskZero, MaskZeroLayer
from daskdl.nn.layers.ocnn_output import OCNNOutput, OCNNOutputLayer
from daskdl.nn.layers.output import Output, RowOutputLayer
from daskdl.nn.layers.prelu import PReLU
from daskdl.nn.layers.primary_capsules import PrimaryCapsules, PrimaryCapsulesLayer
from daskdl.nn.layers.recurrent_attention import (
    RecurrentAttention,
    RecurrentAttentionLayer,
)
from daskdl.nn.layers.repeat_vector import RepeatVector
from daskdl.nn.layers.rnn_loss import RnnLoss, RnnLossLayer
from daskdl.nn.layers.rnn_output import RnnOutput, RnnOutputLayer
from daskdl.nn.layers.self_attention import SelfAttention, SelfAttentionLayer
from daskdl.nn.layers.separable_convolution2d import (
    SeparableConvolution2D,
    SeparableConvolution2DLayer,
)
from daskdl.nn.layers.simple_rnn import SimpleRnn, SimpleRnnLayer
from daskdl.nn.layers.space_to_batch import SpaceToBatch
from daskdl.nn.layers.space_to_depth import SpaceToDepth
from daskdl.nn.layers.subsampling import Subsampling, SubsamplingLayer
from daskdl.nn.layers.subsampling1d import Subsampling1D, Subsampling1DLayer
from daskdl.nn.layers.subsampling3d import Subsampling3D, Subsampling3DLayer
from daskdl.nn.layers.time_distributed import TimeDistributed, TimeDistributedLayer
from daskdl.nn.layers.upsampling import Upsampling1D, Upsampling2D, Upsampling3D
from daskdl.nn.layers.variational_autoencoder import (
    VariationalAutoencoder,
    VariationalAutoencoderLayer,
)
from daskdl.nn.layers.yolo2_output import Yolo2Output, Yolo2OutputLayer
from daskdl.nn.layers.zero_padding import ZeroPadding, ZeroPadding1D, ZeroPadding3D

LAYERS: dict[type[LayerConf], type[Layer[Any]]] = {
    Activation: ActivationLayer,
    AutoEncoder: AutoEncoderLayer,
    BatchNormalization: BatchNormalizationLayer,
    Bidirectional: BidirectionalLayer,
    Capsule: CapsuleLayer,
    CapsuleStrength: DefinedLayer,
    CenterLossOutput: CenterLossOutputLayer,
    Cnn3DLoss: Cnn3DLossLayer,
    CnnLoss: CnnLossLayer,
    Convolution1D: Convolution1DLayer,
    Convolution2D: ConvolutionLayer,
    Convolution3D: Convolution3DLayer,
    Cropping1D: DefinedLayer,
    Cropping2D: DefinedLayer,
    Cropping3D: DefinedLayer,
    Deconvolution2D: Deconvolution2DLayer,
    Deconvolution3D: Deconvolution3DLayer,
    Dense: DenseLayer,
    DepthwiseConvolution2D: DepthwiseConvolution2DLayer,
    Dropout: DefinedLayer,
    ElementWiseMultiplication: ElementWiseMultiplicationLayer,
    Embedding: EmbeddingLayer,
    EmbeddingSequence: EmbeddingSequenceLayer,
    Frozen: FrozenLayer,
    FrozenWithBackprop: FrozenWithBackpropLayer,
    GlobalPooling: DefinedLayer,
    GravesBidirectionalLSTM: GravesBidirectionalLstmLayer,
    GravesLSTM: GravesLstmLayer,
    LastTimeStep: LastTimeStepLayer,
    LearnedSelfAttention: LearnedSelfAttentionLayer,
    LocallyConnected1D: LocallyConnected1DLayer,
    LocallyConnected2D: LocallyConnected2DLayer,
    LocalResponseNormalization: DefinedLayer,
    LossLayer: LossOnlyLayer,
    LSTM: LstmLayer,
    Mask: DefinedLayer,
    MaskZero: MaskZeroLayer,
    OCNNOutput: OCNNOutputLayer,
    Output: RowOutputLayer,
    PReLU: DefinedLayer,
    PrimaryCapsules: PrimaryCapsulesLayer,
    RecurrentAttention: RecurrentAttentionLayer,
    RepeatVector: DefinedLayer,
    RnnLoss: RnnLossLayer,
    RnnOutput: RnnOutputLayer,
    SelfAttention: SelfAttentionLayer,
    SeparableConvolution2D: SeparableConvolution2DLayer,
    SimpleRnn: SimpleRnnLayer,
    SpaceToBatch: DefinedLayer,
    SpaceToDepth: DefinedLayer,
    Subsampling: SubsamplingLayer,
    Subsampling1D: Subsampling1DLayer,
    Subsampling3D: Subsampling3DLayer,
    TimeDistributed: TimeDistributedLayer,
    Upsampling1D: DefinedLayer,
    Upsampling2D: DefinedLayer,
    Upsampling3D: DefinedLayer,
    VariationalAutoencoder: VariationalAutoencoderLayer,
    Yolo2Output: Yolo2OutputLayer,
    ZeroPadding: DefinedLayer,
    ZeroPadding1D: DefinedLayer,
    ZeroPadding3D: DefinedLayer,
}


def build_layer(
    layer_conf: LayerConf, input_type: InputType, name: str, workspace: Workspace
) -> Layer[Any]:
    """Return the layer that does what a configuration says.

    Parameters
    ----------
    layer_conf : LayerConf
        With nothing left open; see :meth:`LayerConf.filled`.
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
    kind = LAYERS.get(type(layer_conf))
    if kind is None and isinstance(layer_conf, LayerDefinition):
        kind = OwnLayer
    if kind is None:
        raise OptionError(
            f"build_layer: the configuration of {name!r} must be of a known layer, "
            f"got {type(layer_conf).__name__}."
        )
    return kind(layer_conf, inside_type(input_type), name, workspace)
