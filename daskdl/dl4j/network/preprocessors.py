"""Input preprocessors in DL4J's JSON."""

from collections.abc import Mapping
from typing import Any

from daskdl.dl4j.network.json_objects import (
    Codec,
    JavaClass,
    JavaTable,
    Json,
    Key,
    expect_list,
)

_KERAS = "org.deeplearning4j.preprocessors."
_IMAGE = {
    "inputHeight": Key("height"),
    "inputWidth": Key("width"),
    "numChannels": Key("channels"),
}
# DL4J takes sizes of 0 from the data.
_OPEN = Codec(lambda value, where: value or None, lambda size: size or 0)
_OPEN_IMAGE = {name: Key(key.option, _OPEN) for name, key in _IMAGE.items()}
_SERIES = {"rnnDataFormat": Key("data_format", missing="NCW")}
_VOLUME = {**_IMAGE, "inputDepth": Key("depth")}
_FORMAT = Codec(
    lambda value, where: "NCDHW" if value else "NDHWC", lambda name: name == "NCDHW"
)
_VOLUME_FORMAT = {"ncdhw": Key("data_format", _FORMAT)}
_VOLUME_FIRST = ("inputDepth", "inputHeight", "inputWidth", "numChannels", "ncdhw")


def _read_all(value: Json, where: str) -> list[Any]:
    return [
        PREPROCESSOR.read(item, f"{where}[{index}]")
        for index, item in enumerate(expect_list(value, where))
    ]


def _write_all(value: list[Any]) -> Json:
    return [PREPROCESSOR.write(item) for item in value]


_TABLE = JavaTable(
    "input preprocessor",
    "org.deeplearning4j.nn.conf.preprocessor.",
    [
        JavaClass(
            "CnnToFeedForwardPreProcessor",
            "cnn_to_feed_forward",
            {**_OPEN_IMAGE, "format": Key("data_format", missing="NCHW")},
        ),
        JavaClass("FeedForwardToCnnPreProcessor", "feed_forward_to_cnn", _IMAGE),
        JavaClass("RnnToFeedForwardPreProcessor", "rnn_to_feed_forward", _SERIES),
        JavaClass("FeedForwardToRnnPreProcessor", "feed_forward_to_rnn", _SERIES),
        JavaClass("CnnToRnnPreProcessor", "cnn_to_rnn", {**_IMAGE, **_SERIES}),
        JavaClass("RnnToCnnPreProcessor", "rnn_to_cnn", {**_IMAGE, **_SERIES}),
        JavaClass(
            "Cnn3DToFeedForwardPreProcessor",
            "cnn3d_to_feed_forward",
            {**_VOLUME, **_VOLUME_FORMAT},
            _VOLUME_FIRST,
        ),
        JavaClass(
            "FeedForwardToCnn3DPreProcessor",
            "feed_forward_to_cnn3d",
            {**_VOLUME, **_VOLUME_FORMAT},
            _VOLUME_FIRST,
        ),
        JavaClass(
            "ComposableInputPreProcessor",
            "composable",
            {"inputPreProcessors": Key("preprocessors", Codec(_read_all, _write_all))},
        ),
        # Only in networks that came from Keras.
        JavaClass(
            "ReshapePreprocessor",
            "reshape",
            {"targetShape": Key("target_shape"), "format": Key("data_format")},
            ignored={"hasMiniBatchDimension": False, "inputShape": None},
            package=_KERAS,
        ),
        JavaClass(
            "PermutePreprocessor",
            "permute",
            {"permutationIndices": Key("permutation_indices")},
            package=_KERAS,
        ),
        JavaClass(
            "KerasFlattenRnnPreprocessor",
            "keras_flatten_rnn",
            {"depth": Key("depth"), "tsLength": Key("ts_length")},
            package=_KERAS,
        ),
        JavaClass(
            "TensorFlowCnnToFeedForwardPreProcessor",
            "tensor_flow_cnn_to_feed_forward",
            _IMAGE,
            package="org.deeplearning4j.nn.modelimport.keras.preprocessors.",
        ),
    ],
)


def _read(value: Json, where: str) -> dict[str, Any]:
    preprocessor = _TABLE.read(value, where)
    if isinstance(preprocessor, str):
        return {"type": preprocessor}
    mapping: dict[str, Any] = preprocessor
    return mapping


def _write(value: Mapping[str, Any]) -> Json:
    return _TABLE.write(value)


PREPROCESSOR = Codec(_read, _write)
