"""The layer at work of a configuration."""

from typing import Any

from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.definition import DefinedLayer
from daskdl.nn.layers.layer import WORKERS, Layer


def build_layer(
    layer_conf: LayerConf, input_type: InputType, name: str, workspace: Workspace
) -> Layer[Any]:
    """Return the layer that does what a configuration says.

    Parameters
    ----------
    layer_conf : LayerConf
        With nothing left open; see :meth:`LayerConf.filled`.
    input_type : InputType
        What the layer gets. Flattened images have become images at the door.
    name : str
        Unique in the network: the layer's buffers are keyed by it.
    workspace : Workspace
        Lends the layer all its arrays.

    Raises
    ------
    OptionError
        If an option is left open, the input does not fit, or the kind is unknown.
    """
    kind = type(layer_conf)
    # The closest class that has a worker; a definition is its own.
    found = (WORKERS[base] for base in kind.__mro__ if base in WORKERS)
    worker = next(found, DefinedLayer)
    if worker is DefinedLayer and kind.forward is LayerConf.forward:
        raise OptionError(
            f"build_layer: the configuration of {name!r} must be of a known layer, "
            f"got {kind.__name__}."
        )
    return worker(layer_conf, inside_type(input_type), name, workspace)
