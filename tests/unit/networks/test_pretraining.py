"""Layer-wise pretraining: what changes, with which updater, and what is refused."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import daskdl as dl
from daskdl.dl4j.network.parameters import from_dl4j, to_dl4j
from daskdl.errors import DataError, OptionError
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.fitting.events import FitStarted
from daskdl.training.state import state_of, trained_from_state
from tests.dialects import DL4J

DATA = Path(__file__).parents[2] / "data" / "training"
ROWS = FeedForward(size=4)
ADAM = {"type": "adam", "learning_rate": 0.1}


def network(*layers, **options):
    options = {"updater": "sgd", "dtype": "float64", **options}
    conf = dl.MultiLayerConfiguration(
        input=ROWS,
        layers=[*layers, dl.Output(n_out=2)],
        activation="sigmoid",
        **options,
    )
    return dl.MultiLayerNetwork(conf)


def two(**options):
    return network(auto_encoder(3), auto_encoder(2), **options)


def auto_encoder(n_out, **options):
    return dl.AutoEncoder(n_out=n_out, corruption_level=0, **options)


def variational(distribution):
    return dl.VariationalAutoencoder(
        n_out=2,
        encoder_layer_sizes=[3],
        decoder_layer_sizes=[3],
        reconstruction_distribution=distribution,
    )


@pytest.fixture
def data(rng):
    return dl.DataSet(rng.uniform(0.1, 0.9, (6, 4)), None)


def changed(net, before):
    return {
        slot.name
        for slot in net.layout
        if (net.params != before)[slot.offset : slot.stop].any()
    }


def test_an_autoencoder_goes_where_dl4j_goes():
    with np.load(DATA / "pretrain_autoencoder_mse.npz") as found:
        recorded = dict(found)
    layer = dl.AutoEncoder(n_out=3, corruption_level=0, loss="mse")
    conf = dl.MultiLayerConfiguration(
        input=ROWS,
        layers=[layer, dl.Output(n_out=3)],
        activation="sigmoid",
        updater={"type": "sgd", "learning_rate": 0.1},
        dtype="float64",
        dialect=DL4J,
    )
    net = dl.MultiLayerNetwork(conf)
    net.params[...] = from_dl4j(net, recorded["params_init"].ravel())
    for step, expected in enumerate(recorded["params"]):
        net.pretrain_layer(0, dl.DataSet(recorded[f"x{step}"], None))
        np.testing.assert_allclose(to_dl4j(net, net.params), expected, rtol=1e-12)


@pytest.mark.parametrize("layer", [1, "layer1"])
def test_only_the_layer_itself_learns(data, layer):
    net = two()
    before = net.params.copy()
    net.pretrain_layer(layer, data)
    assert changed(net, before) == {"1_W", "1_b", "1_vb"}


def test_pretraining_goes_through_all_autoencoders(data):
    net = two()
    before = net.params.copy()
    net.pretrain(data)
    assert changed(net, before) == {
        f"{i}_{p}" for i in (0, 1) for p in ("W", "b", "vb")
    }


def test_a_layer_learns_from_what_reaches_it(data):
    """The ones in front of it, which stay, give it their output."""
    net = two()
    hidden = network(auto_encoder(3)).init()
    hidden.params[:19] = net.params[:19]
    first = net.param_table()
    reached = 1 / (1 + np.exp(-(data.features @ first["0_W"] + first["0_b"])))
    alone = dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=FeedForward(size=3),
            layers=[auto_encoder(2), dl.Output(n_out=2)],
            activation="sigmoid",
            updater="sgd",
            dtype="float64",
        ),
        params=net.params[19:],
    )
    alone.pretrain_layer(0, dl.DataSet(reached, None))
    net.pretrain_layer(1, data)
    np.testing.assert_allclose(net.params[19:], alone.params)


def test_the_gradient_is_the_mean_over_the_examples(data):
    net = two()
    twice = two()
    net.pretrain_layer(0, data)
    both = np.concatenate([data.features, data.features])
    twice.pretrain_layer(0, dl.DataSet(both, None))
    np.testing.assert_allclose(net.params, twice.params)


def test_without_minibatches_it_is_the_sum(data):
    rate = {"type": "sgd", "learning_rate": 0.01}
    mean = two(updater={"type": "sgd", "learning_rate": 0.06})
    total = two(updater=rate, mini_batch=False)
    for net in (mean, total):
        net.pretrain_layer(0, data)
    np.testing.assert_allclose(mean.params, total.params)


def test_pretraining_lowers_the_score(data):
    net = network(auto_encoder(3), updater=ADAM)
    scores = []
    for _ in range(20):
        net.pretrain_layer(0, data)
        scores.append(net.score)
    assert scores[-1] < scores[0]


def test_the_score_has_what_regularization_adds(data):
    plain, penalized = network(auto_encoder(3)), network(auto_encoder(3), l2=0.5)
    for net in (plain, penalized):
        net.pretrain_layer(0, data)
    weight = network(auto_encoder(3)).param_table()["0_W"]
    np.testing.assert_allclose(penalized.score - plain.score, 0.25 * (weight**2).sum())


def test_a_variational_autoencoder_learns_too(data):
    net = network(
        dl.VariationalAutoencoder(
            n_out=2,
            encoder_layer_sizes=(5,),
            decoder_layer_sizes=(5,),
            reconstruction_distribution="bernoulli",
        ),
        updater=ADAM,
    )
    scores = []
    for _ in range(30):
        net.pretrain(data)
        scores.append(net.score)
    assert np.mean(scores[-5:]) < np.mean(scores[:5])


def test_the_updater_goes_on_from_call_to_call(data):
    """Adam's first step is of full size; a second one of the same gradient is not."""
    net = network(auto_encoder(3), updater=ADAM)
    at_once = network(auto_encoder(3), updater=ADAM)
    for _ in range(3):
        net.pretrain_layer(0, data)
    at_once.pretrain_layer(0, data, epochs=3)
    np.testing.assert_array_equal(net.params, at_once.params)


def test_the_updater_of_the_network_is_not_touched(data):
    net = network(auto_encoder(3), updater=ADAM)
    net.pretrain(data)
    assert not net.updater_state.any()


def test_nor_is_its_count_of_iterations(data):
    assert two().pretrain(data, epochs=3).iteration_count == 0


def test_pretraining_is_reproducible(data):
    nets = [
        network(dl.AutoEncoder(n_out=3, corruption_level=0.5)).pretrain(data, epochs=3)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(nets[0].params, nets[1].params)


def test_each_iteration_corrupts_anew(data):
    layer = dl.AutoEncoder(n_out=3, corruption_level=0.5)
    net = network(layer, updater={"type": "sgd", "learning_rate": 1e-9})
    scores = [net.pretrain_layer(0, data).score for _ in range(2)]
    assert abs(scores[0] - scores[1]) > 1e-3


def test_inputs_are_dropped_as_in_training(data):
    dropped, plain = network(auto_encoder(3, keep_probability=0.5)), two()
    assert dropped.pretrain_layer(0, data).score != plain.pretrain_layer(0, data).score


def test_constraints_hold_after_pretraining(data):
    constraint = {"type": "max_norm", "max_norm": 0.1, "dimensions": (0,)}
    net = network(auto_encoder(3, constraints=(constraint,)))
    net.pretrain(data)
    norms = np.linalg.norm(net.param_table()["0_W"], axis=0)
    assert norms.max() < 0.1001


def test_minibatches_may_be_cut(data):
    cut, given = two(), two()
    cut.pretrain_layer(0, data, batch_size=2)
    given.pretrain_layer(0, list(data.batches(2)))
    np.testing.assert_array_equal(cut.params, given.params)


def test_labels_do_not_matter(data):
    with_labels, without = two(), two()
    with_labels.pretrain(dl.DataSet(data.features, np.eye(2)[[0, 1, 0, 1, 0, 1]]))
    without.pretrain(data)
    np.testing.assert_array_equal(with_labels.params, without.params)


def test_a_preprocessor_is_in_front_of_it(rng):
    conf = dl.MultiLayerConfiguration(
        input=dl.Convolutional(height=2, width=1, channels=2),
        layers=[
            auto_encoder(
                3,
                preprocessor={
                    "type": "cnn_to_feed_forward",
                    "height": 2,
                    "width": 1,
                    "channels": 2,
                },
            ),
            dl.Output(n_out=2),
        ],
    )
    net = dl.MultiLayerNetwork(conf)
    before = net.params.copy()
    net.pretrain(dl.DataSet(rng.uniform(0.1, 0.9, (5, 2, 2, 1)), None))
    assert changed(net, before) == {"0_W", "0_b", "0_vb"}


def test_a_graph_is_pretrained_by_name(data):
    conf = dl.ComputationGraphConfiguration(
        inputs={"in": ROWS},
        vertices={
            "front": dl.Dense(n_out=4, inputs="in"),
            "encoder": dl.AutoEncoder(n_out=3, inputs="front"),
            "out": dl.Output(n_out=2, inputs="encoder"),
        },
        outputs=("out",),
    )
    net = dl.ComputationGraph(conf)
    before = net.params.copy()
    net.pretrain_layer("encoder", data)
    assert changed(net, before) == {"encoder_W", "encoder_b", "encoder_vb"}


def test_training_with_labels_leaves_what_only_pretraining_needs(rng):
    """Also where regularization or an updater would move it."""
    net = network(auto_encoder(3), l2_bias=0.5, updater=ADAM)
    before = net.param_table()["0_vb"].copy() + 1
    net.param_table()["0_vb"][...] = before
    net.fit(dl.DataSet(rng.standard_normal((6, 4)), np.eye(2)[[0, 1, 0, 1, 0, 1]]))
    np.testing.assert_array_equal(net.param_table()["0_vb"], before)


def test_and_does_not_score_it(rng):
    net = network(auto_encoder(3), l2_bias=0.5)
    net.param_table()["0_vb"][...] = 100
    data = dl.DataSet(rng.standard_normal((6, 4)), np.eye(2)[[0, 1, 0, 1, 0, 1]])
    assert net.compute_score(data) < 100


@pytest.mark.parametrize("layer", [0, 3, -1, "layer0", "nobody"])
def test_what_cannot_be_pretrained_is_refused(data, layer):
    net = network(dl.Dense(n_out=3), auto_encoder(2))
    with pytest.raises(OptionError, match=r"must be one that can be pretrained \('lay"):
        net.pretrain_layer(layer, data)


@pytest.mark.parametrize("layers", [[True], [1.0], True, {"layer0", "layer1"}, [None]])
def test_what_is_no_index_and_no_name_chooses_no_layer(data, layers):
    with pytest.raises(OptionError, match="layer must be one that can be pretrained"):
        two().pretrain(data, layers=layers)


def test_a_network_without_autoencoders_is_refused(data):
    with pytest.raises(OptionError, match="must have a layer that can be pretrained"):
        network(dl.Dense(n_out=3)).pretrain(data)


@pytest.mark.parametrize(
    ("epochs", "call"),
    [
        (2, lambda net, data, epochs: net.pretrain_layer(0, data, epochs=epochs)),
        (1, lambda net, data, epochs: net.pretrain(data, epochs=epochs)),
    ],
)
def test_what_can_be_read_once_does_not_do_for_two_passes(data, epochs, call):
    with pytest.raises(OptionError, match="read again for 2 passes, got list_iterator"):
        call(two(), iter([data]), epochs)


def test_no_data_are_refused():
    with pytest.raises(DataError, match="data must hold a minibatch, got none"):
        two().pretrain([])


def test_no_epochs_are_refused(data):
    with pytest.raises(OptionError, match="epochs"):
        two().pretrain_layer(0, data, epochs=0)


BERNOULLI = {"type": "bernoulli"}
RESTORED = {
    "cross entropy": (auto_encoder(3, loss="xent"), "the loss 'xent' must be from 0"),
    "usual loss": (auto_encoder(3), "the loss 'xent' must be from 0 to 1"),
    "bernoulli": (variational(BERNOULLI), "distribution 'bernoulli' must be from 0"),
    "exponential": (variational({"type": "exponential"}), "must not be negative"),
    "wrapped loss": (
        variational({"type": "loss_wrapper", "loss": "poisson"}),
        "the loss 'poisson' must not be negative",
    ),
    "part": (
        variational(
            {
                "type": "composite",
                "sizes": [3, 1],
                "distributions": [{"type": "gaussian"}, BERNOULLI],
            }
        ),
        "distribution 'bernoulli' must be from 0",
    ),
}


@pytest.fixture
def outside(rng):
    """Data of which row 5 holds a number that is none to restore, in column 3."""
    features = rng.uniform(0.1, 0.9, (6, 4))
    features[5, 3] = -0.5
    return features


@pytest.mark.parametrize("case", RESTORED)
def test_what_cannot_be_restored_is_refused_before_anything_is_trained(outside, case):
    layer, message = RESTORED[case]
    net = network(layer)
    before = net.params.copy()
    with pytest.raises(DataError, match=f"minibatch 2: .*{message}.* -0.5 in row 1"):
        net.pretrain(outside, batch_size=2)
    np.testing.assert_array_equal(net.params, before)


def test_what_an_iterator_brings_is_refused_when_it_comes(outside):
    net = network(auto_encoder(3))
    with pytest.raises(DataError, match=r"must be from 0 to 1, got -0\.5 in row 5"):
        net.pretrain(iter([dl.DataSet(outside, None)]))


def test_what_reaches_a_layer_is_held_against_its_range(outside):
    """Behind a tanh; the features themselves may be anything."""
    net = network(dl.Dense(n_out=3, activation="tanh"), auto_encoder(2))
    with pytest.raises(DataError, match=r"layer1.* must be from 0 to 1"):
        net.pretrain(outside, batch_size=6)


def test_what_a_normalizer_makes_of_features_is_held_against_the_range(outside):
    net = network(auto_encoder(3))
    net.normalizer = dl.NormalizerMinMaxScaler()
    net.normalizer.fit([dl.DataSet(outside, None)])
    net.pretrain(outside, batch_size=6)
    assert 0 < net.score < 10


def test_dropout_of_the_input_does_not_count(data):
    """It makes what is left larger."""
    layer = auto_encoder(3, keep_probability=0.5)
    assert np.isfinite(network(layer).pretrain(data).score)


def test_any_features_will_do_where_the_loss_takes_them(outside):
    layers = [auto_encoder(3, loss="mse"), variational({"type": "gaussian"})]
    for layer in layers:
        assert np.isfinite(network(layer).pretrain(outside, batch_size=6).score)


def test_any_features_will_do_where_dl4j_trains_whatever_the_loss_is(outside):
    net = network(auto_encoder(3), dialect=DL4J)
    net.pretrain(outside, batch_size=6)
    assert net.params.size


class Heard(dl.Listener):
    """Notes the layers of which it hears, and how many epochs they have."""

    def __init__(self):
        self.layers = []
        self.started = []

    def on_event(self, event):
        if isinstance(event, FitStarted):
            self.started.append(event.layer)

    def on_epoch_end(self, fit):
        self.layers.append((fit.layer, fit.epoch, fit.examples))


def test_listeners_hear_of_each_layer_as_of_a_fit(data):
    heard = Heard()
    two().pretrain(data, epochs=2, batch_size=4, listeners=heard)
    each = [(name, at, 6) for name in ("layer0", "layer1") for at in (1, 2)]
    assert heard.layers == each
    assert heard.started == ["layer0", "layer1"]


def test_of_a_fit_there_is_no_layer(data):
    heard = Heard()
    labelled = dl.DataSet(data.features, np.eye(2)[[0, 1, 0, 1, 0, 1]])
    two().fit(labelled, listeners=heard)
    assert heard.layers == [(None, 1, 6)]


def test_a_listener_ends_the_pretraining_of_a_layer(data):
    class Ends(dl.Listener):
        def on_epoch_end(self, fit):
            if fit.layer == "layer0":
                fit.stop()

    net, heard = two(), Heard()
    net.pretrain(data, epochs=3, batch_size=2, listeners=[Ends(), heard])
    assert [layer for layer, _, _ in heard.layers] == ["layer0", *["layer1"] * 3]


def test_the_report_is_that_of_the_last_layer(data):
    net = two()
    net.pretrain(data, epochs=2, batch_size=4)
    assert (net.last_fit.examples, len(net.last_fit.epochs)) == (12, 2)


def test_epochs_may_be_shuffled(data):
    plain, mixed, again = two(), two(), two()
    how = {"epochs": 3, "batch_size": 2}
    plain.pretrain(data, **how)
    mixed.pretrain(data, **how, shuffle=True)
    again.pretrain(data, **how, shuffle=True)
    assert (plain.params != mixed.params).any()
    np.testing.assert_array_equal(mixed.params, again.params)


def test_columns_need_no_label(data):
    frame = pd.DataFrame(data.features, columns=list("abcd"))
    net, same = two(), two()
    net.pretrain(frame, batch_size=2, features=list("abcd"))
    same.pretrain(data, batch_size=2)
    np.testing.assert_array_equal(net.params, same.params)


def test_a_normalizer_is_fitted_on_features(outside):
    net = network(auto_encoder(3))
    net.pretrain(outside, batch_size=6, normalizer=dl.NormalizerMinMaxScaler())
    assert net.normalizer.is_fitted


def test_each_worker_draws_its_own_corruption(data):
    layer = dl.AutoEncoder(n_out=3, corruption_level=0.5)
    scores = [
        network(layer)
        .pretraining.layer("test", 0)
        .fit_minibatch(data, rng_stream=number)
        for number in (0, 0, 1)
    ]
    assert scores[0] == scores[1] != scores[2]


def test_a_layer_in_pretraining_travels_as_values(data):
    """Where it stands, with its own updater state and counters."""
    here = two(updater=ADAM)
    layer = here.pretraining.layer("test", 1)
    layer.fit_minibatch(data)
    there = trained_from_state(pickle.loads(pickle.dumps(state_of(layer))))
    for one in (layer, there):
        one.fit_minibatch(data)
    assert (there.name, there.iteration_count) == ("layer1", 2)
    np.testing.assert_array_equal(there.network.params, here.params)
