"""Input types of networks, which DL4J's files leave to be inferred from layers.

The first layer behind an input tells, or its preprocessor; a layer that takes anything,
such as an activation, leaves it to the one behind it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from daskdl.dl4j.network.json_objects import shown
from daskdl.errors import FormatError

_Layer = Mapping[str, Any]

_ROWS = {
    "dense",
    "output",
    "center_loss_output",
    "ocnn_output",
    "auto_encoder",
    "variational_autoencoder",
    "element_wise_multiplication",
    "repeat_vector",
}
_SERIES = {
    "lstm",
    "graves_lstm",
    "graves_bidirectional_lstm",
    "simple_rnn",
    "rnn_output",
    "convolution1d",
    "self_attention",
    "learned_self_attention",
    "recurrent_attention",
    "locally_connected1d",
    "subsampling1d",
    "upsampling1d",
    "zero_padding1d",
    "cropping1d",
    "rnn_loss",
    "mask_zero",
    "capsule",
    "capsule_strength",
}
_IMAGES = {
    "convolution2d",
    "deconvolution2d",
    "separable_convolution2d",
    "depthwise_convolution2d",
    "locally_connected2d",
    "primary_capsules",
    "subsampling",
    "upsampling2d",
    "zero_padding",
    "cropping2d",
    "local_response_normalization",
    "space_to_depth",
    "space_to_batch",
    "cnn_loss",
    "yolo2_output",
}
_VOLUMES = {
    "convolution3d",
    "deconvolution3d",
    "subsampling3d",
    "upsampling3d",
    "zero_padding3d",
    "cropping3d",
    "cnn3d_loss",
}
_OF_IMAGES = {"cnn_to_feed_forward", "cnn3d_to_feed_forward"}
# Vertices that take one kind and give another of the same size.
_CHANGING = {
    "duplicate_to_time_series": "feed_forward",
    "last_time_step": "recurrent",
    "attention": "recurrent",
    "reverse_time_series": "recurrent",
}
# Behind these the number of features tells nothing of an input.
_RESIZING = {"merge", "subset", "reshape", "space_to_depth", "l2"}
_WRAPPERS = {
    "last_time_step_layer",
    "bidirectional",
    "mask_zero",
    "time_distributed",
    "frozen",
    "frozen_with_backprop",
}
# Each kind's data formats: with features or channels first, and last.
_FORMATS = {
    "recurrent": ("NCW", "NWC", "NCHW", "NHWC"),
    "convolutional": ("NCHW", "NHWC"),
    "convolutional3d": ("NCDHW", "NDHWC"),
}
# What has the axes that are pooled over.
_KIND_OF_AXES = {
    (2,): "recurrent",
    (1,): "recurrent",
    (2, 3): "convolutional",
    (1, 2): "convolutional",
    (2, 3, 4): "convolutional3d",
    (1, 2, 3): "convolutional3d",
}
_FORMAT_NAMES = (
    "rnnDataFormat",
    "rnndataFormat",
    "cnn2dDataFormat",
    "cnn2DFormat",
    "dataFormat",
    "format",
    "data_format",
    "timeDistributedFormat",
)


def input_type(layers: Sequence[_Layer], where: str) -> dict[str, Any]:
    """Return the type of an input as a mapping.

    Parameters
    ----------
    layers : sequence of mapping
        Those that the input goes through, in their order; the first ones may leave its
        type open.
    where : str
        For messages.

    Returns
    -------
    mapping
        Sizes stay open where nothing tells them.

    Raises
    ------
    FormatError
        If nothing tells the type.
    """
    chain = [inner(layer) for layer in layers]
    if not chain:
        raise FormatError(f"{where}: must begin with a layer, got none.")
    for index, layer in enumerate(chain):
        preprocessor = layers[index].get("preprocessor")
        if preprocessor is not None:
            return _before(preprocessor, layer, where)
        if layer["type"] in _CHANGING:
            size = next(_sizes(chain[index + 1 :]), None)
            return {"type": _CHANGING[layer["type"]], "size": size}
        found = _kind(layer)
        if found == "feed_forward" and layer.get("dl4j", {}).get(
            "timeDistributedFormat"
        ):
            found = "recurrent"
        if found is not None:
            return _typed(found, chain, index, where)
    # Vertices and layers without weights take rows of any size.
    return {"type": "feed_forward", "size": stated_size(chain[0])}


def inner(layer: _Layer) -> _Layer:
    """Return the layer that wrappers hold, with the format of steps that are rows.

    A wrapper that holds nothing is returned itself.
    """
    steps = None
    while layer["type"] in _WRAPPERS and "layer" in layer:
        if layer["type"] == "time_distributed":
            steps = layer.get("dl4j", {}).get("rnnDataFormat", "NCW")
        layer = layer["layer"]
    if steps is None:
        return layer
    return {**layer, "dl4j": {**layer.get("dl4j", {}), "timeDistributedFormat": steps}}


def _kind(layer: _Layer) -> str | None:
    tag = layer["type"]
    if tag == "global_pooling":
        return _KIND_OF_AXES.get(_pooled(layer))
    for kind, tags in (
        ("feed_forward", _ROWS),
        ("recurrent", _SERIES),
        ("convolutional", _IMAGES),
        ("convolutional3d", _VOLUMES),
        ("embedding", {"embedding"}),
        ("embedding_sequence", {"embedding_sequence"}),
    ):
        if tag in tags:
            return kind
    return None


def _pooled(layer: _Layer) -> tuple[Any, ...]:
    """Return the axes that a global pooling names, in their order."""
    axes = layer.get("pooling_dimensions")
    return tuple(sorted(axes)) if isinstance(axes, list) else ()


def _typed(
    kind: str, chain: Sequence[_Layer], index: int, where: str
) -> dict[str, Any]:
    layer = chain[index]
    if kind == "embedding":
        return {"type": "feed_forward", "size": 1}
    if kind == "embedding_sequence":
        return {"type": "feed_forward", "size": None}
    is_resized = not _RESIZING.isdisjoint(item["type"] for item in chain[:index])
    size = None
    if not is_resized:
        # A normalization in front of layers without weights tells it, too.
        size = next(_sizes(chain[index:]), None) or next(_sizes(chain[:index]), None)
    if kind == "feed_forward":
        return {"type": kind, "size": size}
    written = _format_of(kind, chain[index:])
    if kind == "recurrent":
        is_last = written in ("NWC", "NHWC")
        return {"type": kind, "size": size, "data_format": "NWC" if is_last else "NCW"}
    result: dict[str, Any] = {"type": kind, "channels": size}
    if written in ("NHWC", "NDHWC"):
        result["data_format"] = written
    if layer["type"] == "locally_connected2d":
        sizes = layer.get("input_size")
        if not isinstance(sizes, list) or len(sizes) != 2:
            raise FormatError(
                f"{where}: inputSize must be height and width, got {shown(sizes)}."
            )
        result["height"], result["width"] = sizes
    return result


def _sizes(chain: Sequence[_Layer]) -> Iterator[int]:
    """Yield the sizes that layers name, until one changes the number of features."""
    for layer in chain:
        preprocessor = layer.get("preprocessor") or {}
        size = preprocessor.get("channels", stated_size(layer))
        if size is not None:
            yield size
        if size is not None or layer["type"] in _RESIZING:
            return


def stated_size(layer: _Layer) -> int | None:
    """Return the number of features or channels that a layer states as its input."""
    kept = layer.get("dl4j", {})
    shape = layer.get("input_shape")
    if layer["type"] == "prelu" and isinstance(shape, list) and len(shape) == 1:
        return shape[0] if isinstance(shape[0], int) else None
    sizes = (layer.get("n_in"), kept.get("inputChannels"), kept.get("nin"))
    return next((size for size in sizes if isinstance(size, int) and size > 0), None)


def _format_of(kind: str, chain: Sequence[_Layer]) -> str | None:
    """Return the data format that the first layer names which names one of a kind."""
    for layer in chain:
        written = _format(layer)
        if written in _FORMATS[kind]:
            return written
        if _kind(layer) not in (None, kind) or layer.get("preprocessor") is not None:
            break
    return None


def _format(layer: _Layer) -> str | None:
    if layer["type"] == "global_pooling":
        axes = _pooled(layer)
        return _FORMATS[_KIND_OF_AXES[axes]][1] if axes[:1] == (1,) else None
    kept = layer.get("dl4j", {})
    for name in _FORMAT_NAMES:
        value = kept.get(name, layer.get(name))
        if isinstance(value, str):
            return value
    return None


def _before(
    preprocessor: Mapping[str, Any], layer: _Layer, where: str
) -> dict[str, Any]:
    """Return the input type that a preprocessor of the first layer takes."""
    tag = preprocessor["type"]
    if tag == "composable":
        parts = preprocessor.get("preprocessors")
        if not parts:
            raise FormatError(f"{where}: must begin with a preprocessor, got none.")
        return _before(parts[0], layer, where)
    sizes = {
        name: preprocessor[name]
        for name in ("depth", "height", "width", "channels")
        if name in preprocessor
    }
    if tag in _OF_IMAGES and not all(sizes.values()):
        raise FormatError(
            f"{where}: its first preprocessor must name the sizes of what it takes, "
            "got zeros. Put them into configuration.json: inputHeight, inputWidth and "
            "numChannels."
        )
    if not all(isinstance(size, int) for size in sizes.values()):
        raise FormatError(
            f"{where}: its first preprocessor must name whole sizes, got "
            f"{shown(sizes)}."
        )
    count = math.prod(sizes.values())
    data_format = preprocessor.get("data_format")
    if tag in ("cnn_to_feed_forward", "cnn_to_rnn"):
        image = data_format if data_format in ("NCHW", "NHWC") else "NCHW"
        return {"type": "convolutional", **sizes, "data_format": image}
    if tag == "cnn3d_to_feed_forward":
        return {"type": "convolutional3d", **sizes, "data_format": data_format}
    if tag in ("feed_forward_to_cnn", "feed_forward_to_cnn3d"):
        return {"type": "feed_forward", "size": count}
    if tag == "rnn_to_cnn":
        return {"type": "recurrent", "size": count, "data_format": data_format}
    if tag == "rnn_to_feed_forward":
        return {
            "type": "recurrent",
            "size": stated_size(layer),
            "data_format": data_format,
        }
    return {"type": "feed_forward", "size": stated_size(layer)}
