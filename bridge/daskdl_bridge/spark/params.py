"""Params of the estimators, with the names that pyspark.ml has for them."""

from collections.abc import Sequence
from typing import Any

from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasMaxIter,
    HasPredictionCol,
    HasSeed,
    HasValidationIndicatorCol,
)

from daskdl.checks import check_one_of
from daskdl.errors import OptionError
from daskdl_bridge.spark import param_values

__all__ = ["ModelParams", "TrainingParams"]


# All others have a default that something needs.
_MAY_BE_NONE = frozenset(
    {
        "classWeights",
        "exportDirectory",
        "featuresCols",
        "masterOptions",
        "network",
        "numWorkers",
        "seed",
        "validationIndicatorCol",
    }
)


class ModelParams(HasFeaturesCol, HasPredictionCol):
    """What an estimator and its model share: the columns in and out."""

    featuresCols = Param(
        Params._dummy(),
        "featuresCols",
        "columns of numbers side by side as features, instead of featuresCol",
        param_values.column_names,
    )
    batchSize = Param(
        Params._dummy(),
        "batchSize",
        "examples of a minibatch",
        param_values.count("batchSize"),
    )

    def _set(self, **values: Any) -> Any:
        """Set Params by name; None takes one back.

        Raises
        ------
        OptionError
            If there is no such Param, or a value cannot be right.
        """
        known = [param.name for param in self.params]
        for name, value in values.items():
            check_one_of(type(self).__name__, "Params", name, known)
            if value is None and name not in _MAY_BE_NONE:
                raise OptionError(
                    f"{type(self).__name__}: {name} must have a value, got None. Leave "
                    "it out."
                )
        for name in [name for name, value in values.items() if value is None]:
            self.clear(self.getParam(name))
        given = {name: one for name, one in values.items() if one is not None}
        for name, value in given.items():
            self._check_column(name, value)
        return super()._set(**given)

    def set(self, param: Param, value: Any) -> None:
        """Set one Param.

        Raises
        ------
        OptionError, TypeError, ValueError
            If the value cannot be right.
        """
        self._check_column(param.name, value)
        super().set(param, value)

    def _check_column(self, name: str, value: Any) -> None:
        # The converter of Spark 3.5 has a name that NumPy 2 has not.
        if name.endswith("Col") and not isinstance(value, str):
            raise OptionError(
                f"{type(self).__name__}: {name} must be the name of a column, got "
                f"{value!r}."
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

    maxIter = Param(
        Params._dummy(),
        "maxIter",
        "epochs",
        param_values.count("maxIter"),
    )
    network = Param(
        Params._dummy(),
        "network",
        "the configuration of the network: an object, or its YAML or JSON",
        param_values.network_text,
    )
    trainingMaster = Param(
        Params._dummy(),
        "trainingMaster",
        "how workers train together: shared, averaging, block_momentum, diloco, "
        "allreduce or powersgd",
        param_values.master,
    )
    masterOptions = Param(
        Params._dummy(),
        "masterOptions",
        "options of the training master",
        param_values.options_of_master,
    )
    numWorkers = Param(
        Params._dummy(),
        "numWorkers",
        "workers of a fit; all that the cluster has if not given",
        param_values.count("numWorkers"),
    )
    patience = Param(
        Params._dummy(),
        "patience",
        "with validationIndicatorCol: epochs without a better figure that end the fit",
        param_values.count("patience"),
    )
    classWeights = Param(
        Params._dummy(),
        "classWeights",
        "of a Classifier: a factor of the loss for each class",
        param_values.factors,
    )
    exportDirectory = Param(
        Params._dummy(),
        "exportDirectory",
        "directory that executors and workers see, for the training data",
        param_values.directory,
    )

    def _set(self, **values: Any) -> Any:
        """Set Params by name; see `ModelParams`."""
        # No converter: pyspark's default, a hash, goes through it and may be negative.
        if values.get("seed") is not None:
            values["seed"] = param_values.seed(values["seed"])
        return super()._set(**values)

    def given(self, name: str) -> Any:
        """Return the value of a Param, None if it has none."""
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None
