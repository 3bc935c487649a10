"""Params of the estimators, with the names that pyspark.ml has for them."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasMaxIter,
    HasPredictionCol,
    HasSeed,
    HasValidationIndicatorCol,
)

from daskdl.errors import OptionError
from daskdl.nn.conf.network import configuration_from_yaml

__all__ = ["ModelParams", "TrainingParams"]


def _network_text(value: Any) -> str:
    """Return the YAML of a configuration, which is text in a Param."""
    if hasattr(value, "to_yaml"):
        return str(value.to_yaml())
    text: str = TypeConverters.toString(value)
    configuration_from_yaml(text, "network")
    return text


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"must be a mapping of options, got {value!r}")
    return dict(value)


class ModelParams(HasFeaturesCol, HasPredictionCol):
    """What an estimator and its model share: the columns in and out."""

    featuresCols = Param(
        Params._dummy(),
        "featuresCols",
        "columns of numbers side by side as features, instead of featuresCol",
        TypeConverters.toListString,
    )
    batchSize = Param(
        Params._dummy(), "batchSize", "examples of a minibatch", TypeConverters.toInt
    )

    def features_columns(self) -> tuple[str, ...]:
        """Return the columns that become features."""
        if self.isSet(self.featuresCols) and self.isSet(self.featuresCol):
            raise OptionError(
                f"{type(self).__name__}: featuresCol and featuresCols must not be "
                "given together. Leave one out."
            )
        if self.isSet(self.featuresCols):
            columns: Sequence[str] = self.getOrDefault(self.featuresCols)
            return tuple(columns)
        return (self.getFeaturesCol(),)

    def check_columns(self, frame: Any, *more: str) -> None:
        """Refuse a DataFrame that lacks a column, before any job."""
        for column in (*self.features_columns(), *more):
            if column not in frame.columns:
                raise OptionError(
                    f"{type(self).__name__}: column {column!r} must be there, got "
                    f"{', '.join(frame.columns)}."
                )


class TrainingParams(
    ModelParams,
    HasLabelCol,
    HasMaxIter,
    HasSeed,
    HasValidationIndicatorCol,
):
    """How an estimator trains."""

    network = Param(
        Params._dummy(),
        "network",
        "the configuration of the network: an object, or its YAML or JSON",
        _network_text,
    )
    trainingMaster = Param(
        Params._dummy(),
        "trainingMaster",
        "how workers train together: shared, averaging, block_momentum, diloco, "
        "allreduce or powersgd",
        TypeConverters.toString,
    )
    masterOptions = Param(
        Params._dummy(), "masterOptions", "options of the training master", _mapping
    )
    numWorkers = Param(
        Params._dummy(),
        "numWorkers",
        "workers of a fit; all that the cluster has if not given",
        TypeConverters.toInt,
    )
    patience = Param(
        Params._dummy(),
        "patience",
        "with validationIndicatorCol: epochs without a better figure that end the fit",
        TypeConverters.toInt,
    )
    classWeights = Param(
        Params._dummy(),
        "classWeights",
        "of a Classifier: a factor of the loss for each class",
        TypeConverters.toListFloat,
    )
    exportDirectory = Param(
        Params._dummy(),
        "exportDirectory",
        "directory that executors and workers see, for the training data",
        TypeConverters.toString,
    )

    def given(self, name: str) -> Any:
        """Return the value of a Param, None if it has none."""
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None
