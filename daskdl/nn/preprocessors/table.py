"""The kinds of preprocessors: each configuration and the one at work, a row a kind."""

from typing import Any

from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.preprocessors.cnn3d_to_feed_forward import (
    Cnn3DToFeedForward,
    Cnn3DToFeedForwardPreprocessor,
)
from daskdl.nn.preprocessors.cnn_to_feed_forward import (
    CnnToFeedForward,
    CnnToFeedForwardPreprocessor,
)
from daskdl.nn.preprocessors.cnn_to_rnn import CnnToRnn, CnnToRnnPreprocessor
from daskdl.nn.preprocessors.composable import Composable, ComposablePreprocessor
from daskdl.nn.preprocessors.feed_forward_to_cnn import (
    FeedForwardToCnn,
    FeedForwardToCnnPreprocessor,
)
from daskdl.nn.preprocessors.feed_forward_to_cnn3d import (
    FeedForwardToCnn3D,
    FeedForwardToCnn3DPreprocessor,
)
from daskdl.nn.preprocessors.feed_forward_to_rnn import (
    FeedForwardToRnn,
    FeedForwardToRnnPreprocessor,
)
from daskdl.nn.preprocessors.keras_flatten_rnn import (
    KerasFlattenRnn,
    KerasFlattenRnnPreprocessor,
)
from daskdl.nn.preprocessors.permute import Permute, PermutePreprocessor
from daskdl.nn.preprocessors.preprocessor import Preprocessor
from daskdl.nn.preprocessors.reshape import Reshape, ReshapePreprocessor
from daskdl.nn.preprocessors.rnn_to_cnn import RnnToCnn, RnnToCnnPreprocessor
from daskdl.nn.preprocessors.rnn_to_feed_forward import (
    RnnToFeedForward,
    RnnToFeedForwardPreprocessor,
)
from daskdl.nn.preprocessors.tensor_flow_cnn_to_feed_forward import (
    TensorFlowCnnToFeedForward,
    TensorFlowCnnToFeedForwardPreprocessor,
)

PREPROCESSORS: dict[type[PreprocessorConf], type[Preprocessor[Any]]] = {
    Cnn3DToFeedForward: Cnn3DToFeedForwardPreprocessor,
    CnnToFeedForward: CnnToFeedForwardPreprocessor,
    CnnToRnn: CnnToRnnPreprocessor,
    Composable: ComposablePreprocessor,
    FeedForwardToCnn3D: FeedForwardToCnn3DPreprocessor,
    FeedForwardToCnn: FeedForwardToCnnPreprocessor,
    FeedForwardToRnn: FeedForwardToRnnPreprocessor,
    KerasFlattenRnn: KerasFlattenRnnPreprocessor,
    Permute: PermutePreprocessor,
    Reshape: ReshapePreprocessor,
    RnnToCnn: RnnToCnnPreprocessor,
    RnnToFeedForward: RnnToFeedForwardPreprocessor,
    TensorFlowCnnToFeedForward: TensorFlowCnnToFeedForwardPreprocessor,
}


def build_preprocessor(
    conf: PreprocessorConf, input_type: InputType, name: str, workspace: Workspace
) -> Preprocessor[Any]:
    """Return the preprocessor that does what a configuration says.

    Parameters
    ----------
    conf : PreprocessorConf
        The configuration.
    input_type : InputType
        What it gets.
    name : str
        Of the layer behind it: its buffers are keyed by it.
    workspace : Workspace
        Lends it all its arrays.

    Raises
    ------
    OptionError
        If the input does not fit.
    """
    return PREPROCESSORS[type(conf)](conf, input_type, name, workspace)
