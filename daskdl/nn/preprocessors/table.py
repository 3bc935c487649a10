"""The kinds of preprocessors that the package brings."""

from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.preprocessor import PreprocessorConf
from daskdl.nn.preprocessors.composable import Composable
from daskdl.nn.preprocessors.images import (
    Cnn3DToFeedForward,
    CnnToFeedForward,
    FeedForwardToCnn,
    FeedForwardToCnn3D,
    TensorFlowCnnToFeedForward,
)
from daskdl.nn.preprocessors.keras import KerasFlattenRnn, Permute, Reshape
from daskdl.nn.preprocessors.preprocessor import Preprocessor
from daskdl.nn.preprocessors.series import (
    CnnToRnn,
    FeedForwardToRnn,
    RnnToCnn,
    RnnToFeedForward,
)

PREPROCESSORS: tuple[type[PreprocessorConf], ...] = (
    Cnn3DToFeedForward,
    CnnToFeedForward,
    CnnToRnn,
    Composable,
    FeedForwardToCnn3D,
    FeedForwardToCnn,
    FeedForwardToRnn,
    KerasFlattenRnn,
    Permute,
    Reshape,
    RnnToCnn,
    RnnToFeedForward,
    TensorFlowCnnToFeedForward,
)


def build_preprocessor(
    conf: PreprocessorConf, input_type: InputType, name: str, workspace: Workspace
) -> Preprocessor:
    """Return a preprocessor in its place; see :class:`Preprocessor`."""
    return Preprocessor(conf, input_type, name, workspace)
