"""Predictions are written beside the data, and no key is lost."""

import pytest

from daskdl.cluster.results import check_apart, check_key
from daskdl.errors import OptionError


@pytest.mark.parametrize("key", ["prediction", "probability", "prediction_1"])
def test_a_key_that_predictions_would_replace_is_refused(key):
    with pytest.raises(OptionError, match="must differ from the columns of the pred"):
        check_key("predict", "--key", key)


@pytest.mark.parametrize("key", ["id", "predictions", None])
def test_another_key_is_taken(key):
    check_key("predict", "--key", key)


@pytest.mark.parametrize(
    ("output", "data"),
    [
        ("/a/data", "/a/data"),
        ("/a/data/predicted", "/a/data"),
        ("/a", "/a/data"),
        ("hdfs://ns/a/../b", "hdfs://ns/b/"),
        ("/b", ["/a", "/b/part"]),
    ],
)
def test_an_output_that_holds_the_data_is_refused(output, data):
    with pytest.raises(OptionError, match="output must lie apart from the data"):
        check_apart("predict", "output", output, data)


@pytest.mark.parametrize(
    ("output", "data"),
    [("/a/data2", "/a/data"), ("hdfs://ns/b", "/b"), ("/a", object())],
)
def test_an_output_beside_the_data_is_taken(output, data):
    check_apart("predict", "output", output, data)
