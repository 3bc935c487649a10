"""Options that may be left out here because they follow, and not in DL4J's files."""

from typing import Any

from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.layers.global_pooling import GlobalPooling
from daskdl.nn.layers.prelu import PReLU
from daskdl.nn.vertices.merge import MergeVertex


def spelled_out(
    conf: LayerConf | VertexConf, *input_types: InputType
) -> dict[str, Any]:
    """Return values for options that are None.

    Parameters
    ----------
    conf : LayerConf or VertexConf
        A layer is filled.
    *input_types : InputType
        What it gets.
    """
    first = input_types[0]
    if isinstance(conf, PReLU) and conf.input_shape is None:
        # Only the sizes of shared axes can be unknown, and those do not count.
        return {"input_shape": [1 if n is None else n for n in first.border_shape]}
    if isinstance(conf, GlobalPooling) and conf.pooling_dimensions is None:
        # Its default is that of channels that come first, whatever comes in.
        if _is_channels_last(first):
            return {"pooling_dimensions": list(range(1, len(first.shape)))}
    elif isinstance(conf, MergeVertex) and conf.merge_axis is None:
        return {"merge_axis": len(first.shape) if _is_channels_last(first) else 1}
    return {}


def _is_channels_last(input_type: InputType) -> bool:
    return getattr(input_type, "data_format", "").endswith("C")
