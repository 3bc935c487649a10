"""Options that may be left out here because they follow, and not in DL4J's files."""

from typing import Any

from daskdl.dl4j.network.inferred_properties import same_padding
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.layers.attention import AttentionConf
from daskdl.nn.layers.global_pooling import GlobalPooling
from daskdl.nn.layers.locally_connected import LocallyConnectingConf
from daskdl.nn.layers.prelu import PReLU
from daskdl.nn.vertices.attention import AttentionVertex
from daskdl.nn.vertices.merge import MergeVertex


def explicit_options(
    conf: LayerConf | VertexConf, *input_types: InputType
) -> dict[str, Any]:
    """Return values for options that are None, or that mean nothing here.

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
    elif isinstance(conf, LocallyConnectingConf):
        padding = same_padding(conf, first)
        sizes = list(conf.entering(first).shape[:-1])
        # DL4J works out the padding when a network is built, not when it is read.
        padded = {} if padding is None else {"padding": padding[0]}
        return {"input_size": sizes, **padded}
    elif isinstance(conf, AttentionConf | AttentionVertex) and conf.head_size is None:
        return {"head_size": conf.size_of_heads}
    elif isinstance(conf, MergeVertex) and conf.merge_axis is None:
        return {"merge_axis": len(first.shape) if _is_channels_last(first) else 1}
    return {}


def _is_channels_last(input_type: InputType) -> bool:
    return getattr(input_type, "data_format", "").endswith("C")
