"""Updaters, regularization, dropout, noise and constraints in DL4J's JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from daskdl.dl4j.network.functions import DISTRIBUTIONS
from daskdl.dl4j.network.json_objects import (
    Codec,
    JavaClass,
    JavaTable,
    Json,
    Key,
    expect_flag,
    expect_list,
    expect_mapping,
    in_order,
    shown,
    simple_name,
)
from daskdl.dl4j.network.schedules import (
    SCHEDULE,
    read_either,
    read_schedule,
    write_either,
    write_schedule,
)
from daskdl.errors import FormatError

_MOMENTS = {
    "beta1": Key("beta1"),
    "beta2": Key("beta2"),
    "epsilon": Key("epsilon"),
}
_UPDATERS = JavaTable(
    "updater",
    "org.nd4j.linalg.learning.config.",
    [
        JavaClass("Sgd", "sgd"),
        JavaClass("Nesterovs", "nesterovs"),
        JavaClass("Adam", "adam", _MOMENTS),
        JavaClass("AMSGrad", "amsgrad", _MOMENTS),
        JavaClass("Nadam", "nadam", _MOMENTS),
        JavaClass("AdaMax", "adamax", _MOMENTS),
        JavaClass("AdaBelief", "adabelief", _MOMENTS),
        JavaClass("AdaGrad", "adagrad", {"epsilon": Key("epsilon")}),
        JavaClass(
            "AdaDelta", "adadelta", {"epsilon": Key("epsilon"), "rho": Key("rho")}
        ),
        JavaClass(
            "RmsProp", "rmsprop", {"epsilon": Key("epsilon"), "rmsDecay": Key("decay")}
        ),
        JavaClass("NoOp", "noop"),
    ],
)
# Option, and the two properties that DL4J keeps it in.
_RATES = {
    "learning_rate": ("learningRate", "learningRateSchedule"),
    "momentum": ("momentum", "momentumISchedule"),
}


def _read_updater(value: Json, where: str) -> dict[str, Any]:
    mapping = expect_mapping(value, where)
    updater = _UPDATERS.read(mapping, where)
    options = {"type": updater} if isinstance(updater, str) else updater
    for option, (plain, scheduled) in _RATES.items():
        came = read_either(mapping, plain, scheduled, where)
        if came is not None:
            options[option] = came
    return options


def _write_updater(value: Any) -> Json:
    options = {"type": value} if isinstance(value, str) else value
    written = _UPDATERS.write(options)
    name = written.pop("@class")
    for option, (plain, scheduled) in _RATES.items():
        if option in options:
            rate = options[option]
            written.update(write_either(rate, plain, scheduled, is_optional=True))
    return {"@class": name, **in_order(written)}


UPDATER = Codec(_read_updater, _write_updater)


def with_lost_schedule(layer: Mapping[str, Json]) -> Mapping[str, Json]:
    """Give the updater of biases back the schedule that it had with the other one.

    DL4J copies the updater of a layer for its biases, and AdaGrad's copy has a rate of
    NaN and no schedule.
    """
    updater = layer.get("iupdater")
    if not isinstance(updater, Mapping) or "learningRateSchedule" not in updater:
        return layer
    copied = {key: updater[key] for key in updater if key != "learningRateSchedule"}
    if layer.get("biasUpdater") != copied:
        return layer
    return {**layer, "biasUpdater": updater}


_REGULARIZATION = "org.nd4j.linalg.learning.regularization."


def read_regularization(value: Json, where: str, suffix: str) -> dict[str, Any]:
    """Return the options that a list of regularizations says.

    Parameters
    ----------
    value : list of objects
        L1Regularization, L2Regularization and WeightDecay.
    where : str
        For messages.
    suffix : str
        Of the options: ``""`` or ``"_bias"``.
    """
    options: dict[str, Any] = {f"l1{suffix}": 0.0, f"l2{suffix}": 0.0}
    decays = []
    for index, item in enumerate(expect_list(value, where)):
        place = f"{where}[{index}]"
        mapping = expect_mapping(item, place)
        name = simple_name(str(mapping.get("@class", "")))
        if name in ("L1Regularization", "L2Regularization"):
            option = name[:2].lower()
            options[option + suffix] = read_schedule(
                mapping.get(option), f"{place}.{option}"
            )
        elif name == "WeightDecay":
            decays.append(
                {
                    "coefficient": read_schedule(
                        mapping.get("coeff"), f"{place}.coeff"
                    ),
                    "apply_learning_rate": expect_flag(
                        mapping.get("applyLR", False), f"{place}.applyLR"
                    ),
                }
            )
        else:
            raise FormatError(
                f"{place}: must be L1Regularization, L2Regularization or WeightDecay, "
                f"got {shown(mapping.get('@class'))}."
            )
    options[f"weight_decay{suffix}"] = decays[0] if len(decays) == 1 else decays or 0.0
    return options


def write_regularization(options: Mapping[str, Any], suffix: str) -> Json:
    """Return the list of regularizations that the options of a layer say."""
    written = []
    for option in ("l1", "l2"):
        value = options.get(option + suffix)
        if value:
            name = f"{_REGULARIZATION}{option.upper()}Regularization"
            written.append({"@class": name, option: write_schedule(value)})
    decays = options.get(f"weight_decay{suffix}") or []
    for decay in decays if isinstance(decays, Sequence) else [decays]:
        has_options = isinstance(decay, Mapping) and "coefficient" in decay
        coefficient = decay["coefficient"] if has_options else decay
        written.append(
            {
                "@class": f"{_REGULARIZATION}WeightDecay",
                "applyLR": decay["apply_learning_rate"] if has_options else True,
                "coeff": write_schedule(coefficient),
            }
        )
    return written


class _DropoutKind:
    """One kind of dropout: its number, or schedule, and its other options."""

    def __init__(
        self,
        name: str,
        tag: str,
        option: str,
        plain: str,
        scheduled: str,
        others: Mapping[str, Key] | None = None,
        ignored: Mapping[str, Json] | None = None,
        order: str = "",
    ) -> None:
        self.java = JavaClass(name, tag, others or {}, (), ignored or {})
        self.option = option
        self.plain = plain
        self.scheduled = scheduled
        self.order = order.split()


_DROPOUTS = [
    _DropoutKind(
        "Dropout",
        "dropout",
        "keep_probability",
        "p",
        "pschedule",
        ignored={"helperAllowFallback": True},
        order="p helperAllowFallback pschedule",
    ),
    _DropoutKind(
        "AlphaDropout",
        "alpha_dropout",
        "keep_probability",
        "p",
        "pschedule",
        others={"alpha": Key("alpha"), "lambda": Key("lambda")},
    ),
    _DropoutKind("GaussianDropout", "gaussian_dropout", "rate", "rate", "rateSchedule"),
    _DropoutKind(
        "GaussianNoise", "gaussian_noise", "stddev", "stddev", "stddevSchedule"
    ),
    _DropoutKind(
        "SpatialDropout", "spatial_dropout", "keep_probability", "p", "pschedule"
    ),
]
_DROPOUT_BY_TAG = {kind.java.tag: kind for kind in _DROPOUTS}
_DROPOUT_TABLE = JavaTable(
    "dropout",
    "org.deeplearning4j.nn.conf.dropout.",
    [kind.java for kind in _DROPOUTS],
)


def _read_dropout(value: Json, where: str) -> dict[str, Any]:
    mapping = expect_mapping(value, where)
    dropout = _DROPOUT_TABLE.read(mapping, where)
    options = {"type": dropout} if isinstance(dropout, str) else dropout
    kind = _DROPOUT_BY_TAG[options["type"]]
    options[kind.option] = read_either(mapping, kind.plain, kind.scheduled, where)
    return options


def _write_dropout(value: Mapping[str, Any]) -> Json:
    kind = _DROPOUT_BY_TAG[value["type"]]
    written = _DROPOUT_TABLE.write(value)
    name = written.pop("@class")
    number = value[kind.option]
    written.update(write_either(number, kind.plain, kind.scheduled, is_optional=False))
    return {"@class": name, **in_order(written, kind.order)}


DROPOUT = Codec(_read_dropout, _write_dropout)


def _read_noise(value: Json, where: str) -> dict[str, Any]:
    mapping = expect_mapping(value, where)
    name = simple_name(str(mapping.get("@class", "")))
    if name == "DropConnect":
        return {
            "type": "drop_connect",
            "apply_to_biases": expect_flag(
                mapping.get("applyToBiases", False), f"{where}.applyToBiases"
            ),
            "weight_retain_probability": read_either(
                mapping, "weightRetainProb", "weightRetainProbSchedule", where
            ),
        }
    if name == "WeightNoise":
        return {
            "type": "weight_noise",
            "additive": expect_flag(mapping.get("additive", True), f"{where}.additive"),
            "apply_to_bias": expect_flag(
                mapping.get("applyToBias", False), f"{where}.applyToBias"
            ),
            "distribution": DISTRIBUTIONS.read(
                mapping.get("distribution"), f"{where}.distribution"
            ),
        }
    raise FormatError(
        f"{where}: must be DropConnect or WeightNoise, got "
        f"{shown(mapping.get('@class'))}."
    )


def _write_noise(value: Mapping[str, Any]) -> Json:
    package = "org.deeplearning4j.nn.conf.weightnoise."
    if value["type"] == "drop_connect":
        retained = write_either(
            value["weight_retain_probability"],
            "weightRetainProb",
            "weightRetainProbSchedule",
            is_optional=False,
        )
        return {
            "@class": f"{package}DropConnect",
            "applyToBiases": value["apply_to_biases"],
            "weightRetainProbSchedule": retained["weightRetainProbSchedule"],
            "weightRetainProb": retained["weightRetainProb"],
        }
    return {
        "@class": f"{package}WeightNoise",
        "additive": value["additive"],
        "applyToBias": value["apply_to_bias"],
        "distribution": DISTRIBUTIONS.write(value["distribution"]),
    }


NOISE = Codec(_read_noise, _write_noise)

_APPLIED = {"params": Key("apply_to"), "epsilon": Key("epsilon")}
_DIMENSIONS = {**_APPLIED, "dimensions": Key("dimensions")}
_CONSTRAINTS = JavaTable(
    "constraint",
    "org.deeplearning4j.nn.conf.constraint.",
    [
        JavaClass(
            "MaxNormConstraint", "max_norm", {**_DIMENSIONS, "maxNorm": Key("max_norm")}
        ),
        JavaClass(
            "MinMaxNormConstraint",
            "min_max_norm",
            {
                **_DIMENSIONS,
                "max": Key("max"),
                "min": Key("min"),
                "rate": Key("rate"),
            },
        ),
        JavaClass("UnitNormConstraint", "unit_norm", _DIMENSIONS),
        JavaClass(
            "NonNegativeConstraint",
            "non_negative",
            _APPLIED,
            ignored={"dimensions": None},
        ),
    ],
)


def _read_constraints(value: Json, where: str) -> list[Any]:
    return [
        _CONSTRAINTS.read(item, f"{where}[{index}]")
        for index, item in enumerate(expect_list(value, where))
    ]


def _write_constraints(value: Sequence[Any]) -> Json:
    return [_CONSTRAINTS.write(item) for item in value] or None


CONSTRAINTS = Codec(_read_constraints, _write_constraints)
__all__ = [
    "CONSTRAINTS",
    "DROPOUT",
    "NOISE",
    "SCHEDULE",
    "UPDATER",
    "read_regularization",
    "write_regularization",
]
