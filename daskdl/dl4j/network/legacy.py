"""Configurations of DL4J 0.5 to 1.0.0-beta3 as later releases would have written them.

Up to 1.0.0-alpha an object names its class as its only key, ``{"dense": {...}}``; up to
beta3 the options of training are enumerations and numbers of the layer. Whatever is
neither stays as it is, so that :mod:`daskdl.dl4j.network.configuration` reads files of
all releases, and refuses what is wrong in them.

References
----------
DL4J 1.0.0-M2.1, ``org.deeplearning4j.nn.conf.serde.legacy.LegacyJsonFormat`` and
``org.deeplearning4j.nn.conf.serde.BaseNetConfigDeserializer``.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from daskdl.dl4j.network.json_objects import Json, shown
from daskdl.dl4j.network.layer_row import PACKAGE
from daskdl.dl4j.network.legacy_options import (
    modern_activation,
    modern_function,
    modern_loss,
    modern_options,
    named,
)
from daskdl.dl4j.network.vertices import PACKAGE as GRAPH_PACKAGE

_LAYERS = {
    "autoEncoder": "AutoEncoder",
    "convolution": "ConvolutionLayer",
    "convolution1d": "Convolution1DLayer",
    "gravesLSTM": "GravesLSTM",
    "LSTM": "LSTM",
    "gravesBidirectionalLSTM": "GravesBidirectionalLSTM",
    "output": "OutputLayer",
    "CenterLossOutputLayer": "CenterLossOutputLayer",
    "rnnoutput": "RnnOutputLayer",
    "loss": "LossLayer",
    "dense": "DenseLayer",
    "subsampling": "SubsamplingLayer",
    "subsampling1d": "Subsampling1DLayer",
    "batchNormalization": "BatchNormalization",
    "localResponseNormalization": "LocalResponseNormalization",
    "embedding": "EmbeddingLayer",
    "activation": "ActivationLayer",
    "VariationalAutoencoder": "variational.VariationalAutoencoder",
    "dropout": "DropoutLayer",
    "GlobalPooling": "GlobalPoolingLayer",
    "zeroPadding": "ZeroPaddingLayer",
    "zeroPadding1d": "ZeroPadding1DLayer",
    "FrozenLayer": "misc.FrozenLayer",
    "Upsampling2D": "Upsampling2D",
    "Yolo2OutputLayer": "objdetect.Yolo2OutputLayer",
    "RnnLossLayer": "RnnLossLayer",
    "CnnLossLayer": "CnnLossLayer",
    "Bidirectional": "recurrent.Bidirectional",
    "SimpleRnn": "recurrent.SimpleRnn",
    "ElementWiseMult": "misc.ElementWiseMultiplicationLayer",
    "MaskLayer": "util.MaskLayer",
    "MaskZeroLayer": "util.MaskZeroLayer",
    "Cropping1D": "convolutional.Cropping1D",
    "Cropping2D": "convolutional.Cropping2D",
}
_SERIES_VERTICES = {
    "LastTimeStepVertex",
    "ReverseTimeSeriesVertex",
    "DuplicateToTimeSeriesVertex",
}
_RECONSTRUCTIONS = {"LossWrapper": "LossFunctionWrapper"}
_CONSTANT_RATE = ("None", None)


def modernized(data: Mapping[str, Json], where: str) -> dict[str, Json]:
    """Return a configuration as DL4J 1.0.0-M2.1 would have written it.

    Parameters
    ----------
    data : mapping
        MultiLayerConfiguration or ComputationGraphConfiguration of any release. Not
        changed.
    where : str
        For messages: the file and its entry.

    Raises
    ------
    FormatError
        If an old option has a value that no release knows.

    Warns
    -----
    UserWarning
        If a learning rate followed a policy, which DL4J since 1.0 does not read.
    """
    _warn_of_policies(data, where)
    result = dict(data)
    confs = data.get("confs")
    if isinstance(confs, list):
        result["confs"] = [
            _conf(conf, f"{where}: confs[{index}]") for index, conf in enumerate(confs)
        ]
    _replace(result, "inputPreProcessors", _each(_preprocessor))
    vertices = data.get("vertices")
    if isinstance(vertices, Mapping):
        result["vertices"] = {
            name: _vertex(vertex, f"{where}: vertices[{shown(name)}]")
            for name, vertex in vertices.items()
        }
    return result


def _warn_of_policies(data: Mapping[str, Json], where: str) -> None:
    # A policy changed the rate that it began with, over and over: what was left of a
    # rate at the end of training is in no option of the layer.
    conf = next(_conf_mappings(data), {})
    policy = conf.get("learningRatePolicy")
    if policy not in _CONSTANT_RATE:
        warnings.warn(
            f"{where}: its learning rate followed the policy {policy!r}, which is not "
            "read, as DL4J does not since 1.0: it stays what it was at first. Give the "
            "updater a schedule before training goes on.",
            stacklevel=2,
        )


def _conf_mappings(data: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """Yield the mappings with the options for training."""
    confs = data.get("confs")
    found = [
        data.get("defaultConfiguration"),
        *(confs if isinstance(confs, list) else []),
    ]
    return (conf for conf in found if isinstance(conf, Mapping))


def _replace(
    mapping: dict[str, Json], name: str, function: Callable[[Json], Json]
) -> None:
    """Replace a property by a function of it, if it is there."""
    if mapping.get(name) is not None:
        mapping[name] = function(mapping[name])


def _each(function: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """Return the function that applies another to items of lists and mappings."""

    def on_all(value: Json) -> Json:
        if isinstance(value, Mapping):
            return {key: function(item) for key, item in value.items()}
        return [function(item) for item in value] if isinstance(value, list) else value

    return on_all


def _conf(value: Json, where: str) -> Json:
    """Return a NeuralNetConfiguration with a modern layer."""
    if not isinstance(value, Mapping):
        return value
    has_drop_connect = value.get("useDropConnect") is True
    layer = _layer(value.get("layer"), f"{where}.layer", has_drop_connect)
    return {**value, "layer": layer}


def _layer(value: Json, where: str, has_drop_connect: bool) -> Json:
    layer = named(value, _layer_class)
    if not isinstance(layer, dict):
        return layer
    for name in ("layer", "underlying", "fwd", "bwd"):
        if name in layer:
            layer[name] = _layer(layer[name], f"{where}.{name}", has_drop_connect)
    for name, item in layer.items():
        if name in ("activationFn", "gateActivationFn", "pzxActivationFn"):
            layer[name] = modern_activation(item, where)
        elif name in ("lossFn", "lossPositionScale", "lossClassPredictions"):
            layer[name] = modern_loss(item)
        else:
            # Somebody's own layer may have functions under any name.
            layer[name] = modern_function(item)
    _replace(layer, "outputDistribution", lambda item: _reconstruction(item, where))
    return modern_options(layer, where, has_drop_connect=has_drop_connect)


def _layer_class(name: str) -> str:
    # The class of somebody's own layer had only its short name.
    return PACKAGE + _LAYERS[name] if name in _LAYERS else name


def _vertex(value: Json, where: str) -> Json:
    vertex = named(value, _vertex_class)
    if not isinstance(vertex, dict):
        return vertex
    if "layerConf" in vertex:
        vertex["layerConf"] = _conf(vertex["layerConf"], f"{where}.layerConf")
    _replace(vertex, "preProcessor", _preprocessor)
    return vertex


def _vertex_class(name: str) -> str:
    folder = "rnn." if name in _SERIES_VERTICES else ""
    return f"{GRAPH_PACKAGE}{folder}{name}"


def _preprocessor(value: Json) -> Json:
    preprocessor = named(
        value, lambda name: f"{name[:1].upper()}{name[1:]}PreProcessor"
    )
    if isinstance(preprocessor, dict):
        _replace(preprocessor, "inputPreProcessors", _each(_preprocessor))
    return preprocessor


def _reconstruction(value: Json, where: str) -> Json:
    distribution: Any = named(
        value,
        lambda name: _RECONSTRUCTIONS.get(name, f"{name}ReconstructionDistribution"),
    )
    if isinstance(distribution, dict):
        _replace(
            distribution, "activationFn", lambda item: modern_activation(item, where)
        )
        _replace(distribution, "lossFunction", modern_loss)
        _replace(
            distribution,
            "reconstructionDistributions",
            _each(lambda item: _reconstruction(item, where)),
        )
    return distribution
