# What `_HOMES` in __init__.py loads lazily, for type checkers and editors.

from daskdl.arrays.namespace import FloatArray
from daskdl.cluster.frontend import DaskComputationGraph, DaskMultiLayer
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    BlockMomentumTrainingMaster,
    DiLoCoTrainingMaster,
    ParameterAveragingTrainingMaster,
    PowerSGDTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.cluster.masters.training_hook import TrainingHook
from daskdl.cluster.pipelines import (
    class_counts,
    create_file_batches,
    export_parquet,
    shuffled,
    split,
)
from daskdl.data.classes import ClassCounts
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.hybrid import MultiNormalizerHybrid
from daskdl.data.normalizers.image import (
    ImagePreProcessingScaler,
    VGG16ImagePreProcessor,
)
from daskdl.data.normalizers.image_multi import ImageMultiPreProcessingScaler
from daskdl.data.normalizers.min_max import (
    MultiNormalizerMinMaxScaler,
    NormalizerMinMaxScaler,
)
from daskdl.data.normalizers.standardize import (
    MultiNormalizerStandardize,
    NormalizerStandardize,
)
from daskdl.data.pre_processors.composite import (
    CompositeDataSetPreProcessor,
    CompositeMultiDataSetPreProcessor,
)
from daskdl.data.pre_processors.crop_and_resize import CropAndResizeDataSetPreProcessor
from daskdl.data.pre_processors.images import (
    ImageFlatteningDataSetPreProcessor,
    PermuteDataSetPreProcessor,
    RGBtoGrayscaleDataSetPreProcessor,
)
from daskdl.data.pre_processors.labels import LabelLastTimeStepPreProcessor
from daskdl.data.pre_processors.under_sampling import (
    UnderSamplingByMaskingMultiDataSetPreProcessor,
    UnderSamplingByMaskingPreProcessor,
)
from daskdl.data.sources.listed_files import list_paths
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.data.texts import read_text, write_text
from daskdl.dl4j.datasets.export import export_datasets
from daskdl.dl4j.datasets.file_batch import FileBatch
from daskdl.dl4j.datasets.validation import (
    ValidationResult,
    delete_invalid_datasets,
    validate_datasets,
)
from daskdl.encoding.algorithms import (
    AdaptiveThresholdAlgorithm,
    FixedThresholdAlgorithm,
    TargetSparsityThresholdAlgorithm,
)
from daskdl.encoding.residual import (
    NoOpResidualPostProcessor,
    ResidualClippingPostProcessor,
)
from daskdl.errors import (
    BusClosedError,
    ChangedFileError,
    ClusterError,
    ColumnError,
    CorruptFileError,
    DamagedMessageError,
    DaskdlError,
    DataError,
    DeviceError,
    DialectWarning,
    DivergedError,
    FormatError,
    MissingExtraError,
    NetworkBusyError,
    OptionError,
    OutputError,
    OutputExistsError,
    SchedulerUnreachableError,
    ShapeError,
    SourceNotFoundError,
    StaleMessageError,
    StepTimeoutError,
    StorageError,
    UnfinishedJobError,
    UnfinishedOutputError,
    VersionMismatchError,
    WorkerLostError,
)
from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_multi_class import ROCMultiClass
from daskdl.formats.diagram.drawing import network_svg
from daskdl.formats.load import load
from daskdl.formats.onnx.model import export_onnx
from daskdl.nn.conf.activations import (
    ActivationDefinition,
    Elu,
    Gelu,
    LeakyRelu,
    Relu,
    RRelu,
    ThresholdedRelu,
)
from daskdl.nn.conf.constraints import (
    MaxNormConstraint,
    MinMaxNormConstraint,
    NonNegativeConstraint,
    UnitNormConstraint,
)
from daskdl.nn.conf.distributions import (
    BinomialDistribution,
    ConstantDistribution,
    GaussianDistribution,
    LogNormalDistribution,
    NormalDistribution,
    OrthogonalDistribution,
    TruncatedNormalDistribution,
    UniformDistribution,
)
from daskdl.nn.conf.dropouts import (
    AlphaDropout,
    GaussianDropout,
    GaussianNoise,
    PlainDropout,
    SpatialDropout,
)
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    ConvolutionalFlat,
    FeedForward,
    InputType,
    Recurrent,
    features_of,
)
from daskdl.nn.conf.losses import (
    AbsoluteError,
    BinaryCrossEntropy,
    CrossEntropy,
    FMeasure,
    LossDefinition,
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanSquaredError,
    MeanSquaredLogarithmicError,
    MixtureDensity,
    NegativeLogLikelihood,
    SoftmaxCrossEntropy,
    SparseCrossEntropy,
    SquaredError,
    WeightedLoss,
)
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.reconstructions import (
    BernoulliReconstructionDistribution,
    CompositeReconstructionDistribution,
    ExponentialReconstructionDistribution,
    GaussianReconstructionDistribution,
    LossFunctionWrapper,
)
from daskdl.nn.conf.regularization import WeightDecay
from daskdl.nn.conf.schedules import (
    CycleSchedule,
    ExponentialSchedule,
    FixedSchedule,
    InverseSchedule,
    MapSchedule,
    PolySchedule,
    RampSchedule,
    ScheduleDefinition,
    SigmoidSchedule,
    StepSchedule,
)
from daskdl.nn.conf.updaters import (
    AdaBelief,
    AdaDelta,
    AdaGrad,
    Adam,
    AdaMax,
    AMSGrad,
    Nadam,
    Nesterovs,
    NoOp,
    RmsProp,
    Sgd,
    UpdaterDefinition,
    UpdateStep,
)
from daskdl.nn.conf.weight_inits import (
    ConstantInit,
    DistributionInit,
    EmbeddingInit,
    IdentityInit,
    VarScalingNormalFanAvg,
    VarScalingNormalFanIn,
    VarScalingNormalFanOut,
    VarScalingUniformFanAvg,
    VarScalingUniformFanIn,
    VarScalingUniformFanOut,
    WeightInitDefinition,
)
from daskdl.nn.conf.weight_noise import DropConnect, WeightNoise
from daskdl.nn.early_stopping.conditions import (
    BestScoreEpochTerminationCondition,
    EpochTerminationCondition,
    InvalidScoreIterationTerminationCondition,
    IterationTerminationCondition,
    MaxEpochsTerminationCondition,
    MaxScoreIterationTerminationCondition,
    MaxTimeIterationTerminationCondition,
    ScoreImprovementEpochTerminationCondition,
)
from daskdl.nn.early_stopping.early_stopping import (
    EarlyStopping,
)
from daskdl.nn.early_stopping.reconstruction_scores import (
    AutoencoderScoreCalculator,
    VAEReconErrorScoreCalculator,
    VAEReconProbScoreCalculator,
)
from daskdl.nn.early_stopping.result import (
    EarlyStoppingResult,
    TerminationReason,
)
from daskdl.nn.early_stopping.savers import (
    EarlyStoppingModelSaver,
    FileModelSaver,
    InMemoryModelSaver,
)
from daskdl.nn.early_stopping.score_calculators import (
    ClassificationScoreCalculator,
    DataSetLossCalculator,
    RegressionScoreCalculator,
    ROCScoreCalculator,
    ScoreCalculator,
)
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.listeners import (
    CheckpointListener,
    EvaluativeListener,
    ScoreIterationListener,
)
from daskdl.nn.fitting.run_checkpoint import RunCheckpoint
from daskdl.nn.graph import ComputationGraph
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
from daskdl.nn.layers.definition import LayerDefinition
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
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl.nn.preprocessors.composable import Composable
from daskdl.nn.preprocessors.images import (
    Cnn3DToFeedForward,
    CnnToFeedForward,
    FeedForwardToCnn,
    FeedForwardToCnn3D,
    TensorFlowCnnToFeedForward,
)
from daskdl.nn.preprocessors.keras import KerasFlattenRnn, Permute, Reshape
from daskdl.nn.preprocessors.series import (
    CnnToRnn,
    FeedForwardToRnn,
    RnnToCnn,
    RnnToFeedForward,
)
from daskdl.nn.registration import (
    activation,
    layer,
    loss,
    schedule,
    updater,
    vertex,
    weight_init,
)
from daskdl.nn.run import Backward, Run
from daskdl.nn.tallies import (
    ScoreTally,
    Tally,
)
from daskdl.nn.transfer.builder import transfer_learning
from daskdl.nn.transfer.graph import GraphTransferLearning
from daskdl.nn.transfer.multilayer import MultiLayerTransferLearning
from daskdl.nn.vertices.attention import AttentionVertex
from daskdl.nn.vertices.definition import VertexDefinition
from daskdl.nn.vertices.element_wise import ElementWiseVertex
from daskdl.nn.vertices.frozen_vertex import FrozenVertex
from daskdl.nn.vertices.l2 import L2NormalizeVertex, L2Vertex
from daskdl.nn.vertices.merge import MergeVertex
from daskdl.nn.vertices.preprocessor_vertex import PreprocessorVertex
from daskdl.nn.vertices.reshape import ReshapeVertex
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
from daskdl.parallel.inference import ParallelInference
from daskdl.parallel.wrapper import ParallelWrapper
from daskdl.training.boards.mlflow import MLflowListener
from daskdl.training.boards.tensorboard import TensorBoardListener
from daskdl.training.local import fit

__all__ = [
    "LSTM",
    "ROC",
    "AMSGrad",
    "AbsoluteError",
    "Activation",
    "ActivationDefinition",
    "AdaBelief",
    "AdaDelta",
    "AdaGrad",
    "AdaMax",
    "Adam",
    "AdaptiveThresholdAlgorithm",
    "AllReduceTrainingMaster",
    "AlphaDropout",
    "AttentionVertex",
    "AutoEncoder",
    "AutoencoderScoreCalculator",
    "Backward",
    "BatchNormalization",
    "BernoulliReconstructionDistribution",
    "BestScoreEpochTerminationCondition",
    "Bidirectional",
    "BinaryCrossEntropy",
    "BinomialDistribution",
    "BlockMomentumTrainingMaster",
    "BusClosedError",
    "Capsule",
    "CapsuleStrength",
    "CenterLossOutput",
    "ChangedFileError",
    "CheckpointListener",
    "ClassCounts",
    "ClassificationScoreCalculator",
    "ClusterError",
    "Cnn3DLoss",
    "Cnn3DToFeedForward",
    "CnnLoss",
    "CnnToFeedForward",
    "CnnToRnn",
    "ColumnError",
    "Composable",
    "CompositeDataSetPreProcessor",
    "CompositeMultiDataSetPreProcessor",
    "CompositeReconstructionDistribution",
    "ComputationGraph",
    "ComputationGraphConfiguration",
    "ConstantDistribution",
    "ConstantInit",
    "Convolution1D",
    "Convolution2D",
    "Convolution3D",
    "Convolutional",
    "Convolutional3D",
    "ConvolutionalFlat",
    "CorruptFileError",
    "CropAndResizeDataSetPreProcessor",
    "Cropping1D",
    "Cropping2D",
    "Cropping3D",
    "CrossEntropy",
    "CycleSchedule",
    "DamagedMessageError",
    "DaskComputationGraph",
    "DaskMultiLayer",
    "DaskdlError",
    "DataError",
    "DataSet",
    "DataSetLossCalculator",
    "Deconvolution2D",
    "Deconvolution3D",
    "Dense",
    "DepthwiseConvolution2D",
    "DeviceError",
    "DiLoCoTrainingMaster",
    "DialectWarning",
    "DistributionInit",
    "DivergedError",
    "DropConnect",
    "Dropout",
    "DuplicateToTimeSeriesVertex",
    "EarlyStopping",
    "EarlyStoppingModelSaver",
    "EarlyStoppingResult",
    "ElementWiseMultiplication",
    "ElementWiseVertex",
    "Elu",
    "Embedding",
    "EmbeddingInit",
    "EmbeddingSequence",
    "EpochTerminationCondition",
    "Evaluation",
    "EvaluationBinary",
    "EvaluationCalibration",
    "EvaluativeListener",
    "ExponentialReconstructionDistribution",
    "ExponentialSchedule",
    "FMeasure",
    "FeedForward",
    "FeedForwardToCnn",
    "FeedForwardToCnn3D",
    "FeedForwardToRnn",
    "FileBatch",
    "FileModelSaver",
    "Fit",
    "FixedSchedule",
    "FixedThresholdAlgorithm",
    "FloatArray",
    "FormatError",
    "Frozen",
    "FrozenVertex",
    "FrozenWithBackprop",
    "GaussianDistribution",
    "GaussianDropout",
    "GaussianNoise",
    "GaussianReconstructionDistribution",
    "Gelu",
    "GlobalPooling",
    "GraphTransferLearning",
    "GravesBidirectionalLSTM",
    "GravesLSTM",
    "IdentityInit",
    "ImageFlatteningDataSetPreProcessor",
    "ImageMultiPreProcessingScaler",
    "ImagePreProcessingScaler",
    "InMemoryModelSaver",
    "InputType",
    "InvalidScoreIterationTerminationCondition",
    "InverseSchedule",
    "IterationTerminationCondition",
    "KerasFlattenRnn",
    "L2NormalizeVertex",
    "L2Vertex",
    "LabelLastTimeStepPreProcessor",
    "LastTimeStep",
    "LastTimeStepVertex",
    "LayerDefinition",
    "LeakyRelu",
    "LearnedSelfAttention",
    "Listener",
    "LocalResponseNormalization",
    "LocallyConnected1D",
    "LocallyConnected2D",
    "LogNormalDistribution",
    "LossDefinition",
    "LossFunctionWrapper",
    "LossLayer",
    "MLflowListener",
    "MapSchedule",
    "Mask",
    "MaskZero",
    "MaxEpochsTerminationCondition",
    "MaxNormConstraint",
    "MaxScoreIterationTerminationCondition",
    "MaxTimeIterationTerminationCondition",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "MergeVertex",
    "MinMaxNormConstraint",
    "MissingExtraError",
    "MixtureDensity",
    "MultiDataSet",
    "MultiLayerConfiguration",
    "MultiLayerNetwork",
    "MultiLayerTransferLearning",
    "MultiNormalizerHybrid",
    "MultiNormalizerMinMaxScaler",
    "MultiNormalizerStandardize",
    "Nadam",
    "NegativeLogLikelihood",
    "Nesterovs",
    "NetworkBusyError",
    "NoOp",
    "NoOpResidualPostProcessor",
    "NonNegativeConstraint",
    "NormalDistribution",
    "NormalizerMinMaxScaler",
    "NormalizerStandardize",
    "OCNNOutput",
    "OptionError",
    "OrthogonalDistribution",
    "Output",
    "OutputError",
    "OutputExistsError",
    "PReLU",
    "ParallelInference",
    "ParallelWrapper",
    "Parameter",
    "ParameterAveragingTrainingMaster",
    "Permute",
    "PermuteDataSetPreProcessor",
    "PlainDropout",
    "PolySchedule",
    "PoolHelperVertex",
    "PowerSGDTrainingMaster",
    "PreprocessorVertex",
    "PrimaryCapsules",
    "RGBtoGrayscaleDataSetPreProcessor",
    "ROCBinary",
    "ROCMultiClass",
    "ROCScoreCalculator",
    "RRelu",
    "RampSchedule",
    "Recurrent",
    "RecurrentAttention",
    "RegressionEvaluation",
    "RegressionScoreCalculator",
    "Relu",
    "RepeatVector",
    "Reshape",
    "ReshapeVertex",
    "ResidualClippingPostProcessor",
    "ReverseTimeSeriesVertex",
    "RmsProp",
    "RnnLoss",
    "RnnOutput",
    "RnnToCnn",
    "RnnToFeedForward",
    "Run",
    "RunCheckpoint",
    "ScaleVertex",
    "ScheduleDefinition",
    "SchedulerUnreachableError",
    "ScoreCalculator",
    "ScoreImprovementEpochTerminationCondition",
    "ScoreIterationListener",
    "ScoreTally",
    "SelfAttention",
    "SeparableConvolution2D",
    "Sgd",
    "ShapeError",
    "SharedTrainingMaster",
    "ShiftVertex",
    "SigmoidSchedule",
    "SimpleRnn",
    "SoftmaxCrossEntropy",
    "SourceNotFoundError",
    "SourceOptions",
    "SpaceToBatch",
    "SpaceToDepth",
    "SparseCrossEntropy",
    "SpatialDropout",
    "SquaredError",
    "StackVertex",
    "StaleMessageError",
    "StepSchedule",
    "StepTimeoutError",
    "StorageError",
    "Subsampling",
    "Subsampling1D",
    "Subsampling3D",
    "SubsetVertex",
    "Tally",
    "TargetSparsityThresholdAlgorithm",
    "TensorBoardListener",
    "TensorFlowCnnToFeedForward",
    "TerminationReason",
    "ThresholdedRelu",
    "TimeDistributed",
    "TrainingHook",
    "TruncatedNormalDistribution",
    "UnderSamplingByMaskingMultiDataSetPreProcessor",
    "UnderSamplingByMaskingPreProcessor",
    "UnfinishedJobError",
    "UnfinishedOutputError",
    "UniformDistribution",
    "UnitNormConstraint",
    "UnstackVertex",
    "UpdateStep",
    "UpdaterDefinition",
    "Upsampling1D",
    "Upsampling2D",
    "Upsampling3D",
    "VAEReconErrorScoreCalculator",
    "VAEReconProbScoreCalculator",
    "VGG16ImagePreProcessor",
    "ValidationResult",
    "VarScalingNormalFanAvg",
    "VarScalingNormalFanIn",
    "VarScalingNormalFanOut",
    "VarScalingUniformFanAvg",
    "VarScalingUniformFanIn",
    "VarScalingUniformFanOut",
    "VariationalAutoencoder",
    "VersionMismatchError",
    "VertexDefinition",
    "WeightDecay",
    "WeightInitDefinition",
    "WeightNoise",
    "WeightedLoss",
    "WorkerLostError",
    "Yolo2Output",
    "ZeroPadding",
    "ZeroPadding1D",
    "ZeroPadding3D",
    "__version__",
    "activation",
    "class_counts",
    "create_file_batches",
    "delete_invalid_datasets",
    "export_datasets",
    "export_onnx",
    "export_parquet",
    "features_of",
    "fit",
    "layer",
    "list_paths",
    "load",
    "loss",
    "network_svg",
    "open_source",
    "read_text",
    "schedule",
    "shuffled",
    "split",
    "transfer_learning",
    "updater",
    "validate_datasets",
    "vertex",
    "weight_init",
    "write_text",
]

__version__: str
