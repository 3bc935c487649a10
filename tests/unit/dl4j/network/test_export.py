"""What DL4J needs to be told and daskdl infers: preprocessors, formats, names."""

import pytest

import daskdl as dl
from daskdl.dl4j.network.export_network import export_configuration
from daskdl.errors import FormatError
from daskdl.nn.build import build_network
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    ConvolutionalFlat,
    FeedForward,
    Recurrent,
)

ROWS = FeedForward(size=4)
SERIES = Recurrent(size=3)
IMAGES = Convolutional(height=4, width=5, channels=2)
VOLUMES = Convolutional3D(depth=3, height=4, width=5, channels=2)


def sequence(input_type, *layers, **options):
    conf = dl.MultiLayerConfiguration(input=input_type, layers=layers, **options)
    return export_configuration(build_network(conf))


def graph(inputs, vertices, outputs="out"):
    conf = dl.ComputationGraphConfiguration(
        inputs=inputs, vertices=vertices, outputs=outputs
    )
    return export_configuration(build_network(conf))


def preprocessors(*arguments):
    """Return class and values of the preprocessors, by layer."""
    return {
        int(index): {**item, "@class": item["@class"].rpartition(".")[2]}
        for index, item in sequence(*arguments)["inputPreProcessors"].items()
    }


def layers_of(data):
    return [conf["layer"] for conf in data["confs"]]


def conv(**options):
    return dl.Convolution2D(n_out=3, kernel_size=2, **options)


def sizes(height, width, channels):
    return {"inputHeight": height, "inputWidth": width, "numChannels": channels}


def test_rows_need_nothing():
    assert preprocessors(ROWS, dl.Dense(n_out=3), dl.Output(n_out=2)) == {}


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
def test_images_are_flattened_for_a_dense_layer(data_format):
    images = IMAGES.replaced(data_format=data_format)
    found = preprocessors(images, conv(), dl.Dense(n_out=3), dl.Output(n_out=2))
    expected = {"@class": "CnnToFeedForwardPreProcessor", "format": data_format}
    assert found == {1: {**expected, **sizes(3, 4, 3)}}


def test_volumes_are_flattened_for_an_output_layer():
    last = VOLUMES.replaced(data_format="NDHWC")
    convolution = dl.Convolution3D(n_out=2, kernel_size=1)
    found = preprocessors(last, convolution, dl.Output(n_out=2))
    expected = {"@class": "Cnn3DToFeedForwardPreProcessor", "ncdhw": False}
    assert found == {1: {**expected, "inputDepth": 3, **sizes(4, 5, 2)}}


def test_flat_images_become_images():
    flat = ConvolutionalFlat(height=4, width=5, channels=2)
    found = preprocessors(flat, conv(), dl.Output(n_out=2))
    expected = {"@class": "FeedForwardToCnnPreProcessor"}
    assert found[0] == {**expected, **sizes(4, 5, 2)}


def test_flat_images_stay_rows_for_a_dense_layer():
    flat = ConvolutionalFlat(height=4, width=5, channels=2)
    assert preprocessors(flat, dl.Dense(n_out=3), dl.Output(n_out=2)) == {}


@pytest.mark.parametrize("data_format", ["NCW", "NWC"])
def test_steps_become_rows_for_a_dense_layer_and_series_behind_it(data_format):
    series = SERIES.replaced(data_format=data_format)
    found = preprocessors(
        series,
        dl.Dense(n_out=3),
        dl.Dense(n_out=3),
        dl.LSTM(n_out=3),
        dl.RnnOutput(n_out=2),
    )
    to_rows = {"@class": "RnnToFeedForwardPreProcessor", "rnnDataFormat": data_format}
    back = {"@class": "FeedForwardToRnnPreProcessor", "rnnDataFormat": data_format}
    assert found == {0: to_rows, 2: back}


def test_a_preprocessor_of_ones_own_stays():
    own = {"type": "cnn_to_feed_forward", "height": 3, "width": 4, "channels": 3}
    layers = conv(), dl.Dense(n_out=3, preprocessor=own), dl.Output(n_out=2)
    assert preprocessors(IMAGES, *layers)[1]["inputHeight"] == 3


def test_in_a_graph_they_stand_beside_the_layer():
    data = graph(
        {"in": IMAGES},
        {
            "conv": conv(inputs="in"),
            "dense": dl.Dense(n_out=3, inputs="conv"),
            "out": dl.Output(n_out=2, inputs="dense"),
        },
    )
    found = data["vertices"]["dense"]["preProcessor"]
    assert found["@class"].endswith(".CnnToFeedForwardPreProcessor")
    assert data["vertices"]["conv"]["preProcessor"] is None


def test_flat_images_at_the_door_of_a_graph_become_images():
    data = graph(
        {"in": ConvolutionalFlat(height=4, width=5, channels=2)},
        {"conv": conv(inputs="in"), "out": dl.Output(n_out=2, inputs="conv")},
    )
    found = data["vertices"]["conv"]["preProcessor"]
    assert found["@class"].endswith(".FeedForwardToCnnPreProcessor")


def test_images_of_any_size_cannot_be_flattened():
    open_images = Convolutional(channels=2)
    pooled = conv(), dl.GlobalPooling(), dl.Output(n_out=2)
    assert sequence(open_images, *pooled)["inputPreProcessors"] == {}
    flattened = conv(), dl.Dense(n_in=36, n_out=3), dl.Output(n_out=2)
    with pytest.raises(FormatError, match="DL4J: needs the size of images that are f"):
        sequence(open_images, *flattened)


@pytest.mark.parametrize(
    ("apply_to", "names"),
    [
        ("weights", ["W"]),
        ("biases", ["b"]),
        ("all", ["W", "b"]),
        (["b"], ["b"]),
    ],
)
def test_constraints_are_for_parameters_by_name(apply_to, names):
    constraint = {"type": "non_negative", "apply_to": apply_to}
    layer = dl.Dense(n_out=3, constraints=[constraint])
    data = sequence(ROWS, layer, dl.Output(n_out=2))
    assert layers_of(data)[0]["constraints"][0]["params"] == names


def test_a_probability_to_keep_is_a_dropout():
    data = sequence(ROWS, dl.Dense(n_out=3, keep_probability=0.5), dl.Output(n_out=2))
    dropout = layers_of(data)[0]["idropout"]
    assert (dropout["@class"].rpartition(".")[2], dropout["p"]) == ("Dropout", 0.5)


def test_options_of_the_network_reach_every_layer():
    data = sequence(
        ROWS,
        dl.Dense(n_out=3),
        dl.Output(n_out=2),
        updater={"type": "adam", "learning_rate": 0.5},
        seed=9,
        mini_batch=False,
        optimization_algo="lbfgs",
    )
    assert [conf["seed"] for conf in data["confs"]] == [9, 9]
    assert not data["confs"][0]["miniBatch"]
    assert data["confs"][1]["optimizationAlgo"] == "LBFGS"
    assert [layer["iupdater"]["learningRate"] for layer in layers_of(data)] == [0.5] * 2


def test_a_graph_has_its_order_twice():
    data = graph(
        {"a": ROWS, "b": ROWS},
        {
            "sum": dl.ElementWiseVertex(op="add", inputs=("a", "b")),
            "out": dl.Output(n_out=2, inputs="sum"),
        },
    )
    assert data["topologicalOrderStr"] == ["a", "b", "sum", "out"]
    assert data["topologicalOrder"] == [0, 1, 2, 3]
    assert data["defaultConfiguration"]["variables"] == ["out_W", "out_b"]
    assert data["vertexInputs"] == {"sum": ["a", "b"], "out": ["sum"]}
