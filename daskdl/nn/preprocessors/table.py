"""The kinds of preprocessors: each configuration and the one at work, a row a kind."""

from typing import Any

from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import PreprocessorConf
from daskdl.nn.preprocessors.preprocessor import Preprocessor

PREPROCESSORS: dict[type[PreprocessorConf], type[Preprocessor[Any]]] = {}


def build_preprocessor(
    conf: PreprocessorConf, input_type: InputType, name: str, workspace: Workspace
) -> Preprocessor[Any]:
    """Return the preprocessor that does what a configuration says."""
    return PREPROCESSORS[type(conf)](conf, input_type, name, workspace)
