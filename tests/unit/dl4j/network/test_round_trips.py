"""Networks of every kind of layer and vertex, written for DL4J and read again."""

import numpy as np
import pytest

from daskdl.dl4j.network import model_zip
from daskdl.dl4j.network.export_network import export_configuration
from daskdl.dl4j.network.layer_row import BY_TAG
from daskdl.dl4j.network.text import configuration_from_text, configuration_to_text
from daskdl.nn.batches import as_arrays
from daskdl.nn.build import build_network
from daskdl.nn.conf.values import tag_of
from daskdl.nn.layers.table import LAYERS
from daskdl.nn.vertices.table import VERTICES
from tests.dl4j.batches import random_batch
from tests.dl4j.graph_networks import GRAPHS
from tests.dl4j.layer_networks import SEQUENCES
from tests.dl4j.trials import built, outputs

TRIALS = {**SEQUENCES, **{f"graph of {name}": trial for name, trial in GRAPHS.items()}}


@pytest.fixture(params=TRIALS)
def trial(request):
    return TRIALS[request.param]


@pytest.fixture
def network(trial, rng):
    network = built(trial.conf, "float64", rng)
    network.iteration_count, network.epoch_count = 7, 2
    return network


def test_a_model_comes_back(trial, network, rng, tmp_path):
    network.updater_state[...] = rng.random(network.updater_state.size)
    model_zip.save(network, tmp_path / "model.zip")
    again = model_zip.load(tmp_path / "model.zip")
    np.testing.assert_array_equal(again.params, network.params)
    np.testing.assert_array_equal(again.updater_state, network.updater_state)
    assert (again.iteration_count, again.epoch_count) == (7, 2)
    assert export_configuration(again) == export_configuration(network)
    arrays = as_arrays("trial", random_batch(trial, network, rng))
    for found, expected in zip(
        outputs(again, arrays), outputs(network, arrays), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_a_configuration_comes_back_in_both_texts(network):
    text, yaml = configuration_to_text(network), configuration_to_text(network, "yaml")
    conf = configuration_from_text(text)
    assert configuration_from_text(yaml) == conf
    # Vectors of an embedding are in no text.
    again = build_network(conf, is_drawn=False)
    again.iteration_count, again.epoch_count = 7, 2
    assert configuration_to_text(again) == text


def kinds(trial):
    conf = trial.conf
    parts = conf.layers if hasattr(conf, "layers") else conf.vertices.values()
    for part in parts:
        while part is not None:
            yield part.type
            part = getattr(part, "layer", getattr(part, "vertex", None))


# Other tests register kinds of their own.
OURS = {tag_of(kind) for kind in LAYERS}


def test_every_kind_of_layer_and_vertex_is_tried():
    tried = {kind for trial in TRIALS.values() for kind in kinds(trial)}
    assert not {*OURS, *(tag_of(kind) for kind in VERTICES)} - tried


def test_every_layer_has_a_row():
    assert set(BY_TAG) == OURS
