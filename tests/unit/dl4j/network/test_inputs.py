"""What goes into a network, which DL4J's files do not say and their layers tell."""

import pytest

from daskdl.dl4j.network.inputs import inner, input_type
from daskdl.errors import FormatError

DENSE = {"type": "dense", "n_in": 4}
LSTM = {"type": "lstm", "n_in": 3}
CONV = {"type": "convolution2d", "n_in": 2}
POOL = {"type": "subsampling"}
VOLUME = {"type": "convolution3d", "n_in": 2}
IMAGE = {"height": 2, "width": 3, "channels": 4}
LOCAL = {"type": "locally_connected2d", "n_in": 2, "input_size": [5, 6]}
FROZEN = {"type": "frozen", "layer": {"type": "bidirectional", "layer": LSTM}}


def rows(size):
    return {"type": "feed_forward", "size": size}


def series(size, data_format="NCW"):
    return {"type": "recurrent", "size": size, "data_format": data_format}


def images(channels, **others):
    return {"type": "convolutional", "channels": channels, **others}


def kept(layer, **properties):
    return {**layer, "dl4j": properties}


def behind(layer, tag, **options):
    return {**layer, "preprocessor": {"type": tag, **options}}


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([DENSE], rows(4)),
        ([LSTM], series(3)),
        ([kept(LSTM, rnnDataFormat="NWC")], series(3, "NWC")),
        ([CONV], images(2)),
        ([kept(CONV, cnn2dDataFormat="NHWC")], images(2, data_format="NHWC")),
        ([VOLUME], {"type": "convolutional3d", "channels": 2}),
        (
            [kept(VOLUME, dataFormat="NDHWC")],
            {"type": "convolutional3d", "channels": 2, "data_format": "NDHWC"},
        ),
        ([LOCAL], images(2, height=5, width=6)),
        ([kept(DENSE, timeDistributedFormat="NWC")], series(4, "NWC")),
        ([{"type": "embedding", "n_in": 9}], rows(1)),
        ([{"type": "embedding_sequence", "n_in": 9}], rows(None)),
        ([{"type": "activation"}, DENSE], rows(4)),
        ([{"type": "batch_normalization", "dl4j": {"nin": 5}}, LSTM], series(3)),
        ([POOL, CONV], images(2)),
        ([{"type": "batch_normalization", "dl4j": {"nin": 5}}, POOL], images(5)),
        ([{"type": "prelu", "input_shape": [5]}], rows(5)),
        (
            [POOL, {"type": "global_pooling", "pooling_dimensions": [1, 2]}, DENSE],
            images(4, data_format="NHWC"),
        ),
        ([{"type": "global_pooling", "pooling_dimensions": [1]}], series(None, "NWC")),
        ([POOL, {"type": "output", "n_in": 8}], images(8)),
        (
            [{"type": "frozen", "layer": {"type": "bidirectional", "layer": LSTM}}],
            series(3),
        ),
        ([{"type": "time_distributed", "layer": DENSE}], series(4)),
        ([{"type": "loss"}], rows(None)),
        ([{"type": "batch_normalization", "dl4j": {"nin": 5}}], rows(5)),
        ([{"type": "primary_capsules", "dl4j": {"inputChannels": 3}}], images(3)),
        ([{"type": "merge"}, LSTM], series(None)),
        ([{"type": "last_time_step"}, DENSE], {"type": "recurrent", "size": 4}),
        ([{"type": "duplicate_to_time_series"}, LSTM], rows(3)),
        (
            [behind(DENSE, "cnn_to_feed_forward", **IMAGE)],
            images(**IMAGE, data_format="NCHW"),
        ),
        ([behind(CONV, "feed_forward_to_cnn", **IMAGE)], rows(24)),
        ([behind(CONV, "rnn_to_cnn", **IMAGE, data_format="NWC")], series(24, "NWC")),
        ([behind(DENSE, "rnn_to_feed_forward", data_format="NCW")], series(4)),
        ([behind(LSTM, "feed_forward_to_rnn", data_format="NCW")], rows(3)),
        (
            [behind(DENSE, "cnn3d_to_feed_forward", depth=5, **IMAGE)],
            {"type": "convolutional3d", "depth": 5, **IMAGE, "data_format": None},
        ),
        (
            [
                behind(
                    LSTM,
                    "composable",
                    preprocessors=[{"type": "feed_forward_to_cnn", **IMAGE}],
                )
            ],
            rows(24),
        ),
    ],
)
def test_the_first_layer_that_tells_decides(layers, expected):
    found = input_type(layers, "file")
    assert found == expected


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "file: must begin with a layer, got none"),
        ([{**LOCAL, "input_size": 5}], "inputSize must be height and width, got 5"),
        (
            [behind(DENSE, "cnn_to_feed_forward", height="x")],
            "its first preprocessor must name whole sizes, got {'height': 'x'}",
        ),
        (
            [behind(DENSE, "composable", preprocessors=[])],
            "file: must begin with a preprocessor, got none",
        ),
        (
            [behind(DENSE, "cnn_to_feed_forward", height=None, width=None)],
            "file: its first preprocessor must name the sizes of what it takes",
        ),
    ],
)
def test_a_network_that_does_not_tell_is_refused(layers, message):
    with pytest.raises(FormatError, match=message):
        input_type(layers, "file")


def test_a_wrapper_without_a_layer_is_itself():
    assert inner({"type": "frozen"}) == {"type": "frozen"}
