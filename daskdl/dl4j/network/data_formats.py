"""Data formats in DL4J's layers, where channels come last.

Here only the network's inputs have a data format; there every layer has its own. Files
may mix them, so that what a file says stays with its layer.
"""

from typing import Any

from daskdl.dl4j.network.json_objects import Json
from daskdl.dl4j.network.layers import BY_TAG
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    InputType,
    Recurrent,
)
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.topology import entering
from daskdl.nn.layers.wrapper import WrapperConf

# The names under which layers keep it, by what comes in.
_NAMES: dict[type[InputType], tuple[str, ...]] = {
    Recurrent: ("rnnDataFormat", "rnndataFormat"),
    Convolutional: ("cnn2dDataFormat", "cnn2DFormat", "dataFormat", "format"),
    Convolutional3D: ("dataFormat",),
}
_CHANNELS_LAST = ("NWC", "NHWC", "NDHWC")


def data_formats(conf: LayerConf, input_type: InputType) -> dict[str, Json]:
    """Return the properties of data formats whose channels come last.

    Parameters
    ----------
    conf : LayerConf
        A layer, not what it may hold.
    input_type : InputType
        What it gets, behind its preprocessor.
    """
    row = BY_TAG.get(conf.type)
    written = getattr(input_type, "data_format", None)
    if row is None or written not in _CHANNELS_LAST:
        return {}
    names = _NAMES.get(type(input_type), ())
    return {name: written for name in names if name in row.java.ignored}


def as_written(conf: LayerConf, input_type: InputType) -> LayerConf:
    """Return a layer that keeps the formats of its file, where DL4J mixes them.

    Parameters
    ----------
    conf : LayerConf
        As it was read; the usual formats are left out of its option `dl4j`.
    input_type : InputType
        What it gets, in front of its preprocessor.
    """
    came = entering(conf, input_type)
    changes: dict[str, Any] = {}
    formats = data_formats(conf, came)
    if not formats.keys() <= conf.dl4j.keys():
        usual = BY_TAG[conf.type].java.ignored
        changes["dl4j"] = {**{name: usual[name] for name in formats}, **conf.dl4j}
    if isinstance(conf, WrapperConf):
        changes["layer"] = as_written(conf.layer, conf.inner_type(came))
    return conf.model_copy(update=changes) if changes else conf
