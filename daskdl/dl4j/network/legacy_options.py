"""Options of layers that are enumerations and numbers in files before 1.0.0-beta4."""

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from daskdl.dl4j.network.functions import (
    ACTIVATION,
    DISTRIBUTIONS,
    ENUMERATED_INIT,
    ENUMERATED_LOSS,
    LOSS,
    WEIGHT_INIT,
)
from daskdl.dl4j.network.json_objects import Codec, Json, look_up, shown, simple_name
from daskdl.dl4j.network.training import (
    DROPOUT,
    NOISE,
    UPDATER,
    write_regularization,
)
from daskdl.errors import FormatError

# Wrappers of functions; a few are not called as their classes are.
_ACTIVATIONS = {
    name: f"Activation{name}"
    for name in [
        "Cube",
        "ELU",
        "HardSigmoid",
        "Identity",
        "LReLU",
        "RationalTanh",
        "RectifiedTanh",
        "SELU",
        "ReLU",
        "RReLU",
        "Sigmoid",
        "Softmax",
        "SoftPlus",
        "SoftSign",
        "TanH",
    ]
}
_ACTIVATIONS |= {"HardTanh": "ActivationHardTanH", "SWISH": "ActivationSwish"}
_LOSSES = {
    name: f"Loss{name}"
    for name in [
        "BinaryXENT",
        "CosineProximity",
        "Hinge",
        "KLD",
        "MAE",
        "L1",
        "MAPE",
        "MCXENT",
        "MSE",
        "L2",
        "MSLE",
        "NegativeLogLikelihood",
        "Poisson",
        "SquaredHinge",
        "FMeasure",
    ]
}
_DISTRIBUTIONS = {
    "normal": "NormalDistribution",
    "gaussian": "GaussianDistribution",
    "uniform": "UniformDistribution",
    "binomial": "BinomialDistribution",
}
# The old enumeration calls L2 so, the newer one of autoencoders MSE.
_ENUMERATED_LOSSES = {"SQUARED_LOSS": "l2"}
_OUTPUT_LAYERS = {
    "OutputLayer",
    "RnnOutputLayer",
    "LossLayer",
    "CenterLossOutputLayer",
}
_MOMENTS = {
    "learningRate": "learning_rate",
    "adamMeanDecay": "beta1",
    "adamVarDecay": "beta2",
    "epsilon": "epsilon",
}
_RATE = {"learningRate": "learning_rate"}
_EPSILON = {"epsilon": "epsilon"}
# Name in the enumeration: the updater, and which option each number of the layer is.
_UPDATERS: dict[str, tuple[str, dict[str, str]]] = {
    "SGD": ("sgd", _RATE),
    "ADAM": ("adam", _MOMENTS),
    "ADAMAX": ("adamax", _MOMENTS),
    "NADAM": ("nadam", _MOMENTS),
    "ADADELTA": ("adadelta", {"rho": "rho", **_EPSILON}),
    "NESTEROVS": ("nesterovs", {**_RATE, "momentum": "momentum"}),
    "ADAGRAD": ("adagrad", {**_RATE, **_EPSILON}),
    "RMSPROP": ("rmsprop", {**_RATE, **_EPSILON, "rmsDecay": "decay"}),
    "NONE": ("noop", {}),
}
# Penalty: the names of its number for weights, and for biases.
_PENALTIES = {
    "l1": (("l1",), ("l1Bias", "biasL1")),
    "l2": (("l2",), ("l2Bias", "biasL2")),
}
# What is translated, or has had no meaning for long.
_GONE = {
    "activationFunction",
    "adamMeanDecay",
    "adamVarDecay",
    "biasL1",
    "biasL2",
    "biasLearningRate",
    "convolutionType",
    "customLossFunction",
    "dist",
    "dropOut",
    "epsilon",
    "l1",
    "l1Bias",
    "l2",
    "l2Bias",
    "learningRate",
    "learningRateSchedule",
    "legacyBatchScaledL2",
    "momentum",
    "momentumSchedule",
    "pretrain",
    "pzxActivationFunction",
    "rho",
    "rmsDecay",
    "updater",
    "weightInit",
}


def named(value: Json, class_of: Callable[[str], str]) -> Json:
    """Return an object with its class in it, where it is the only key around it.

    Parameters
    ----------
    value : JSON value
        Anything but a wrapper comes back as it is, objects as copies.
    class_of : function of str -> str
        From the key to the class.
    """
    if not isinstance(value, Mapping):
        return value
    if "@class" in value or len(value) != 1:
        return dict(value)
    ((name, inner),) = value.items()
    if not isinstance(inner, Mapping):
        return dict(value)
    return {**inner, "@class": class_of(name)}


def modern_activation(value: Json, where: str) -> Json:
    """Return the object of an activation, which was a name up to 0.7.1."""
    if isinstance(value, str):
        return _written(ACTIVATION, value.lower(), value, "an activation", where)
    return named(value, lambda name: _ACTIVATIONS.get(name, name))


def modern_loss(value: Json) -> Json:
    """Return the object of a loss."""
    return named(value, lambda name: _LOSSES.get(name, name))


def modern_function(value: Json) -> Json:
    """Return the object of an activation or loss; other values as they are."""
    is_wrapper = isinstance(value, Mapping) and len(value) == 1
    name = next(iter(value)) if is_wrapper else None
    functions = {**_ACTIVATIONS, **_LOSSES}
    return named(value, functions.__getitem__) if name in functions else value


def modern_options(
    layer: dict[str, Json], where: str, *, has_drop_connect: bool
) -> dict[str, Json]:
    """Return a layer with objects in place of enumerations and numbers.

    Parameters
    ----------
    layer : dict
        With its class.
    where : str
        For messages.
    has_drop_connect : bool
        Whether `dropOut` is about weights and not about the input.

    Raises
    ------
    FormatError
        If a value is none that it can have.
    """
    if not isinstance(layer.get("weightInit"), str) or "layerParams" in layer:
        # None of them, or one that DL4J made of SameDiff: those keep enumerations.
        return layer
    result = {name: item for name, item in layer.items() if name not in _GONE}
    if "iUpdater" in result:
        result.setdefault("iupdater", result.pop("iUpdater"))
    for translated in (
        _activations(layer, where),
        _loss(layer, where),
        _updaters(layer, where),
        _dropout(layer, where, has_drop_connect),
        _weight_init(layer, where),
        _regularization(layer, where),
    ):
        for name, item in translated.items():
            if result.get(name) is None:
                result[name] = item
    if simple_name(str(layer.get("@class"))) in _OUTPUT_LAYERS:
        result.pop("lossFunction", None)
    return result


def _written(codec: Codec, name: Any, came: Json, what: str, where: str) -> Json:
    try:
        return codec.write(name)
    except FormatError:
        raise FormatError(
            f"{where}: must name {what} that DL4J has, got {shown(came)}."
        ) from None


def _activations(layer: Mapping[str, Json], where: str) -> dict[str, Json]:
    pairs = {
        "activationFunction": "activationFn",
        "pzxActivationFunction": "pzxActivationFn",
    }
    return {
        modern: modern_activation(layer[old], f"{where}.{old}")
        for old, modern in pairs.items()
        if layer.get(old) is not None
    }


def _loss(layer: Mapping[str, Json], where: str) -> dict[str, Json]:
    name = layer.get("lossFunction")
    if not isinstance(name, str):
        return {}
    place = f"{where}.lossFunction"
    loss = _ENUMERATED_LOSSES.get(name) or ENUMERATED_LOSS.read(name, place)
    return {"lossFn": _written(LOSS, loss, name, "a loss", place)}


def _updaters(layer: Mapping[str, Json], where: str) -> dict[str, Json]:
    name = layer.get("updater")
    if not isinstance(name, str):
        return {}
    tag, names = look_up(_UPDATERS, name, f"{where}.updater")
    updater: dict[str, Any] = {"type": tag}
    for old, option in names.items():
        number = _number(layer, old, where)
        if number is not None:
            updater[option] = number
    written = {"iupdater": UPDATER.write(updater)}
    rate = _number(layer, "biasLearningRate", where)
    if rate is not None and rate != updater.get("learning_rate", rate):
        # DL4J since 0.9 leaves it out, and trains biases as it trains weights.
        written["biasUpdater"] = UPDATER.write({**updater, "learning_rate": rate})
    return written


def _dropout(
    layer: Mapping[str, Json], where: str, has_drop_connect: bool
) -> dict[str, Json]:
    kept = _number(layer, "dropOut", where)
    if not kept:
        return {}
    if not has_drop_connect:
        value = {"type": "dropout", "keep_probability": kept}
        return {"idropout": DROPOUT.write(value)}
    noise = {
        "type": "drop_connect",
        "apply_to_biases": False,
        "weight_retain_probability": kept,
    }
    return {"weightNoise": NOISE.write(noise)}


def _weight_init(layer: Mapping[str, Json], where: str) -> dict[str, Json]:
    name, distribution = layer["weightInit"], layer.get("dist")
    init: Any = ENUMERATED_INIT.read(name, where)
    if name == "DISTRIBUTION" and distribution is not None:
        read = DISTRIBUTIONS.read(_distribution(distribution), f"{where}.dist")
        init = {"type": "distribution", "distribution": read}
    try:
        if init != "distribution":
            return {"weightInitFn": WEIGHT_INIT.write(init)}
    except FormatError:
        pass
    # It would only matter for new weights: those of the network are in the file.
    warnings.warn(
        f"{where}.weightInit: {shown(name)} is no initialisation that later releases "
        "know. New weights will be drawn as by default.",
        stacklevel=2,
    )
    return {}


def _distribution(value: Json) -> Json:
    found = named(value, lambda name: _DISTRIBUTIONS.get(name, name))
    if isinstance(found, dict) and "@class" in found:
        found["type"] = found.pop("@class")
    return found


def _regularization(layer: Mapping[str, Json], where: str) -> dict[str, Json]:
    written = {}
    for position, name in enumerate(("regularization", "regularizationBias")):
        found = {}
        for penalty, names in _PENALTIES.items():
            numbers = [_number(layer, old, where) for old in names[position]]
            found[penalty] = next((number for number in numbers if number), 0.0)
        # As l2 was subtracted in those releases: behind the updater, rate or not.
        decay = {"coefficient": found["l2"], "apply_learning_rate": False}
        written[name] = write_regularization(
            {"l1": found["l1"], "weight_decay": decay if found["l2"] else 0.0}, ""
        )
    return written


def _number(layer: Mapping[str, Json], name: str, where: str) -> float | None:
    """Return a number of the layer; None where it is missing or stands for nothing."""
    value = layer.get(name)
    if (
        value is None
        or value == "NaN"
        or (isinstance(value, float) and math.isnan(value))
    ):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(f"{where}.{name}: must be a number, got {shown(value)}.")
    return value
