"""The kinds of layers, vertices and preprocessors that ONNX covers, a row a kind."""

from daskdl.formats.onnx.convolution import (
    write_convolution,
    write_deconvolution,
    write_depthwise_convolution,
    write_separable_convolution,
)
from daskdl.formats.onnx.dense import (
    write_activation,
    write_dense,
    write_element_wise_multiplication,
    write_embedding,
    write_embedding_sequence,
    write_identity,
    write_loss,
    write_ocnn_output,
    write_output,
    write_repeat_vector,
)
from daskdl.formats.onnx.graph import Writers
from daskdl.formats.onnx.normalization import (
    write_batch_normalization,
    write_local_response,
    write_prelu,
)
from daskdl.formats.onnx.pooling import write_global_pooling, write_pooling
from daskdl.formats.onnx.recurrent import (
    write_bidirectional,
    write_frozen,
    write_graves_bidirectional_lstm,
    write_last_time_step,
    write_lstm,
    write_simple_rnn,
    write_time_distributed,
)
from daskdl.formats.onnx.reshaping import (
    write_cnn_to_feed_forward,
    write_cnn_to_rnn,
    write_composable,
    write_feed_forward_to_cnn,
    write_feed_forward_to_rnn,
    write_rnn_to_cnn,
    write_rnn_to_feed_forward,
)
from daskdl.formats.onnx.resizing import (
    write_cropping,
    write_space_to_depth,
    write_upsampling,
    write_zero_padding,
)
from daskdl.formats.onnx.vertices import (
    write_duplicate_to_time_series,
    write_element_wise,
    write_frozen_vertex,
    write_l2,
    write_l2_normalize,
    write_last_time_step_vertex,
    write_merge,
    write_pool_helper,
    write_preprocessor_vertex,
    write_reverse_time_series,
    write_scale,
    write_shift,
    write_stack,
    write_subset,
    write_unstack,
)
from daskdl.nn.layers.activation import Activation
from daskdl.nn.layers.auto_encoder import AutoEncoder
from daskdl.nn.layers.batch_normalization import BatchNormalization
from daskdl.nn.layers.bidirectional import Bidirectional
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
from daskdl.nn.layers.loss_layers import Cnn3DLoss, CnnLoss, LossLayer, RnnLoss
from daskdl.nn.layers.lstm import LSTM
from daskdl.nn.layers.mask_layer import Mask
from daskdl.nn.layers.ocnn_output import OCNNOutput
from daskdl.nn.layers.output import Output, RnnOutput
from daskdl.nn.layers.pooling import Subsampling, Subsampling1D, Subsampling3D
from daskdl.nn.layers.prelu import PReLU
from daskdl.nn.layers.repeat_vector import RepeatVector
from daskdl.nn.layers.simple_rnn import SimpleRnn
from daskdl.nn.layers.space_to_depth import SpaceToDepth
from daskdl.nn.layers.time_distributed import TimeDistributed
from daskdl.nn.layers.upsampling import Upsampling1D, Upsampling2D, Upsampling3D
from daskdl.nn.layers.zero_padding import ZeroPadding, ZeroPadding1D, ZeroPadding3D
from daskdl.nn.preprocessors.composable import Composable
from daskdl.nn.preprocessors.images import (
    Cnn3DToFeedForward,
    CnnToFeedForward,
    FeedForwardToCnn,
)
from daskdl.nn.preprocessors.series import (
    CnnToRnn,
    FeedForwardToRnn,
    RnnToCnn,
    RnnToFeedForward,
)
from daskdl.nn.vertices.element_wise import ElementWiseVertex
from daskdl.nn.vertices.frozen_vertex import FrozenVertex
from daskdl.nn.vertices.l2 import L2NormalizeVertex, L2Vertex
from daskdl.nn.vertices.merge import MergeVertex
from daskdl.nn.vertices.preprocessor_vertex import PreprocessorVertex
from daskdl.nn.vertices.scale import ScaleVertex, ShiftVertex
from daskdl.nn.vertices.series import (
    DuplicateToTimeSeriesVertex,
    LastTimeStepVertex,
    ReverseTimeSeriesVertex,
)
from daskdl.nn.vertices.stack import (
    PoolHelperVertex,
    StackVertex,
    SubsetVertex,
    UnstackVertex,
)

__all__ = ["WRITERS"]

WRITERS = Writers(
    layers={
        Activation: write_activation,
        AutoEncoder: write_output,
        BatchNormalization: write_batch_normalization,
        Bidirectional: write_bidirectional,
        CenterLossOutput: write_output,
        Cnn3DLoss: write_loss,
        CnnLoss: write_loss,
        Convolution1D: write_convolution,
        Convolution2D: write_convolution,
        Convolution3D: write_convolution,
        Cropping1D: write_cropping,
        Cropping2D: write_cropping,
        Cropping3D: write_cropping,
        Deconvolution2D: write_deconvolution,
        Deconvolution3D: write_deconvolution,
        Dense: write_dense,
        DepthwiseConvolution2D: write_depthwise_convolution,
        Dropout: write_identity,
        ElementWiseMultiplication: write_element_wise_multiplication,
        Embedding: write_embedding,
        EmbeddingSequence: write_embedding_sequence,
        Frozen: write_frozen,
        FrozenWithBackprop: write_frozen,
        GlobalPooling: write_global_pooling,
        GravesBidirectionalLSTM: write_graves_bidirectional_lstm,
        GravesLSTM: write_lstm,
        LastTimeStep: write_last_time_step,
        LocalResponseNormalization: write_local_response,
        LossLayer: write_loss,
        LSTM: write_lstm,
        Mask: write_identity,
        OCNNOutput: write_ocnn_output,
        Output: write_output,
        PReLU: write_prelu,
        RepeatVector: write_repeat_vector,
        RnnLoss: write_loss,
        RnnOutput: write_output,
        SeparableConvolution2D: write_separable_convolution,
        SimpleRnn: write_simple_rnn,
        SpaceToDepth: write_space_to_depth,
        Subsampling: write_pooling,
        Subsampling1D: write_pooling,
        Subsampling3D: write_pooling,
        TimeDistributed: write_time_distributed,
        Upsampling1D: write_upsampling,
        Upsampling2D: write_upsampling,
        Upsampling3D: write_upsampling,
        ZeroPadding: write_zero_padding,
        ZeroPadding1D: write_zero_padding,
        ZeroPadding3D: write_zero_padding,
    },
    vertices={
        DuplicateToTimeSeriesVertex: write_duplicate_to_time_series,
        ElementWiseVertex: write_element_wise,
        FrozenVertex: write_frozen_vertex,
        L2NormalizeVertex: write_l2_normalize,
        L2Vertex: write_l2,
        LastTimeStepVertex: write_last_time_step_vertex,
        MergeVertex: write_merge,
        PoolHelperVertex: write_pool_helper,
        PreprocessorVertex: write_preprocessor_vertex,
        ReverseTimeSeriesVertex: write_reverse_time_series,
        ScaleVertex: write_scale,
        ShiftVertex: write_shift,
        StackVertex: write_stack,
        SubsetVertex: write_subset,
        UnstackVertex: write_unstack,
    },
    preprocessors={
        Cnn3DToFeedForward: write_cnn_to_feed_forward,
        CnnToFeedForward: write_cnn_to_feed_forward,
        CnnToRnn: write_cnn_to_rnn,
        Composable: write_composable,
        FeedForwardToCnn: write_feed_forward_to_cnn,
        FeedForwardToRnn: write_feed_forward_to_rnn,
        RnnToCnn: write_rnn_to_cnn,
        RnnToFeedForward: write_rnn_to_feed_forward,
    },
)
