"""What holds for the configuration of every layer, checked over the same table."""

import math

import numpy as np
import pytest

import daskdl as dl
from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.layers.layer import Layer
from tests.unit.layers.case import IMAGES, ROWS, VOLUMES
from tests.unit.layers.cases import CASES, Alone, tried

every_layer = pytest.mark.parametrize("name", CASES)
# One row a kind.
KINDS = {type(case.conf): name for name, case in reversed(CASES.items())}
every_kind = pytest.mark.parametrize("name", KINDS.values())

INPUTS = [
    ROWS,
    ROWS.replaced(size=1),
    dl.Recurrent(size=3),
    dl.Recurrent(size=3, time_steps=4),
    dl.Recurrent(size=4, time_steps=4, data_format="NWC"),
    IMAGES,
    IMAGES.replaced(data_format="NHWC"),
    dl.Convolutional(channels=2),
    dl.ConvolutionalFlat(height=6, width=5, channels=2),
    VOLUMES,
    VOLUMES.replaced(data_format="NDHWC"),
]


def network_of(conf, input_type):
    return dl.MultiLayerConfiguration(input=input_type, layers=[conf])


@every_layer
@pytest.mark.parametrize("compact", [False, True])
def test_a_configuration_comes_back_from_its_mapping(name, compact):
    network = network_of(CASES[name].conf, CASES[name].input_type)
    mapping = network.to_dict(compact=compact)
    assert dl.MultiLayerConfiguration.from_dict(mapping) == network


@every_layer
def test_a_configuration_comes_back_from_its_yaml(name):
    network = network_of(CASES[name].conf, CASES[name].input_type)
    assert dl.MultiLayerConfiguration.from_yaml(network.to_yaml()) == network


@every_layer
def test_a_configuration_with_nothing_left_open_comes_back(name):
    """As checkpoints have it, which must outlive a change of defaults."""
    filled = Alone(name).layer.conf
    (again,) = dl.MultiLayerConfiguration.from_dict(
        {"input": CASES[name].input_type, "layers": [filled.model_dump(mode="json")]}
    ).layers
    assert again == filled


@every_layer
def test_the_layer_has_the_parameters_of_its_configuration(name):
    layer = Alone(name).layer
    shapes = {item.name: item.shape for item in layer.conf.parameters(layer.input_type)}
    assert {key: view.shape for key, view in layer.run.params.items()} == shapes


@every_layer
def test_dl4j_orders_the_same_parameters(name):
    layer = Alone(name).layer
    names = [item.name for item in layer.conf.parameters(layer.input_type)]
    assert sorted(layer.conf.file_order(layer.input_type)) == sorted(names)


@every_layer
def test_an_array_of_dl4j_has_as_many_numbers(name):
    layer = Alone(name).layer
    for item in layer.conf.parameters(layer.input_type):
        assert sorted(item.axes or range(len(item.shape))) == [*range(len(item.shape))]
        assert math.prod(item.file_shape or item.shape) == math.prod(item.shape)


@every_layer
def test_initial_parameters_are_finite_and_the_same_again(name):
    first, second = Alone(name).params, Alone(name).params
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, second)


@every_kind
@pytest.mark.parametrize("input_type", INPUTS, ids=str)
def test_what_a_layer_cannot_take_is_refused_and_what_it_can_works(
    rng, name, input_type
):
    conf = CASES[name].conf
    nodes = tried(lambda: network_of(conf, input_type).nodes(), OptionError)
    if isinstance(nodes, str):
        assert nodes.startswith("MultiLayerConfiguration.layers[0]")
        return
    (node,) = nodes
    layer = Layer(node.conf, node.input_types[0], "me", Workspace())
    layout = ParamLayout.of(node.conf.parameter_shapes(node.entering_type))
    params, gradients = np.zeros(layout.size), np.full(layout.size, np.nan)
    layer.bind(layout.views(params), layout.views(gradients))
    layer.initialize(rng)
    shape = [4 if size is None else size for size in node.input_types[0].shape]
    # Whole numbers, which are good for embeddings as well.
    x = rng.integers(0, CASES[name].n_numbers or 2, (2, *shape)).astype(float)
    output = layer.forward(x, training=True, mask=None, rng=rng, batch_size=2)
    assert layer.backward(np.ones_like(output)).shape == x.shape
    assert np.isfinite(gradients).all()
    for said, came in zip(node.output_type.shape, output.shape[1:], strict=True):
        assert said in (None, came)


def test_what_only_shows_with_data_is_refused_by_the_layer_that_cannot_take_it():
    network = dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.Recurrent(size=1),
            layers=[
                dl.Convolution1D(
                    n_out=2, kernel_size=2, stride=3, convolution_mode="strict"
                ),
                dl.RnnOutput(n_out=2),
            ],
        )
    )
    with pytest.raises(
        OptionError, match=r"^Convolution1D 'layer0': stride: must divide .*got \(3,\)"
    ):
        network.output(np.zeros((1, 1, 4)))
