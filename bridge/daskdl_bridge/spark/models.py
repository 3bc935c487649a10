"""What the estimators return: transformers that predict in Spark's executors."""

import os
import tempfile
from pathlib import Path
from typing import Any

from pyspark.ml import Model
from pyspark.ml.param.shared import HasProbabilityCol, HasRawPredictionCol
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
)

from daskdl.checks import some
from daskdl.errors import OptionError
from daskdl.formats.load import load
from daskdl_bridge.spark.column_names import quoted
from daskdl_bridge.spark.ml_writer import ParamsWriter
from daskdl_bridge.spark.params import ModelParams
from daskdl_bridge.spark.udf import saved_bytes, udf_of_bytes

__all__ = ["ClassificationModel", "RegressionModel"]

_SCORED = "_daskdl_scored"
# Of one row of the table that holds a saved network: Spark takes 2 GiB.
_PIECE_BYTES = 64 << 20


class _ModelWriter(ParamsWriter):
    """Writes the network beside the metadata, by Spark, wherever the path leads."""

    def saveImpl(self, path: str) -> None:
        super().saveImpl(path)
        saved = saved_bytes(self.instance.network)
        pieces = [
            (number, bytearray(saved[start : start + _PIECE_BYTES]))
            for number, start in enumerate(range(0, len(saved), _PIECE_BYTES))
        ]
        frame = self.sparkSession.createDataFrame(pieces, "number int, piece binary")
        frame.coalesce(1).write.parquet(f"{path}/network")


class _ModelReader(DefaultParamsReader):
    def load(self, path: str) -> Any:
        model = super().load(path)
        if not isinstance(model, self.cls):
            raise OptionError(
                f"{self.cls.__name__}.load: {path} must hold one of these, got a "
                f"{type(model).__name__}."
            )
        rows = self.sparkSession.read.parquet(f"{path}/network").collect()
        pieces = [
            bytes(row["piece"]) for row in sorted(rows, key=lambda r: r["number"])
        ]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "network.safetensors"
            file.write_bytes(b"".join(pieces))
            model.network = load(os.fspath(file))
        return model


class _NetworkModel(Model, ModelParams, DefaultParamsWritable, DefaultParamsReadable):
    """A trained network as a transformer.

    Attributes
    ----------
    network : MultiLayerNetwork or ComputationGraph
        None until it is loaded.
    """

    def __init__(self, network: Any = None) -> None:
        super().__init__()
        self.network = network

    def write(self) -> _ModelWriter:
        """Return a writer of metadata and network."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> _ModelReader:
        """Return a reader of what `write` wrote."""
        return _ModelReader(cls)

    def _scored(self, frame: Any) -> Any:
        """Return the DataFrame with a column of the UDF's structs."""
        from pyspark.ml.functions import vector_to_array
        from pyspark.sql import functions

        self.check_columns(frame)
        taken = [name for name in self._outputs() if name in frame.columns]
        if taken:
            raise OptionError(
                f"{type(self).__name__}: columns of predictions must be new, got "
                f"{some(taken)} in the data."
            )
        kinds = {field.name: field.dataType.simpleString() for field in frame.schema}
        names = self.features_columns()
        made = {}
        for number, name in enumerate(names):
            if kinds[name] == "vector":
                made[name] = f"{_SCORED}_{number}"
                # Spark hands no vector to Python that it has just read from Parquet;
                # behind an explode it is an array already.
                array = functions.array(vector_to_array(quoted(name), "float32"))
                frame = frame.withColumn(made[name], functions.explode(array))
        predict = udf_of_bytes(
            saved_bytes(self.network),
            names,
            batch_size=self.getOrDefault(self.batchSize),
        )
        columns = [functions.col(quoted(made.get(name, name))) for name in names]
        return frame.withColumn(_SCORED, predict(*columns)).drop(*made.values())

    def _outputs(self) -> list[str]:
        names = ("predictionCol", "probabilityCol", "rawPredictionCol")
        params = [self.getParam(name) for name in names if self.hasParam(name)]
        return [
            self.getOrDefault(param) for param in params if self.getOrDefault(param)
        ]


class ClassificationModel(_NetworkModel, HasProbabilityCol, HasRawPredictionCol):
    """A trained classifier: adds prediction, probability and rawPrediction.

    `rawPrediction` holds the probabilities too, for evaluators that ask for it.
    """

    def _transform(self, dataset: Any) -> Any:
        from pyspark.ml.functions import array_to_vector
        from pyspark.sql import functions

        scored = self._scored(dataset)
        vector = array_to_vector(functions.col(f"{_SCORED}.probability"))
        prediction = self.getPredictionCol()
        if prediction:
            scored = scored.withColumn(
                prediction, functions.col(f"{_SCORED}.prediction")
            )
        for name in (self.getProbabilityCol(), self.getRawPredictionCol()):
            if name:
                scored = scored.withColumn(name, vector)
        return scored.drop(_SCORED)


class RegressionModel(_NetworkModel):
    """A trained regressor: adds prediction, in the units of the labels.

    A vector, if the network has several outputs.
    """

    def _transform(self, dataset: Any) -> Any:
        from pyspark.ml.functions import array_to_vector
        from pyspark.sql import functions

        scored = self._scored(dataset)
        prediction = functions.col(f"{_SCORED}.prediction")
        if self.network.output_layer_n_out[0] != 1:
            prediction = array_to_vector(functions.col(f"{_SCORED}.probability"))
        return scored.withColumn(self.getPredictionCol(), prediction).drop(_SCORED)
