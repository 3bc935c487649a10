"""Distributed deep learning on Dask, with a bridge to Spark.

The names below are loaded when they are first used, so that ``import daskdl`` costs
milliseconds and pulls in neither Dask's distributed, CuPy, numba nor pyspark.
"""

import importlib
from typing import Any

_HOMES = {
    "daskdl.cluster.frontend": ("DaskComputationGraph", "DaskMultiLayer"),
    "daskdl.cluster.masters.options": (
        "ParameterAveragingTrainingMaster",
        "SharedTrainingMaster",
    ),
    "daskdl.data.dataset": ("DataSet",),
    "daskdl.data.file_batch": ("FileBatch",),
    "daskdl.data.multi_dataset": ("MultiDataSet",),
    "daskdl.data.normalizers.hybrid": ("MultiNormalizerHybrid",),
    "daskdl.data.normalizers.image": (
        "ImagePreProcessingScaler",
        "VGG16ImagePreProcessor",
    ),
    "daskdl.data.normalizers.image_multi": ("ImageMultiPreProcessingScaler",),
    "daskdl.data.normalizers.min_max": (
        "MultiNormalizerMinMaxScaler",
        "NormalizerMinMaxScaler",
    ),
    "daskdl.data.normalizers.standardize": (
        "MultiNormalizerStandardize",
        "NormalizerStandardize",
    ),
    "daskdl.data.pre_processors.composite": (
        "CompositeDataSetPreProcessor",
        "CompositeMultiDataSetPreProcessor",
    ),
    "daskdl.data.pre_processors.crop_and_resize": ("CropAndResizeDataSetPreProcessor",),
    "daskdl.data.pre_processors.images": (
        "ImageFlatteningDataSetPreProcessor",
        "PermuteDataSetPreProcessor",
        "RGBtoGrayscaleDataSetPreProcessor",
    ),
    "daskdl.data.pre_processors.labels": ("LabelLastTimeStepPreProcessor",),
    "daskdl.data.pre_processors.under_sampling": (
        "UnderSamplingByMaskingMultiDataSetPreProcessor",
        "UnderSamplingByMaskingPreProcessor",
    ),
    "daskdl.data.sources.source": ("SourceOptions", "open_source"),
    "daskdl.encoding.algorithms": (
        "AdaptiveThresholdAlgorithm",
        "FixedThresholdAlgorithm",
        "TargetSparsityThresholdAlgorithm",
    ),
    "daskdl.encoding.residual": (
        "NoOpResidualPostProcessor",
        "ResidualClippingPostProcessor",
    ),
    "daskdl.evaluation.calibration": ("EvaluationCalibration",),
    "daskdl.evaluation.evaluation": ("Evaluation",),
    "daskdl.evaluation.evaluation_binary": ("EvaluationBinary",),
    "daskdl.evaluation.regression": ("RegressionEvaluation",),
    "daskdl.evaluation.roc": ("ROC",),
    "daskdl.evaluation.roc_binary": ("ROCBinary",),
    "daskdl.evaluation.roc_multi_class": ("ROCMultiClass",),
    "daskdl.formats.diagram.drawing": ("network_svg",),
    "daskdl.formats.load": ("load",),
    "daskdl.formats.onnx.model": ("export_onnx",),
    "daskdl.nn.conf.input_type": (
        "Convolutional",
        "Convolutional3D",
        "ConvolutionalFlat",
        "FeedForward",
        "Recurrent",
    ),
    "daskdl.nn.layers.activation": ("Activation",),
    "daskdl.nn.layers.auto_encoder": ("AutoEncoder",),
    "daskdl.nn.layers.batch_normalization": ("BatchNormalization",),
    "daskdl.nn.layers.bidirectional": ("Bidirectional",),
    "daskdl.nn.layers.capsule": ("Capsule",),
    "daskdl.nn.layers.capsule_strength": ("CapsuleStrength",),
    "daskdl.nn.layers.center_loss_output": ("CenterLossOutput",),
    "daskdl.nn.layers.cnn3d_loss": ("Cnn3DLoss",),
    "daskdl.nn.layers.cnn_loss": ("CnnLoss",),
    "daskdl.nn.layers.convolution": ("Convolution2D",),
    "daskdl.nn.layers.convolution1d": ("Convolution1D",),
    "daskdl.nn.layers.convolution3d": ("Convolution3D",),
    "daskdl.nn.layers.cropping1d": ("Cropping1D",),
    "daskdl.nn.layers.cropping2d": ("Cropping2D",),
    "daskdl.nn.layers.cropping3d": ("Cropping3D",),
    "daskdl.nn.layers.deconvolution2d": ("Deconvolution2D",),
    "daskdl.nn.layers.deconvolution3d": ("Deconvolution3D",),
    "daskdl.nn.layers.dense": ("Dense",),
    "daskdl.nn.layers.depthwise_convolution2d": ("DepthwiseConvolution2D",),
    "daskdl.nn.layers.dropout": ("Dropout",),
    "daskdl.nn.layers.element_wise_multiplication": ("ElementWiseMultiplication",),
    "daskdl.nn.layers.embedding": ("Embedding",),
    "daskdl.nn.layers.embedding_sequence": ("EmbeddingSequence",),
    "daskdl.nn.layers.frozen": ("Frozen",),
    "daskdl.nn.layers.frozen_with_backprop": ("FrozenWithBackprop",),
    "daskdl.nn.layers.global_pooling": ("GlobalPooling",),
    "daskdl.nn.layers.graves_bidirectional_lstm": ("GravesBidirectionalLSTM",),
    "daskdl.nn.layers.graves_lstm": ("GravesLSTM",),
    "daskdl.nn.layers.last_time_step": ("LastTimeStep",),
    "daskdl.nn.layers.learned_self_attention": ("LearnedSelfAttention",),
    "daskdl.nn.layers.local_response_normalization": ("LocalResponseNormalization",),
    "daskdl.nn.layers.locally_connected1d": ("LocallyConnected1D",),
    "daskdl.nn.layers.locally_connected2d": ("LocallyConnected2D",),
    "daskdl.nn.layers.loss_layer": ("LossLayer",),
    "daskdl.nn.layers.lstm": ("LSTM",),
    "daskdl.nn.layers.mask_layer": ("Mask",),
    "daskdl.nn.layers.mask_zero": ("MaskZero",),
    "daskdl.nn.layers.ocnn_output": ("OCNNOutput",),
    "daskdl.nn.layers.output": ("Output",),
    "daskdl.nn.layers.prelu": ("PReLU",),
    "daskdl.nn.layers.primary_capsules": ("PrimaryCapsules",),
    "daskdl.nn.layers.recurrent_attention": ("RecurrentAttention",),
    "daskdl.nn.layers.repeat_vector": ("RepeatVector",),
    "daskdl.nn.layers.rnn_loss": ("RnnLoss",),
    "daskdl.nn.layers.rnn_output": ("RnnOutput",),
    "daskdl.nn.layers.self_attention": ("SelfAttention",),
    "daskdl.nn.layers.separable_convolution2d": ("SeparableConvolution2D",),
    "daskdl.nn.layers.simple_rnn": ("SimpleRnn",),
    "daskdl.nn.layers.space_to_batch": ("SpaceToBatch",),
    "daskdl.nn.layers.space_to_depth": ("SpaceToDepth",),
    "daskdl.nn.layers.subsampling": ("Subsampling",),
    "daskdl.nn.layers.subsampling1d": ("Subsampling1D",),
    "daskdl.nn.layers.subsampling3d": ("Subsampling3D",),
    "daskdl.nn.layers.time_distributed": ("TimeDistributed",),
    "daskdl.nn.layers.upsampling1d": ("Upsampling1D",),
    "daskdl.nn.layers.upsampling2d": ("Upsampling2D",),
    "daskdl.nn.layers.upsampling3d": ("Upsampling3D",),
    "daskdl.nn.layers.variational_autoencoder": ("VariationalAutoencoder",),
    "daskdl.nn.layers.yolo2_output": ("Yolo2Output",),
    "daskdl.nn.layers.zero_padding": ("ZeroPadding",),
    "daskdl.nn.layers.zero_padding1d": ("ZeroPadding1D",),
    "daskdl.nn.layers.zero_padding3d": ("ZeroPadding3D",),
    "daskdl.nn.preprocessors.cnn3d_to_feed_forward": ("Cnn3DToFeedForward",),
    "daskdl.nn.preprocessors.cnn_to_feed_forward": ("CnnToFeedForward",),
    "daskdl.nn.preprocessors.cnn_to_rnn": ("CnnToRnn",),
    "daskdl.nn.preprocessors.composable": ("Composable",),
    "daskdl.nn.preprocessors.feed_forward_to_cnn": ("FeedForwardToCnn",),
    "daskdl.nn.preprocessors.feed_forward_to_cnn3d": ("FeedForwardToCnn3D",),
    "daskdl.nn.preprocessors.feed_forward_to_rnn": ("FeedForwardToRnn",),
    "daskdl.nn.preprocessors.keras_flatten_rnn": ("KerasFlattenRnn",),
    "daskdl.nn.preprocessors.permute": ("Permute",),
    "daskdl.nn.preprocessors.reshape": ("Reshape",),
    "daskdl.nn.preprocessors.rnn_to_cnn": ("RnnToCnn",),
    "daskdl.nn.preprocessors.rnn_to_feed_forward": ("RnnToFeedForward",),
    "daskdl.nn.preprocessors.tensor_flow_cnn_to_feed_forward": (
        "TensorFlowCnnToFeedForward",
    ),
    "daskdl.nn.conf.updaters": (
        "AMSGrad",
        "AdaBelief",
        "AdaDelta",
        "AdaGrad",
        "AdaMax",
        "Adam",
        "Nadam",
        "Nesterovs",
        "NoOp",
        "RmsProp",
        "Sgd",
    ),
    "daskdl.nn.vertices.attention": ("AttentionVertex",),
    "daskdl.nn.vertices.duplicate_to_time_series": ("DuplicateToTimeSeriesVertex",),
    "daskdl.nn.vertices.element_wise": ("ElementWiseVertex",),
    "daskdl.nn.vertices.frozen_vertex": ("FrozenVertex",),
    "daskdl.nn.vertices.l2": ("L2Vertex",),
    "daskdl.nn.vertices.l2_normalize": ("L2NormalizeVertex",),
    "daskdl.nn.vertices.last_time_step": ("LastTimeStepVertex",),
    "daskdl.nn.vertices.merge": ("MergeVertex",),
    "daskdl.nn.vertices.pool_helper": ("PoolHelperVertex",),
    "daskdl.nn.vertices.preprocessor_vertex": ("PreprocessorVertex",),
    "daskdl.nn.vertices.reshape": ("ReshapeVertex",),
    "daskdl.nn.vertices.reverse_time_series": ("ReverseTimeSeriesVertex",),
    "daskdl.nn.vertices.scale": ("ScaleVertex",),
    "daskdl.nn.vertices.shift": ("ShiftVertex",),
    "daskdl.nn.vertices.stack": ("StackVertex",),
    "daskdl.nn.vertices.subset": ("SubsetVertex",),
    "daskdl.nn.vertices.unstack": ("UnstackVertex",),
    "daskdl.nn.conf.network": (
        "ComputationGraphConfiguration",
        "MultiLayerConfiguration",
    ),
    "daskdl.nn.graph": ("ComputationGraph",),
    "daskdl.nn.multilayer": ("MultiLayerNetwork",),
    "daskdl.nn.transfer.front": ("transfer_learning",),
    "daskdl.nn.transfer.graph": ("GraphTransferLearning",),
    "daskdl.nn.transfer.multilayer": ("MultiLayerTransferLearning",),
    "daskdl.training.local": ("fit",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    """Import the module that defines `name` when it is first used (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'daskdl' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
