"""Layers that somebody wrote for DL4J: found by entry point, both ways."""

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

from daskdl import FeedForward, MultiLayerConfiguration, MultiLayerNetwork
from daskdl.dl4j.arrays.nd4j import read_array
from daskdl.dl4j.network import model_zip
from daskdl.dl4j.network.export_network import export_configuration
from daskdl.dl4j.network.layer_row import GROUP
from daskdl.dl4j.network.layers import read_layer, write_layer
from daskdl.dl4j.network.parameters import to_dl4j
from daskdl.errors import FormatError
from daskdl.nn.conf.kinds import LAYER_KINDS
from daskdl.nn.layers.output import Output
from tests.unit.dl4j.network.two_halves import PACKAGE, TwoHalves

FILES = Path(__file__).parents[3] / "data" / "dl4j_legacy"
VALUE = "tests.unit.dl4j.network.two_halves:ROW"


@pytest.fixture
def plugged_in(monkeypatch):
    """A package is installed that has the layer for daskdl too."""
    names = (f"{PACKAGE}CustomLayer", "CustomLayer")
    ours = [importlib.metadata.EntryPoint(name, VALUE, GROUP) for name in names]
    installed = importlib.metadata.entry_points

    def entry_points(**wanted):
        if wanted["group"] != GROUP:
            return installed(**wanted)
        return [found for found in ours if wanted.get("name", found.name) == found.name]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    monkeypatch.setitem(LAYER_KINDS._models, "two_halves", TwoHalves)


def recorded(name):
    with (FILES / name).open("rb") as stream:
        return np.asarray(read_array(stream, name=name))


@pytest.mark.parametrize(
    ("release", "bits", "tolerance"),
    [
        ("100a", "", 1e-6),
        ("100b3", "_float", 1e-6),
        ("100b3", "_double", 1e-12),
        # Recorded with 16 bits, computed here with 32.
        ("100b4", "_half", 1e-3),
        ("100b6", "_float", 1e-6),
    ],
)
def test_a_model_with_such_a_layer_predicts_what_dl4j_recorded(
    plugged_in, release, bits, tolerance
):
    network = model_zip.load(FILES / f"CustomLayerExample_{release}{bits}.bin")
    features = recorded(f"CustomLayerExample_Input_{release}{bits}.bin")
    expected = recorded(f"CustomLayerExample_Output_{release}{bits}.bin")
    found = network.output(features.astype(network.dtype))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_a_graph_with_such_a_layer_predicts_what_dl4j_recorded(plugged_in):
    network = model_zip.load(FILES / "CustomLayerExample_Graph_100a.bin")
    expected = recorded("CustomLayerExample_Graph_Output_100a.bin")
    found = network.output(recorded("CustomLayerExample_Input_100a.bin"))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_it_goes_back_as_it_came(plugged_in, tmp_path):
    network = model_zip.load(FILES / "CustomLayerExample_100b6_float.bin")
    model_zip.save(network, tmp_path / "again.zip")
    again = model_zip.load(tmp_path / "again.zip")
    assert again.conf == network.conf
    np.testing.assert_array_equal(again.params, network.params)
    np.testing.assert_array_equal(again.updater_state, network.updater_state)


def test_old_options_of_such_a_layer_are_translated_too(plugged_in):
    layer = model_zip.load(FILES / "CustomLayerExample_100b3_float.bin").conf.layers[1]
    decay = {"coefficient": 0.03, "apply_learning_rate": False}
    assert layer.weight_decay.model_dump() == decay
    assert (layer.l2, layer.weight_init) == (0, "xavier")


def test_a_network_built_here_is_written_with_the_class(plugged_in):
    conf = MultiLayerConfiguration(
        input=FeedForward(size=3),
        layers=[TwoHalves(n_out=4, second_activation="tanh"), Output(n_out=2)],
    )
    written = export_configuration(MultiLayerNetwork(conf))["confs"][0]
    assert written["layer"]["@class"] == f"{PACKAGE}CustomLayer"
    assert written["layer"]["secondActivationFunction"]["@class"].endswith("TanH")
    assert written["variables"] == ["W", "b"]


def test_parameters_go_in_the_order_that_the_layer_says(plugged_in):
    network = model_zip.load(FILES / "CustomLayerExample_100b6_float.bin")
    assert to_dl4j(network, network.params).shape == (149,)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("CustomLayerExample_100a.bin", "'CustomLayer'"),
        ("CustomLayerExample_Graph_100a.bin", "'CustomLayer'"),
        ("CustomLayerExample_100b6_float.bin", f"'{PACKAGE}CustomLayer'"),
    ],
)
def test_without_the_package_the_error_names_class_and_group(file, name):
    with pytest.raises(FormatError) as refused:
        model_zip.load(FILES / file)
    message = str(refused.value)
    assert message.startswith(f"{FILES / file}: configuration.json: ")
    assert f"must be a layer that is known here, got {name}." in message
    assert message.endswith(f"in the entry-point group '{GROUP}'.")


def test_without_the_package_writing_names_the_group():
    with pytest.raises(FormatError, match=f"no layer 'two_halves'.*'{GROUP}'"):
        write_layer({"type": "two_halves"})


def test_a_writer_of_other_layers_is_not_asked(plugged_in):
    with pytest.raises(FormatError, match="has no layer 'three_thirds'"):
        write_layer({"type": "three_thirds"})


def test_a_known_name_in_another_package_is_another_layer():
    with pytest.raises(FormatError, match=r"got .org\.example\.DenseLayer"):
        read_layer({"@class": "org.example.DenseLayer"}, "file")


def test_what_a_reader_returns_must_be_a_known_layer(plugged_in, monkeypatch):
    monkeypatch.delitem(LAYER_KINDS._models, "two_halves")
    with pytest.raises(
        FormatError, match=r"layers\[1\].type: must be one of .*got .two_halves.\."
    ):
        model_zip.load(FILES / "CustomLayerExample_100b6_float.bin")
