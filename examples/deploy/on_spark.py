"""Train inside of Spark's executors: give two URLs, to train and to test on."""

import sys

from pyspark.sql import SparkSession

import daskdl

spark = SparkSession.builder.appName("digits").getOrCreate()
train, test = sys.argv[1:]
layers = [daskdl.Dense(64, activation="relu"), daskdl.Output(10)]
digits = daskdl.MultiLayerConfiguration(
    input=daskdl.FeedForward(64), layers=layers, updater=daskdl.Adam(0.005)
)
with daskdl.spark.cluster(spark, workers=2, memory="1 GiB") as cluster:
    front = daskdl.DaskMultiLayer(cluster.client(), digits)
    columns = {"features": "features", "label": "label"}
    front.fit(train, **columns, epochs=10, batch_size=32, shuffle=True)
    print(front.evaluate(test, **columns).stats())
spark.stop()
