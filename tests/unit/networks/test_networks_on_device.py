"""Whole networks on CuPy arrays do what they do on NumPy's, tried without a GPU."""

import pickle

import numpy as np
import pytest

import daskdl as dl
from daskdl.arrays.namespace import to_host
from daskdl.nn.build import build_network
from daskdl.nn.conf.input_type import FeedForward
from tests.devices import check_training, living_on
from tests.pretend_cupy import pretend
from tests.unit.networks.small import mlp, rnn, rows, two_in_two_out
from tests.unit.networks.test_dl4j_training import load, minibatches
from tests.unit.networks.training_cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_training_is_the_same(pretence, name):
    check_training(pretence, build_network(CASES[name]), minibatches(load(name)))


def test_what_comes_out_is_an_array_of_numpy(pretence, rng):
    host, data = mlp(), rows(rng)
    device = pretence.network(host)
    output = device.output(data.features)
    assert type(output) is np.ndarray
    np.testing.assert_array_equal(output, host.output(data.features))
    scores, outputs = device.score_and_output(data)
    assert type(scores) is type(outputs[0]) is np.ndarray
    np.testing.assert_array_equal(scores, host.score_examples(data))
    assert device.compute_score(data) == host.compute_score(data)


@pytest.mark.parametrize("where", [np.asarray, pretend])
def test_features_may_lie_anywhere(pretence, rng, where):
    network, data = mlp(), rows(rng)
    expected = network.clone().fit(data).params
    given = dl.DataSet(where(data.features), where(data.labels))
    for each in (network, pretence.network(network)):
        np.testing.assert_array_equal(to_host(each.fit(given).params), expected)


def test_an_evaluation_counts_the_same(pretence, rng):
    host, data = mlp(), rows(rng)
    assert pretence.network(host).evaluate(data).stats() == host.evaluate(data).stats()


def test_masked_series_are_the_same(pretence, rng):
    host = rnn("NCW", backprop_type="truncated_bptt", tbptt_fwd_length=3)
    device = pretence.network(host)
    x, y = rng.standard_normal((4, 3, 7)), np.eye(2)[rng.integers(0, 2, (4, 7))]
    mask = np.tile([1, 1, 1, 1, 1, 0, 0], (4, 1))
    batch = dl.DataSet(x, y.transpose(0, 2, 1), mask, mask)
    for network in (device, host):
        network.fit(batch, epochs=2)
    pretence.check_network(device, host)
    for steps in (slice(0, 3), slice(3, 4)):
        np.testing.assert_array_equal(
            device.rnn_time_step(x[:, :, steps]), host.rnn_time_step(x[:, :, steps])
        )
    masked = {"features_mask": mask, "labels_mask": mask}
    np.testing.assert_array_equal(device.output(x, **masked), host.output(x, **masked))


def test_graphs_of_several_inputs_are_the_same(pretence, rng):
    host = two_in_two_out()
    device = pretence.network(host)
    x = [rng.standard_normal((6, 4)), rng.standard_normal((6, 2))]
    labels = [rng.standard_normal((6, 1)), np.eye(3)[rng.integers(0, 3, 6)]]
    for network in (device, host):
        network.fit(dl.MultiDataSet(x, labels))
    pretence.check_network(device, host)


@pytest.mark.parametrize(
    "algo", ["line_gradient_descent", "conjugate_gradient", "lbfgs"]
)
def test_line_searches_are_the_same(pretence, rng, algo):
    host, data = mlp(optimization_algo=algo), rows(rng)
    device = pretence.network(host)
    for network in (device, host):
        network.fit(data, epochs=3)
    pretence.check_network(device, host)


def test_pretraining_is_the_same(pretence, rng):
    layers = [
        dl.VariationalAutoencoder(
            n_out=2, encoder_layer_sizes=[3], decoder_layer_sizes=[3]
        ),
        dl.AutoEncoder(n_out=3),
        dl.Output(n_out=2),
    ]
    conf = dl.MultiLayerConfiguration(
        input=FeedForward(size=4), layers=layers, updater="adam", activation="tanh"
    )
    host = dl.MultiLayerNetwork(conf)
    device, data = pretence.network(host), dl.DataSet(rng.random((5, 4)), None)
    for network in (device, host):
        network.pretrain(data, epochs=2)
    pretence.check_network(device, host)


@pytest.mark.parametrize("suffix", ["daskdl", "dl4j"])
def test_files_know_no_device(pretence, rng, tmp_path, suffix):
    host, data = mlp(), rows(rng)
    device = pretence.network(host.fit(data))
    device.save(tmp_path / "network", format=suffix)
    loaded = dl.load(tmp_path / "network")
    assert type(loaded.params) is np.ndarray
    np.testing.assert_array_equal(loaded.params, host.params)


@pytest.mark.parametrize("suffix", ["daskdl", "dl4j"])
def test_a_file_is_read_onto_the_device(pretence, rng, tmp_path, suffix):
    host = mlp().fit(rows(rng))
    host.save(tmp_path / "network", format=suffix)
    with living_on("cupy"):
        loaded = dl.load(tmp_path / "network")
    pretence.check_network(loaded, host)


def test_a_network_from_the_device_is_unpickled_where_there_is_none(pretence, rng):
    host = mlp().fit(rows(rng))
    back = pickle.loads(pickle.dumps(pretence.network(host)))
    assert type(back.params) is np.ndarray
    pretence.check_network(pretence.network(back), host)
