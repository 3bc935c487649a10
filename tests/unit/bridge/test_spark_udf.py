"""The UDF's messages, without Spark."""

import pandas as pd
import pytest

import daskdl as dl
from daskdl.errors import DataError
from daskdl_bridge.spark import udf


def test_rows_of_messages_are_said_to_be_of_a_batch():
    layers = [dl.Output(n_out=2)]
    net = dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(layers=layers, input=dl.FeedForward(size=1))
    ).init()
    column = pd.Series([1.0, None, 2.0])
    with (
        pytest.raises(
            DataError, match=r"predict_udf: .*'x'.*row 1.* batch of 3 rows, as Spark"
        ),
        udf._telling_of_batches(3),
    ):
        udf._predicted(net, {"x": column}, 64)


def test_the_path_of_a_network_must_be_one():
    with pytest.raises(dl.errors.OptionError, match="path_or_url must be a str or a"):
        udf.predict_udf(3)
