"""Layers and vertices with something about them changed, for transfer learning.

Wrappers are changed inside.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from daskdl.errors import OptionError
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import WeightOptions
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.layers.batch_normalization import BatchNormalization
from daskdl.nn.layers.frozen import Frozen
from daskdl.nn.layers.frozen_with_backprop import FrozenWithBackprop
from daskdl.nn.layers.prelu import PReLU
from daskdl.nn.layers.wrapper import WrapperConf
from daskdl.nn.preprocessors.images import Cnn3DToFeedForward, OfImages
from daskdl.nn.vertices.frozen_vertex import FrozenVertex

Part: TypeAlias = LayerConf | VertexConf

# What says how large the input is.
_SIZES_OF_INPUTS = ("n_in", "n_in_queries", "n_in_keys", "n_in_values", "input_shape")
# Sizes that files have of layers which infer theirs here.
_SIZES_IN_FILES = frozenset({"nin", "nout"})
_TAKES_CHANNELS = (OfImages, Cnn3DToFeedForward)
# The two ways to say what a layer drops.
_DROPOUT = {"dropout": "keep_probability", "keep_probability": "dropout"}


def is_frozen(part: Part) -> bool:
    """Return whether the parameters of a layer or vertex stay as they are."""
    return isinstance(part, Frozen | FrozenWithBackprop | FrozenVertex)


def frozen(part: Part, who: str) -> Part:
    """Return a layer or vertex whose parameters stay as they are.

    Parameters
    ----------
    part : LayerConf or VertexConf
        A vertex without parameters comes back as it is.
    who : str
        What messages begin with.

    Raises
    ------
    OptionError
        If it is an output layer.
    """
    if is_frozen(part):
        return part
    if isinstance(part, VertexConf):
        if part.trained is None:
            return part
        return FrozenVertex(vertex=part.replaced(inputs=()), inputs=part.inputs)
    if part.is_output:
        raise OptionError(
            f"{who}: must not freeze an output layer, got {type(part).__name__}. "
            "Name the layer in front of it."
        )
    inside = part.replaced(name=None, inputs=())
    return Frozen(layer=inside, name=part.name, inputs=part.inputs)


def fine_tuned(part: Part, options: Mapping[str, Any]) -> Part:
    """Return a layer or vertex that leaves options to the network.

    Parameters
    ----------
    part : LayerConf or VertexConf
        Options that it always has itself, as an LSTM its activation, and the activation
        of an output layer stay.
    options : mapping of str to value
        Of a network.
    """
    taken = {*options, *(_DROPOUT[name] for name in options if name in _DROPOUT)}
    if isinstance(part, LayerConf) and part.is_output:
        taken -= {"activation"}
    fields = type(part).model_fields
    changes: dict[str, Any] = {
        name: None
        for name in taken
        if name in fields
        and fields[name].default is None
        and getattr(part, name) is not None
    }
    if isinstance(part, WrapperConf):
        changes["layer"] = fine_tuned(part.layer, options)
    return part.replaced(**changes) if changes else part


def with_own_activation(part: Part, filled: Part) -> Part:
    """Return a layer that has the activation which it took from its network.

    Parameters
    ----------
    part : LayerConf or VertexConf
        With what it leaves to the network.
    filled : LayerConf or VertexConf
        The same with nothing left open.
    """
    changes: dict[str, Any] = {}
    if getattr(part, "activation", "") is None:
        changes["activation"] = getattr(filled, "activation", None)
    if isinstance(part, WrapperConf) and isinstance(filled, WrapperConf):
        changes["layer"] = with_own_activation(part.layer, filled.layer)
    return part.replaced(**changes) if changes else part


def with_n_out(part: Part, n_out: int, who: str) -> Part:
    """Return a layer with another number of outputs.

    Raises
    ------
    OptionError
        If it has no such number, or is frozen.
    """
    if isinstance(part, WeightOptions):
        return part.replaced(n_out=n_out)
    if isinstance(part, WrapperConf) and not is_frozen(part):
        return part.replaced(layer=with_n_out(part.layer, n_out, who))
    raise OptionError(
        f"{who}: must name a layer with n_out that is not frozen, got "
        f"{type(part).__name__}."
    )


def n_out_of(part: Part) -> int | None:
    """Return the number of outputs that a layer is configured to have, if any."""
    inner = part.layer if isinstance(part, WrapperConf) else part
    n_out: int | None = getattr(inner, "n_out", None)
    return n_out


def with_weight_init(part: Part, weight_init: Any) -> Part:
    """Return a layer or vertex whose weights are drawn in another way."""
    if isinstance(part, WrapperConf):
        return part.replaced(layer=with_weight_init(part.layer, weight_init))
    return part.replaced(weight_init=weight_init)


def with_open_input(part: Part, old_n: int | None, new_n: int | None) -> Part:
    """Return a layer or vertex that infers how many features it gets.

    Parameters
    ----------
    part : LayerConf or VertexConf
        What it says of the size of its input is left out.
    old_n, new_n : int, optional
        Features or channels in front of it: a preprocessor that flattens images of the
        first number is given the second one.
    """
    changes: dict[str, Any] = dict.fromkeys(
        name for name in _SIZES_OF_INPUTS if getattr(part, name, None) is not None
    )
    preprocessor = getattr(part, "preprocessor", None)
    if isinstance(preprocessor, _TAKES_CHANNELS) and preprocessor.channels == old_n:
        changes["preprocessor"] = preprocessor.replaced(channels=new_n)
    if not part.dl4j.keys().isdisjoint(_SIZES_IN_FILES):
        changes["dl4j"] = {
            key: value for key, value in part.dl4j.items() if key not in _SIZES_IN_FILES
        }
    if isinstance(part, WrapperConf):
        changes["layer"] = with_open_input(part.layer, old_n, new_n)
    return part.replaced(**changes) if changes else part


def keeps_features(part: Part) -> bool:
    """Return whether as many features come out as go in, whatever their number.

    Normalization and slopes have parameters, but for each feature its own.
    """
    if isinstance(part, WrapperConf):
        return keeps_features(part.layer)
    return part.trained is None or isinstance(part, BatchNormalization | PReLU)
