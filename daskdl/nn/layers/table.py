"""The kinds of layers that the package brings."""

from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.activation import Activation
from daskdl.nn.layers.attention import LearnedSelfAttention, SelfAttention
from daskdl.nn.layers.auto_encoder import AutoEncoder
from daskdl.nn.layers.batch_normalization import BatchNormalization
from daskdl.nn.layers.bidirectional import Bidirectional
from daskdl.nn.layers.capsules import Capsule, CapsuleStrength, PrimaryCapsules
from daskdl.nn.layers.center_loss_output import CenterLossOutput
from daskdl.nn.layers.convolution import Convolution1D, Convolution2D, Convolution3D
from daskdl.nn.layers.cropping import Cropping1D, Cropping2D, Cropping3D
from daskdl.nn.layers.deconvolution import Deconvolution2D, Deconvolution3D
from daskdl.nn.layers.dense import Dense
from daskdl.nn.layers.depthwise import DepthwiseConvolution2D, SeparableConvolution2D
from daskdl.nn.layers.dropout import Dropout
from daskdl.nn.layers.element_wise_multiplication import ElementWiseMultiplication
from daskdl.nn.layers.embedding import Embedding, EmbeddingSequence
from daskdl.nn.layers.frozen import Frozen
from daskdl.nn.layers.frozen_with_backprop import FrozenWithBackprop
from daskdl.nn.layers.global_pooling import GlobalPooling
from daskdl.nn.layers.graves_bidirectional_lstm import GravesBidirectionalLSTM
from daskdl.nn.layers.graves_lstm import GravesLSTM
from daskdl.nn.layers.last_time_step import LastTimeStep
from daskdl.nn.layers.local_response_normalization import LocalResponseNormalization
from daskdl.nn.layers.locally_connected import LocallyConnected1D, LocallyConnected2D
from daskdl.nn.layers.loss_layers import Cnn3DLoss, CnnLoss, LossLayer, RnnLoss
from daskdl.nn.layers.lstm import LSTM
from daskdl.nn.layers.mask_layer import Mask
from daskdl.nn.layers.mask_zero import MaskZero
from daskdl.nn.layers.ocnn_output import OCNNOutput
from daskdl.nn.layers.output import Output, RnnOutput
from daskdl.nn.layers.pooling import Subsampling, Subsampling1D, Subsampling3D
from daskdl.nn.layers.prelu import PReLU
from daskdl.nn.layers.recurrent_attention import RecurrentAttention
from daskdl.nn.layers.repeat_vector import RepeatVector
from daskdl.nn.layers.simple_rnn import SimpleRnn
from daskdl.nn.layers.space_to_batch import SpaceToBatch
from daskdl.nn.layers.space_to_depth import SpaceToDepth
from daskdl.nn.layers.time_distributed import TimeDistributed
from daskdl.nn.layers.upsampling import Upsampling1D, Upsampling2D, Upsampling3D
from daskdl.nn.layers.variational_autoencoder import VariationalAutoencoder
from daskdl.nn.layers.yolo2_output import Yolo2Output
from daskdl.nn.layers.zero_padding import ZeroPadding, ZeroPadding1D, ZeroPadding3D

LAYERS: tuple[type[LayerConf], ...] = (
    Activation,
    AutoEncoder,
    BatchNormalization,
    Bidirectional,
    Capsule,
    CapsuleStrength,
    CenterLossOutput,
    Cnn3DLoss,
    CnnLoss,
    Convolution1D,
    Convolution2D,
    Convolution3D,
    Cropping1D,
    Cropping2D,
    Cropping3D,
    Deconvolution2D,
    Deconvolution3D,
    Dense,
    DepthwiseConvolution2D,
    Dropout,
    ElementWiseMultiplication,
    Embedding,
    EmbeddingSequence,
    Frozen,
    FrozenWithBackprop,
    GlobalPooling,
    GravesBidirectionalLSTM,
    GravesLSTM,
    LastTimeStep,
    LearnedSelfAttention,
    LocallyConnected1D,
    LocallyConnected2D,
    LocalResponseNormalization,
    LossLayer,
    LSTM,
    Mask,
    MaskZero,
    OCNNOutput,
    Output,
    PReLU,
    PrimaryCapsules,
    RecurrentAttention,
    RepeatVector,
    RnnLoss,
    RnnOutput,
    SelfAttention,
    SeparableConvolution2D,
    SimpleRnn,
    SpaceToBatch,
    SpaceToDepth,
    Subsampling,
    Subsampling1D,
    Subsampling3D,
    TimeDistributed,
    Upsampling1D,
    Upsampling2D,
    Upsampling3D,
    VariationalAutoencoder,
    Yolo2Output,
    ZeroPadding,
    ZeroPadding1D,
    ZeroPadding3D,
)
