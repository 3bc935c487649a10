"""A program as users of Spark Connect write it, without a guard around what it does.

From a DataFrame to a trained model to a scored DataFrame, and the estimator in a
Pipeline that is saved and loaded. It says what it found as JSON.
"""

import json
import sys
from pathlib import Path

import numpy as np
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf, when

import daskdl

folder = Path(sys.argv[1])
spark = SparkSession.builder.remote("local[2]").getOrCreate()

features = np.random.default_rng(0).normal(size=(200, 3))
rows = [(*map(float, x), float(x[0] > 0)) for x in features]
frame = spark.createDataFrame(rows, "a double, b double, c double, label double")
configuration = daskdl.MultiLayerConfiguration(
    seed=1,
    updater=daskdl.Adam(learning_rate=0.05),
    input=daskdl.FeedForward(size=3),
    layers=[
        daskdl.Dense(n_out=8, activation="tanh"),
        daskdl.Output(n_out=2, loss="mcxent"),
    ],
)
found = {"errors": []}

with daskdl.spark.connect(spark, workers=1) as client:
    network = daskdl.DaskMultiLayer(client, configuration)
    columns = ("a", "b", "c")
    network.fit(frame, features=columns, epochs=10, batch_size=20, listeners=[])
    scored = network.feed_forward_with_key(frame, features=columns)
    found["rows"] = scored.count()
    found["right"] = scored.where("prediction = label").count()

    nulls = frame.withColumn("label", when(frame.a > 0, frame.label))
    broken = frame.withColumn("a", udf(lambda a: a / 0.0, "double")("a"))
    for data in (nulls, broken):
        for approach in ("export", "direct"):
            how = {
                "features": columns,
                "rdd_training_approach": approach,
                "batch_size": 9,
            }
            try:
                network.fit(data, **how)
            except Exception as error:  # noqa: BLE001 - they are what is looked for
                notes = " ".join(getattr(error, "__notes__", ()))
                found["errors"].append([type(error).__name__, str(error), notes])

assembler = VectorAssembler(inputCols=["a", "b", "c"], outputCol="features")
classifier = daskdl.spark.Classifier(
    network=configuration, maxIter=10, batchSize=20, numWorkers=1
)
model = Pipeline(stages=[assembler, classifier]).fit(frame)
model.save(str(folder / "model"))
expected = [row.probability for row in model.transform(frame).collect()]
again = PipelineModel.load(str(folder / "model")).transform(frame)
found["same"] = [row.probability for row in again.collect()] == expected

found["overwritten"] = []
for one in (classifier, model.stages[-1]):
    place = folder / type(one).__name__
    place.mkdir()
    (place / "of before").touch()
    one.write().overwrite().save(str(place))
    one.write().overwrite().save(str(place))
    is_same = type(one).load(str(place)).uid == one.uid
    found["overwritten"].append(is_same and not (place / "of before").exists())
sys.stdout.write(f"{json.dumps(found)}\n")
spark.stop()
