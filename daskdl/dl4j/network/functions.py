"""Activations, losses, initial weights and distributions in DL4J's JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from daskdl.dl4j.network.json_objects import (
    PLAIN,
    Codec,
    JavaClass,
    JavaTable,
    Json,
    Key,
    expect_list,
    expect_mapping,
    shown,
)
from daskdl.errors import FormatError

_ACTIVATION_CLASSES = {
    "ActivationCube": "cube",
    "ActivationHardSigmoid": "hardsigmoid",
    "ActivationHardTanH": "hardtanh",
    "ActivationIdentity": "identity",
    "ActivationMish": "mish",
    "ActivationRationalTanh": "rationaltanh",
    "ActivationReLU6": "relu6",
    "ActivationRectifiedTanh": "rectifiedtanh",
    "ActivationSELU": "selu",
    "ActivationSigmoid": "sigmoid",
    "ActivationSoftPlus": "softplus",
    "ActivationSoftSign": "softsign",
    "ActivationSoftmax": "softmax",
    "ActivationSwish": "swish",
    "ActivationTanH": "tanh",
}
_ACTIVATION_OPTIONS: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "ActivationELU": ("elu", {"alpha": "alpha"}, {"alpha": 1.0}),
    "ActivationGELU": ("gelu", {"precise": "precise"}, {"precise": False}),
    "ActivationLReLU": ("leakyrelu", {"alpha": "alpha"}, {"alpha": 0.01}),
    "ActivationRReLU": ("rrelu", {"l": "l", "u": "u"}, {"l": 0.125, "u": 1 / 3}),
    "ActivationReLU": (
        "relu",
        {"max": "max", "negativeSlope": "negative_slope", "threshold": "threshold"},
        {},
    ),
    "ActivationThresholdedReLU": (
        "thresholdedrelu",
        {"theta": "theta"},
        {"theta": 1.0},
    ),
}
_TABLE = JavaTable(
    "activation",
    "org.nd4j.linalg.activations.impl.",
    [
        *(JavaClass(name, tag) for name, tag in _ACTIVATION_CLASSES.items()),
        *(
            JavaClass(name, tag, {java: Key(option) for java, option in keys.items()})
            for name, (tag, keys, _) in _ACTIVATION_OPTIONS.items()
        ),
    ],
)
_ACTIVATION_DEFAULTS = {
    tag: defaults for tag, _, defaults in _ACTIVATION_OPTIONS.values()
}


def _read_activation(value: Json, where: str) -> Any:
    activation = _TABLE.read(value, where)
    if isinstance(activation, dict):
        options = {key: item for key, item in activation.items() if key != "type"}
        if options == _ACTIVATION_DEFAULTS[activation["type"]]:
            return activation["type"]
    return activation


def _write_activation(value: Any) -> Json:
    if isinstance(value, str):
        value = {"type": value, **_ACTIVATION_DEFAULTS.get(value, {})}
    return _TABLE.write(value)


ACTIVATION = Codec(_read_activation, _write_activation)


# As many as ND4J knows.
_MOST_AXES = 32


def read_array(value: Json, where: str) -> list[Any]:
    """Return the numbers of an array in DL4J's text form, nested as its shape says."""
    mapping = expect_mapping(value, where)
    numbers = expect_list(mapping.get("data"), f"{where}.data")
    shape = expect_list(mapping.get("shape"), f"{where}.shape")
    return _nested(numbers, shape, where)


def _nested(numbers: list[Any], shape: list[Any], where: str) -> list[Any]:
    if len(shape) < 2:
        return numbers
    if len(shape) > _MOST_AXES:
        raise FormatError(
            f"{where}: must have at most {_MOST_AXES} axes, got {len(shape)}."
        )
    rows = shape[0]
    if not isinstance(rows, int) or rows < 1 or len(numbers) % rows:
        raise FormatError(
            f"{where}: must hold as many numbers as its shape {shown(shape)} says, got "
            f"{len(numbers)}."
        )
    width = len(numbers) // rows
    return [
        _nested(numbers[i * width : (i + 1) * width], shape[1:], where)
        for i in range(rows)
    ]


def _write_array(value: Sequence[Any]) -> Json:
    shape = []
    numbers: list[Any] = list(value)
    while numbers and isinstance(numbers[0], Sequence):
        shape.append(len(numbers[0]))
        numbers = [number for row in numbers for number in row]
    data = [float(number) for number in numbers]
    return {"dataType": "FLOAT", "shape": [len(value), *shape], "data": data}


ARRAY = Codec(read_array, _write_array)


def _read_weights(value: Json, where: str) -> list[Any]:
    rows = read_array(value, where)
    return rows[0] if rows and isinstance(rows[0], list) else rows


def _write_weights(value: Sequence[float]) -> Json:
    return _write_array(value)


_WEIGHTS = Key("weights", Codec(_read_weights, _write_weights), is_optional=True)
_SOFTMAX_CLIP = Key("softmax_clip_eps", missing=1e-10)

_LOSS_TABLE = JavaTable(
    "loss",
    "org.nd4j.linalg.lossfunctions.impl.",
    [
        JavaClass("LossMSE", "mse", {"weights": _WEIGHTS}),
        JavaClass("LossL2", "l2", {"weights": _WEIGHTS}),
        JavaClass("LossL1", "l1", {"weights": _WEIGHTS}),
        JavaClass("LossMAE", "mae", {"weights": _WEIGHTS}),
        JavaClass("LossMAPE", "mape", {"weights": _WEIGHTS}),
        JavaClass("LossMSLE", "msle", {"weights": _WEIGHTS}),
        JavaClass(
            "LossBinaryXENT",
            "xent",
            {"clipEps": Key("clip_eps", missing=1e-5), "weights": _WEIGHTS},
        ),
        JavaClass(
            "LossMCXENT",
            "mcxent",
            {"softmaxClipEps": _SOFTMAX_CLIP, "weights": _WEIGHTS},
        ),
        JavaClass(
            "LossNegativeLogLikelihood",
            "negativeloglikelihood",
            {"softmaxClipEps": _SOFTMAX_CLIP, "weights": _WEIGHTS},
        ),
        JavaClass(
            "LossSparseMCXENT",
            "sparse_mcxent",
            {"softmaxClipEps": _SOFTMAX_CLIP, "weights": _WEIGHTS},
        ),
        JavaClass("LossKLD", "kl_divergence"),
        JavaClass("LossCosineProximity", "cosine_proximity"),
        JavaClass("LossHinge", "hinge"),
        JavaClass("LossSquaredHinge", "squared_hinge"),
        JavaClass("LossPoisson", "poisson"),
        JavaClass("LossWasserstein", "wasserstein"),
        JavaClass("LossMultiLabel", "multilabel"),
        JavaClass("LossFMeasure", "fmeasure", {"beta": Key("beta", missing=1.0)}),
        JavaClass(
            "LossMixtureDensity",
            "mixture_density",
            {"labelWidth": Key("label_width"), "mixtures": Key("mixtures")},
        ),
    ],
)
_LOSS_DEFAULTS: dict[str, dict[str, Any]] = {
    "xent": {"clip_eps": 1e-5},
    "mcxent": {"softmax_clip_eps": 1e-10},
    "negativeloglikelihood": {"softmax_clip_eps": 1e-10},
    "sparse_mcxent": {"softmax_clip_eps": 1e-10},
    "fmeasure": {"beta": 1.0},
}


def _read_loss(value: Json, where: str) -> Any:
    loss = _LOSS_TABLE.read(value, where)
    if not isinstance(loss, dict):
        return loss
    usual = _LOSS_DEFAULTS.get(loss["type"], {})
    # Left out, so that another dialect has a default of its own.
    said = {key: item for key, item in loss.items() if usual.get(key) != item}
    return said if len(said) > 1 else loss["type"]


def _write_loss(value: Any) -> Json:
    said = {"type": value} if isinstance(value, str) else value
    given = {key: item for key, item in said.items() if item is not None}
    return _LOSS_TABLE.write({**_LOSS_DEFAULTS.get(given["type"], {}), **given})


LOSS = Codec(_read_loss, _write_loss)

_MEAN_STD = {"mean": Key("mean"), "std": Key("std")}
DISTRIBUTIONS = JavaTable(
    "distribution",
    "org.deeplearning4j.nn.conf.distribution.",
    [
        JavaClass("NormalDistribution", "normal", _MEAN_STD, ("mean", "std")),
        JavaClass("GaussianDistribution", "gaussian", _MEAN_STD, ("mean", "std")),
        JavaClass("LogNormalDistribution", "log_normal", _MEAN_STD, ("mean", "std")),
        JavaClass(
            "TruncatedNormalDistribution",
            "truncated_normal",
            _MEAN_STD,
            ("mean", "std"),
        ),
        JavaClass(
            "UniformDistribution",
            "uniform",
            {"lower": Key("lower"), "upper": Key("upper")},
        ),
        JavaClass("ConstantDistribution", "constant", {"value": Key("value")}),
        JavaClass("OrthogonalDistribution", "orthogonal", {"gain": Key("gain")}),
        JavaClass(
            "BinomialDistribution",
            "binomial",
            {
                "numberOfTrials": Key("number_of_trials"),
                "probabilityOfSuccess": Key("probability_of_success"),
            },
        ),
    ],
    type_key="type",
)


def _scaled(name: str) -> JavaClass:
    words = name.removeprefix("WeightInit")
    tag = "".join(f"_{c.lower()}" if c.isupper() else c for c in words).lstrip("_")
    return JavaClass(name, tag, {"scale": Key("scale")})


_WEIGHT_INITS = JavaTable(
    "initialisation of weights",
    "org.deeplearning4j.nn.weights.",
    [
        JavaClass("WeightInitXavier", "xavier"),
        JavaClass("WeightInitXavierUniform", "xavier_uniform"),
        JavaClass("WeightInitXavierLegacy", "xavier_legacy"),
        JavaClass("WeightInitRelu", "relu"),
        JavaClass("WeightInitReluUniform", "relu_uniform"),
        JavaClass("WeightInitNormal", "normal"),
        JavaClass("WeightInitUniform", "uniform"),
        JavaClass("WeightInitLecunUniform", "lecun_uniform"),
        JavaClass("WeightInitSigmoidUniform", "sigmoid_uniform"),
        JavaClass("WeightInitConstant", "constant", {"value": Key("value")}),
        JavaClass(
            "WeightInitDistribution",
            "distribution",
            {"distribution": Key("distribution", DISTRIBUTIONS.codec)},
        ),
        JavaClass("WeightInitIdentity", "identity", {"scale": Key("scale")}),
        # The vectors are in no file; what could say them anew is kept as it came.
        JavaClass(
            "WeightInitEmbedding",
            "embedding",
            ignored={"serializableInit": None},
            package="org.deeplearning4j.nn.weights.embeddings.",
        ),
        *(
            _scaled(f"WeightInitVarScaling{kind}Fan{fan}")
            for kind in ("Normal", "Uniform")
            for fan in ("In", "Out", "Avg")
        ),
    ],
)
# Names here that DL4J's files have another class for.
_SAME_INITS: dict[str, Any] = {
    "lecun_normal": "normal",
    "xavier_fan_in": "normal",
    "zero": {"type": "constant", "value": 0.0},
    "ones": {"type": "constant", "value": 1.0},
}


def _write_weight_init(value: Any) -> Json:
    return _WEIGHT_INITS.write(
        _SAME_INITS.get(value, value) if isinstance(value, str) else value
    )


WEIGHT_INIT = Codec(_WEIGHT_INITS.read, _write_weight_init)

# The enumeration that SameDiff layers and old files have in place of a class.
_ENUMERATED_INITS = {
    "ONES": "ones",
    "ZERO": "zero",
    "IDENTITY": "identity",
    "LECUN_NORMAL": "lecun_normal",
    "XAVIER_FAN_IN": "xavier_fan_in",
    "DISTRIBUTION": "distribution",
}


def read_enumerated_init(value: Json, where: str) -> Any:
    """Return the name of initial weights that a file gives as ``XAVIER``."""
    return _lowered(value, where, _ENUMERATED_INITS)


def _lowered(value: Json, where: str, names: Mapping[str, str]) -> str:
    """Return our word for a name of DL4J, by default itself in small letters."""
    if not isinstance(value, str):
        raise FormatError(f"{where}: must be a name, got {shown(value)}.")
    return names.get(value, value.lower())


def write_enumerated_init(value: Any) -> Json:
    """Return ``XAVIER`` for the name of initial weights."""
    if isinstance(value, Mapping):
        if value["type"] == "embedding":
            raise FormatError(
                "DL4J: must be able to name the weight_init of a SameDiff layer, got "
                "'embedding', for which it has a class and no name there."
            )
        constant = {0.0: "ZERO", 1.0: "ONES"}.get(value.get("value", ""))
        return constant or str(value["type"]).upper()
    return str(value).upper()


ENUMERATED_INIT = Codec(read_enumerated_init, write_enumerated_init)
ENUMERATED_ACTIVATION = Codec(
    lambda value, where: _lowered(value, where, {}),
    lambda value: str(value if isinstance(value, str) else value["type"]).upper(),
)

# The enumeration that AutoEncoder has in place of a class.
_LOSS_NAMES = {
    "SQUARED_LOSS": "mse",
    "RECONSTRUCTION_CROSSENTROPY": "kl_divergence",
    "MEAN_ABSOLUTE_ERROR": "mae",
    "MEAN_ABSOLUTE_PERCENTAGE_ERROR": "mape",
    "MEAN_SQUARED_LOGARITHMIC_ERROR": "msle",
}
_LOSS_ENUMERATION = {
    "kl_divergence": "RECONSTRUCTION_CROSSENTROPY",
    "mae": "MEAN_ABSOLUTE_ERROR",
    "mape": "MEAN_ABSOLUTE_PERCENTAGE_ERROR",
    "msle": "MEAN_SQUARED_LOGARITHMIC_ERROR",
}


def _read_loss_name(value: Json, where: str) -> Any:
    return _lowered(value, where, _LOSS_NAMES)


def _write_loss_name(value: Any) -> Json:
    name = value if isinstance(value, str) else value["type"]
    return _LOSS_ENUMERATION.get(name, name.upper())


ENUMERATED_LOSS = Codec(_read_loss_name, _write_loss_name)

__all__ = [
    "ACTIVATION",
    "ARRAY",
    "DISTRIBUTIONS",
    "ENUMERATED_ACTIVATION",
    "ENUMERATED_INIT",
    "ENUMERATED_LOSS",
    "LOSS",
    "PLAIN",
    "WEIGHT_INIT",
]
