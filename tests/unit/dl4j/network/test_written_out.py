"""What DL4J is told that daskdl infers: data formats, sizes, paddings."""

import pytest

import daskdl as dl
from daskdl.dl4j.network.export_network import export_configuration
from daskdl.dl4j.network.import_network import import_configuration

IMAGES = dl.Convolutional(height=6, width=7, channels=2, data_format="NHWC")
SERIES = dl.Recurrent(size=3, time_steps=8, data_format="NWC")
VOLUMES = dl.Convolutional3D(
    depth=4, height=5, width=4, channels=2, data_format="NDHWC"
)


def sequence(input_type, *layers):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(input=input_type, layers=layers)
    )


def written(network):
    """Return the objects of the layers, and what stands between them."""
    data = export_configuration(network)
    return [conf["layer"] for conf in data["confs"]], data["inputPreProcessors"]


@pytest.mark.parametrize(
    ("layer", "input_type", "name"),
    [
        (dl.Convolution2D(n_out=3, kernel_size=2), IMAGES, "cnn2dDataFormat"),
        (dl.Subsampling(), IMAGES, "cnn2dDataFormat"),
        (dl.BatchNormalization(), IMAGES, "cnn2DFormat"),
        (dl.ZeroPadding(padding=1), IMAGES, "dataFormat"),
        (dl.Upsampling2D(), IMAGES, "format"),
        (dl.LSTM(n_out=4), SERIES, "rnnDataFormat"),
        (dl.Convolution1D(n_out=4, kernel_size=2), SERIES, "rnnDataFormat"),
        (dl.Bidirectional(layer=dl.LSTM(n_out=4)), SERIES, "rnndataFormat"),
        (dl.Convolution3D(n_out=3), VOLUMES, "dataFormat"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_every_layer_says_where_channels_are(layer, input_type, name):
    (first, _), _ = written(sequence(input_type, layer, last(layer, input_type)))
    assert first[name] == input_type.data_format


def last(layer, input_type):
    if isinstance(input_type, dl.Recurrent):
        return dl.RnnOutput(n_out=2)
    return dl.Output(n_out=2)


def test_a_wrapped_layer_says_it_too():
    wrapped = dl.Bidirectional(layer=dl.LSTM(n_out=4))
    (first, _), _ = written(sequence(SERIES, wrapped, dl.RnnOutput(n_out=2)))
    assert first["fwd"]["rnnDataFormat"] == "NWC"


def test_images_are_flattened_in_their_own_order():
    _, between = written(sequence(IMAGES, dl.Subsampling(), dl.Output(n_out=2)))
    assert between["1"]["format"] == "NHWC"


def test_all_pixels_are_pooled_where_channels_are_last():
    (first, _), _ = written(sequence(IMAGES, dl.GlobalPooling(), dl.Output(n_out=2)))
    assert first["poolingDimensions"] == [1, 2]


def test_a_file_that_mixes_formats_goes_back_as_it_came():
    layers = dl.Convolution2D(n_out=3, kernel_size=2), dl.BatchNormalization()
    data = export_configuration(sequence(IMAGES, *layers, dl.Output(n_out=2)))
    data["confs"][1]["layer"]["cnn2DFormat"] = "NCHW"
    conf, _ = import_configuration(data, "test")
    assert conf.layers[1].dl4j["cnn2DFormat"] == "NCHW"
    assert "cnn2dDataFormat" in conf.layers[0].dl4j


def test_slopes_have_the_shape_of_the_data_format():
    images = IMAGES.replaced(data_format="NCHW")
    (first, _), _ = written(sequence(images, dl.PReLU(), dl.Output(n_out=2)))
    assert first["inputShape"] == [2, 6, 7]


@pytest.mark.parametrize(("data_format", "axis"), [("NCHW", 1), ("NHWC", 3)])
def test_channels_are_what_is_merged(data_format, axis):
    graph = dl.ComputationGraphConfiguration(
        inputs={"in": IMAGES.replaced(data_format=data_format)},
        vertices={
            "a": dl.Convolution2D(n_out=3, kernel_size=2, inputs="in"),
            "b": dl.Convolution2D(n_out=4, kernel_size=2, inputs="in"),
            "m": dl.MergeVertex(inputs=("a", "b")),
            "out": dl.Output(n_out=2, inputs="m"),
        },
        outputs="out",
    )
    data = export_configuration(dl.ComputationGraph(graph))
    assert data["vertices"]["m"]["mergeAxis"] == axis


def test_sizes_of_heads():
    layer = dl.SelfAttention(n_out=6, n_heads=2, project_input=True)
    (first, _), _ = written(sequence(SERIES, layer, dl.RnnOutput(n_out=2)))
    assert first["headSize"] == 3


def test_padding_of_locally_connected_layers():
    layer = dl.LocallyConnected2D(n_out=3, kernel_size=(2, 3))
    images = dl.Convolutional(height=5, width=6, channels=2)
    (first, _), _ = written(sequence(images, layer, dl.Output(n_out=2)))
    found = {name: first[name] for name in ("inputSize", "padding", "paddingBr")}
    assert found == {"inputSize": [5, 6], "padding": [0, 1], "paddingBr": [1, 1]}


def test_locally_connected_series_have_single_numbers():
    layer = dl.LocallyConnected1D(n_out=3, kernel_size=3)
    series = SERIES.replaced(data_format="NCW")
    (first, *_), _ = written(sequence(series, layer, dl.RnnOutput(n_out=2)))
    names = ("inputSize", "kernel", "stride", "dilation", "padding", "paddingR")
    assert [first[name] for name in names] == [8, 3, 1, 1, 1, 1]


def test_pooling_of_series_is_one_cell_wide():
    layer = dl.Subsampling1D(kernel_size=3, stride=2, padding=1)
    series = SERIES.replaced(data_format="NCW")
    (first, *_), _ = written(sequence(series, layer, dl.RnnOutput(n_out=2)))
    pairs = [first[name] for name in ("kernelSize", "stride", "padding")]
    assert pairs == [[3, 1], [2, 2], [1, 0]]


def test_a_layer_on_each_step_takes_time_series():
    layer = dl.TimeDistributed(layer=dl.Dense(n_out=4))
    network = sequence(SERIES, layer, dl.RnnOutput(n_out=2))
    conf, _ = import_configuration(export_configuration(network), "test")
    assert conf.input == dl.Recurrent(size=3, data_format="NWC")
