"""Reconstruction distributions of variational autoencoders in DL4J's JSON."""

from collections.abc import Mapping
from typing import Any

from daskdl.dl4j.network.functions import ACTIVATION, LOSS
from daskdl.dl4j.network.json_objects import (
    Codec,
    Json,
    expect_list,
    expect_mapping,
    shown,
)
from daskdl.errors import FormatError

_PACKAGE = "org.deeplearning4j.nn.conf.layers.variational."
_SIMPLE = {
    "GaussianReconstructionDistribution": "gaussian",
    "BernoulliReconstructionDistribution": "bernoulli",
    "ExponentialReconstructionDistribution": "exponential",
}
_CLASSES = {tag: name for name, tag in _SIMPLE.items()}


def _read(value: Json, where: str) -> dict[str, Any]:
    mapping = expect_mapping(value, where)
    full = str(mapping.get("@class", ""))
    name = full.rpartition(".")[2]
    if name == "CompositeReconstructionDistribution":
        parts = expect_list(
            mapping.get("reconstructionDistributions"),
            f"{where}.reconstructionDistributions",
        )
        return {
            "type": "composite",
            "sizes": expect_list(
                mapping.get("distributionSizes"), f"{where}.distributionSizes"
            ),
            "distributions": [
                _read(part, f"{where}.reconstructionDistributions[{index}]")
                for index, part in enumerate(parts)
            ],
        }
    activation = ACTIVATION.read(mapping.get("activationFn"), f"{where}.activationFn")
    if name == "LossFunctionWrapper":
        loss = LOSS.read(mapping.get("lossFunction"), f"{where}.lossFunction")
        return {"type": "loss_wrapper", "activation": activation, "loss": loss}
    if name not in _SIMPLE:
        raise FormatError(
            f"{where}: must be a reconstruction distribution of DL4J, got "
            f"{shown(full)}."
        )
    return {"type": _SIMPLE[name], "activation": activation}


def _write(value: Mapping[str, Any]) -> Json:
    tag = value["type"]
    if tag == "composite":
        return {
            "@class": f"{_PACKAGE}CompositeReconstructionDistribution",
            "distributionSizes": list(value["sizes"]),
            "reconstructionDistributions": [
                _write(part) for part in value["distributions"]
            ],
            "totalSize": sum(value["sizes"]),
        }
    activation = ACTIVATION.write(value["activation"])
    if tag == "loss_wrapper":
        return {
            "@class": f"{_PACKAGE}LossFunctionWrapper",
            "activationFn": activation,
            "lossFunction": LOSS.write(value["loss"]),
        }
    return {"@class": _PACKAGE + _CLASSES[tag], "activationFn": activation}


RECONSTRUCTION = Codec(_read, _write)
