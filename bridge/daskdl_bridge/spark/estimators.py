"""Estimators of pyspark.ml that train on Dask: Classifier and Regressor."""

from collections.abc import Callable
from typing import Any

from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.ml.param.shared import HasProbabilityCol, HasRawPredictionCol
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable

from daskdl.cluster.frontend import front_end
from daskdl.cluster.masters.options import training_master
from daskdl.errors import OptionError
from daskdl.nn.build import build_network
from daskdl.nn.conf.network import (
    MultiLayerConfiguration,
    configuration_from_yaml,
)
from daskdl.nn.early_stopping.conditions import (
    ScoreImprovementEpochTerminationCondition,
)
from daskdl.nn.early_stopping.early_stopping import EarlyStopping
from daskdl.nn.early_stopping.score_calculators import (
    ClassificationScoreCalculator,
    RegressionScoreCalculator,
    ScoreCalculator,
)
from daskdl.nn.loss_evaluations import tells_classes
from daskdl.nn.network import Network
from daskdl_bridge.spark.client import SharedClients
from daskdl_bridge.spark.ml_writer import ParamsWriter
from daskdl_bridge.spark.models import (
    ClassificationModel,
    RegressionModel,
)
from daskdl_bridge.spark.params import TrainingParams
from daskdl_bridge.spark.session import session_of
from daskdl_bridge.spark.udf import is_binary
from daskdl_bridge.spark.validation import split_by_indicator

__all__ = ["Classifier", "Regressor"]

_CLIENTS = SharedClients()


class _NetworkEstimator(
    Estimator,
    TrainingParams,
    DefaultParamsWritable,
    DefaultParamsReadable,
):
    """What both estimators do: export, train on the session's Dask cluster."""

    _model: type[Any]
    _tells_classes: bool
    _score_calculator: Callable[[Any, dict[str, Any]], ScoreCalculator]

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__()
        self._setDefault(
            maxIter=1,
            batchSize=32,
            trainingMaster="shared",
            masterOptions={},
            patience=3,
        )
        self._set(**options)

    @keyword_only
    def setParams(self, **options: Any) -> "_NetworkEstimator":
        """Set Params by name."""
        return self._set(**options)  # type: ignore[no-any-return]

    def write(self) -> ParamsWriter:
        """Return a writer of the Params."""
        return ParamsWriter(self)

    def _fit(self, dataset: Any) -> Any:
        label = self.getLabelCol()
        indicator = self.given("validationIndicatorCol")
        self.check_columns(dataset, label, *([indicator] if indicator else []))
        name = type(self).__name__
        kind, options = self.given("trainingMaster"), self.given("masterOptions")
        master = training_master(kind, options)
        network = build_network(self._configuration())
        self._check_network(network)
        how: dict[str, Any] = {
            "features": self.features_columns(),
            "label": label,
            "export_directory": self.given("exportDirectory"),
        }
        train, stopping = dataset, None
        if indicator:
            train, held_back = split_by_indicator(name, dataset, indicator)
            stopping = EarlyStopping(
                self._score_calculator(held_back, how),
                ScoreImprovementEpochTerminationCondition(
                    self.getOrDefault(self.patience)
                ),
            )
        with _CLIENTS.of(session_of(dataset)) as client:
            front_end(client, network, master).fit(
                train,
                epochs=self.getMaxIter(),
                batch_size=self.getOrDefault(self.batchSize),
                shuffle=True,
                workers=self.given("numWorkers"),
                listeners=stopping,
                **how,
            )
        trained: Network[Any] = network
        if stopping is not None and stopping.result is not None:
            trained = stopping.result.best_model
        return self._copyValues(self._model(trained))

    def _check_network(self, network: Any) -> None:
        """Refuse a network whose output is not what the model is to tell."""
        if len(network.inputs) != 1 or len(network.outputs) != 1:
            raise OptionError(
                f"{type(self).__name__}: network must have one input and one output, "
                f"got {len(network.inputs)} and {len(network.outputs)}. Use "
                "daskdl.DaskComputationGraph."
            )
        loss = network.output_losses[0]
        are_classes = tells_classes(loss) or is_binary(network)
        if are_classes is not self._tells_classes:
            wanted = (
                "mcxent, or xent with one output"
                if self._tells_classes
                else "one of numbers, such as mse"
            )
            raise OptionError(
                f"{type(self).__name__}: the network's loss must be {wanted}, got "
                f"{loss!r} with {network.output_layer_n_out[0]} outputs."
            )

    def _configuration(self) -> Any:
        text = self.given("network")
        if text is None:
            raise OptionError(
                f"{type(self).__name__}: network must be the configuration of a "
                "network, got None. Give network=daskdl.MultiLayerConfiguration(...)."
            )
        configuration = configuration_from_yaml(text, "network")
        if self.isSet(self.seed):
            configuration = configuration.replaced(seed=self.getSeed())
        weights = self.given("classWeights")
        if weights is None:
            return configuration
        return _with_class_weights(configuration, weights)


def _with_class_weights(configuration: Any, weights: list[float]) -> Any:
    """Return a configuration whose loss weighs the outputs, one a class.

    Raises
    ------
    OptionError
        If the network is a graph, or their number differs.
    """
    if not isinstance(configuration, MultiLayerConfiguration):
        raise OptionError(
            "Classifier: classWeights must be left out for a graph, got "
            f"{weights!r}. Give the loss of its output weights."
        )
    values = configuration.to_dict()
    output = values["layers"][-1]
    if output.get("n_out") not in (None, len(weights)):
        raise OptionError(
            "Classifier: classWeights must hold a number for each of "
            f"{output['n_out']} classes, got {weights!r}."
        )
    loss = output["loss"]
    given = {"type": loss} if isinstance(loss, str) else loss
    output["loss"] = {**given, "weights": weights}
    return MultiLayerConfiguration.from_dict(values)


class Classifier(_NetworkEstimator, HasProbabilityCol, HasRawPredictionCol):
    """Trains a network with classes on Dask, as an estimator of pyspark.ml.

    The Dask cluster is the one that :func:`daskdl_bridge.spark.client.connect` finds.

    Parameters
    ----------
    network : configuration, or its YAML or JSON
    featuresCol : str
        Vectors, arrays or images.
    featuresCols : list of str
        Columns of numbers, instead of `featuresCol`.
    labelCol : str
        Class numbers.
    predictionCol : str
        Of the model: the class.
    probabilityCol, rawPredictionCol : str
        Of the model: vectors of probabilities.
    classWeights : list of float
        A factor of the loss for each class, in the order of their numbers; see
        :func:`daskdl.class_counts`.
    maxIter : int
        Epochs.
    batchSize : int
        Examples of a minibatch of one worker.
    trainingMaster : str
        As in a job file: ``"averaging"``.
    masterOptions : dict
        Of the training master: ``{"averaging_frequency": 5}``.
    numWorkers : int
        All that the cluster has if not given.
    seed : int
        In place of the configuration's own.
    validationIndicatorCol : str
        A boolean column whose true rows are not trained on: the network is kept that is
        best on them.
    patience : int
        With `validationIndicatorCol`: the fit ends after so many epochs in a row that
        were not better.
    exportDirectory : str
        See `daskdl_bridge.spark.directory.export_directory`.

    Raises
    ------
    OptionError
        By ``fit``, before any job, if a column is missing or there is no network.
    """

    _model = ClassificationModel
    _tells_classes = True

    @staticmethod
    def _score_calculator(data: Any, how: dict[str, Any]) -> ScoreCalculator:
        return ClassificationScoreCalculator("ACCURACY", data, **how)

    @keyword_only
    def __init__(
        self,
        *,
        network: Any = None,
        featuresCol: str = "features",
        featuresCols: list[str] | None = None,
        labelCol: str = "label",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        rawPredictionCol: str = "rawPrediction",
        classWeights: list[float] | None = None,
        maxIter: int = 1,
        batchSize: int = 32,
        trainingMaster: str = "shared",
        masterOptions: dict[str, Any] | None = None,
        numWorkers: int | None = None,
        seed: int | None = None,
        validationIndicatorCol: str | None = None,
        patience: int = 3,
        exportDirectory: str | None = None,
    ) -> None:
        super().__init__(self._input_kwargs)


class Regressor(_NetworkEstimator):
    """Trains a network for numbers on Dask, as an estimator of pyspark.ml.

    Parameters
    ----------
    network : configuration, or its YAML or JSON
    featuresCol : str
        Vectors, arrays or images.
    featuresCols : list of str
        Columns of numbers, instead of `featuresCol`.
    labelCol : str
        Numbers, or arrays of them.
    predictionCol : str
        Of the model: the value, in the units of the labels.
    maxIter : int
        Epochs.
    batchSize : int
        Examples of a minibatch of one worker.
    trainingMaster : str
        As in a job file: ``"averaging"``.
    masterOptions : dict
        Of the training master: ``{"averaging_frequency": 5}``.
    numWorkers : int
        All that the cluster has if not given.
    seed : int
        In place of the configuration's own.
    validationIndicatorCol : str
        A boolean column whose true rows are not trained on: the network is kept that is
        best on them.
    patience : int
        With `validationIndicatorCol`: the fit ends after so many epochs in a row that
        were not better.
    exportDirectory : str
        See `daskdl_bridge.spark.directory.export_directory`.
    """

    _model = RegressionModel
    _tells_classes = False

    @staticmethod
    def _score_calculator(data: Any, how: dict[str, Any]) -> ScoreCalculator:
        return RegressionScoreCalculator("MSE", data, **how)

    @keyword_only
    def __init__(
        self,
        *,
        network: Any = None,
        featuresCol: str = "features",
        featuresCols: list[str] | None = None,
        labelCol: str = "label",
        predictionCol: str = "prediction",
        maxIter: int = 1,
        batchSize: int = 32,
        trainingMaster: str = "shared",
        masterOptions: dict[str, Any] | None = None,
        numWorkers: int | None = None,
        seed: int | None = None,
        validationIndicatorCol: str | None = None,
        patience: int = 3,
        exportDirectory: str | None = None,
    ) -> None:
        super().__init__(self._input_kwargs)
