"""Partition columns have the type and the values that this Spark infers."""

from tests.spark.partition_oracle import spark_infers
from tests.unit.bridge.partition_texts import random_cases
from tests.unit.bridge.test_partition_values import agree, as_we_have_it, inferred


def test_spark_infers_what_daskdl_infers(spark, tmp_path, rng):
    seed = int(rng.integers(10**6))
    chosen = random_cases(24, seed)
    differing = []
    for texts, found in zip(chosen, spark_infers(spark, chosen, tmp_path), strict=True):
        sparks = as_we_have_it(texts, *found)
        if not agree(inferred(texts), sparks):
            differing.append((texts, found, inferred(texts)))
    assert (differing, seed) == ([], seed)
