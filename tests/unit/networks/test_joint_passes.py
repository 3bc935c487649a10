"""Networks that several threads train together, by what one thread makes of them."""

import pickle
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import daskdl
from daskdl import (
    AdaBelief,
    AdaDelta,
    AdaMax,
    AMSGrad,
    BatchNormalization,
    Dense,
    FeedForward,
    Nadam,
    Output,
)
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import DivergedError, OptionError, ShapeError
from daskdl.nn import cutting, joint_passes, update_segments
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.unit.networks.small import mlp, rnn, rows, sequence, two_in_two_out
from tests.unit.networks.training_cases import CASES
from tests.unit.networks.training_cases import mlp as mlp_conf
from tests.unit.networks.training_cases import rows as rows_conf

MORE = {
    "amsgrad": mlp_conf(updater=AMSGrad(0.02)),
    "nadam": mlp_conf(updater=Nadam(0.02)),
    "adamax": mlp_conf(updater=AdaMax(0.02)),
    "adabelief": mlp_conf(updater=AdaBelief(0.02)),
    "adadelta": mlp_conf(updater=AdaDelta()),
    "dropout": rows_conf(
        Dense(n_out=7), dropout={"type": "dropout", "keep_probability": 0.6}
    ),
    "gaussian noise": rows_conf(
        Dense(n_out=7, dropout={"type": "gaussian_noise", "stddev": 0.3})
    ),
    "weight noise": rows_conf(
        Dense(n_out=7),
        weight_noise={"type": "drop_connect", "weight_retain_probability": 0.7},
    ),
}
EVERY = {**CASES, **MORE}
# Biases in front of a normalization have gradients of 0 but for rounding, which Adam
# makes as large as any other.
EVERY["float_batchnorm_cnn"] = CASES["float_batchnorm_cnn"].replaced(updater="sgd")


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Cut the smallest minibatch, and add gradients up in the shortest pieces."""
    monkeypatch.setattr(cutting, "_A_PASS", 1)
    monkeypatch.setattr(cutting, "_A_PART", 0)
    monkeypatch.setattr(update_segments, "_JOINT_PIECE", 5)


def made(conf, threads):
    is_sequence = isinstance(conf, MultiLayerConfiguration)
    network = (MultiLayerNetwork if is_sequence else ComputationGraph)(conf)
    network.threads = threads
    return network


def batch_of(network, rng, n=7, steps=5):
    """Return a minibatch that fits a network; series have masks."""

    def drawn(spec):
        shape = [steps if size is None else size for size in spec.type.border_shape]
        return rng.standard_normal((n, *shape))

    features = [drawn(spec) for spec in network.inputs]
    labels = []
    for spec, loss in zip(network.labels, network.output_losses, strict=True):
        values = drawn(spec)
        if loss == "mcxent":
            values = (values == values.max(axis=1, keepdims=True)).astype(float)
        labels.append(values)
    if len(features) > 1:
        return MultiDataSet(features, labels)
    mask = None
    if labels[0].ndim == 3:
        mask = (np.arange(steps) <= np.arange(n)[:, None] % steps).astype(float)
    return DataSet(features[0], labels[0], mask, mask)


def trained(conf, threads, rng_seed=3, n=7, minibatches=4):
    network, rng = made(conf, threads), np.random.default_rng(rng_seed)
    scores = [
        network.fit_minibatch(batch_of(network, rng, n)) for _ in range(minibatches)
    ]
    return network, np.array(scores)


def assert_alike(first, second, **tolerance):
    for name in ("params", "updater_state"):
        found, wanted = getattr(first, name), getattr(second, name)
        np.testing.assert_allclose(found, wanted, **tolerance)


def tolerance_of(conf):
    return (
        {"rtol": 1e-3, "atol": 1e-5}
        if conf.dtype == "float32"
        else {
            "rtol": 1e-9,
            "atol": 1e-11,
        }
    )


def is_cut(network):
    return len(network._passes._cuts) > 1


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("threads", [2, 4])
def test_they_agree_with_one_to_rounding(name, threads):
    conf = EVERY[name]
    one, scores_of_one = trained(conf, 1)
    more, scores = trained(conf, threads)
    tolerance = tolerance_of(conf)
    np.testing.assert_allclose(scores, scores_of_one, **tolerance)
    assert_alike(more, one, **tolerance)
    assert is_cut(more) == (name != "centerloss")


@pytest.mark.parametrize(
    "name", ["adam", "batchnorm", "dropout", "float_batchnorm_cnn"]
)
def test_the_same_number_of_threads_gives_the_same_bits(name):
    first, scores = trained(EVERY[name], 3)
    for _ in range(5):
        again, scores_again = trained(EVERY[name], 3)
        np.testing.assert_array_equal(again.params, first.params)
        np.testing.assert_array_equal(scores_again, scores)


def test_one_thread_starts_none(monkeypatch):
    monkeypatch.setattr(joint_passes, "Team", None)
    trained(EVERY["adam"], 1)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_minibatches_may_have_fewer_examples_than_threads(n):
    one, _ = trained(EVERY["batchnorm"], 1, n=n)
    more, _ = trained(EVERY["batchnorm"], 4, n=n)
    assert_alike(more, one, rtol=1e-7, atol=1e-9)


def test_the_running_statistics_are_those_of_the_minibatch(rng):
    conf = rows_conf(BatchNormalization(decay=0, use_log_std=False))
    network = made(conf, 3)
    batch = batch_of(network, rng)
    network.fit_minibatch(batch)
    table = network.param_table()
    np.testing.assert_allclose(table["0_mean"], batch.features.mean(axis=0))
    np.testing.assert_allclose(table["0_var"], batch.features.var(axis=0))


def test_a_small_variance_beside_a_large_mean_is_kept(rng):
    conf = rows_conf(
        BatchNormalization(decay=0, use_log_std=False), dtype="float32", updater="sgd"
    )
    network = made(conf, 4)
    features = (1000 + rng.standard_normal((400, 4))).astype(np.float32)
    network.fit_minibatch(DataSet(features, np.eye(3)[rng.integers(0, 3, 400)]))
    expected = features.astype(np.float64).var(axis=0)
    np.testing.assert_allclose(network.param_table()["0_var"], expected, rtol=1e-4)


def test_mean_gradients_are_those_of_one(rng):
    conf = EVERY["adam"]
    batch = batch_of(made(conf, 1), rng)
    found = []
    for threads in (1, 3):
        network = made(conf, threads)
        network.compute_gradients(batch)
        found.append(network.gradients)
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-13)


def test_several_inputs_and_outputs_are_cut_alike(rng):
    one, more = two_in_two_out(dtype="float64"), two_in_two_out(dtype="float64")
    batch = batch_of(one, rng)
    one.threads, more.threads = 1, 3
    assert_alike(more.fit(batch), one.fit(batch), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("threads", [2, 4])
def test_predictions_and_scores_agree_with_one(rng, threads):
    one, more = (rnn(dtype="float64") for _ in range(2))
    one.threads, more.threads = 1, threads
    batch = batch_of(one, rng)
    features, mask = batch.features, batch.features_mask
    for method in (
        lambda network: network.output(features, features_mask=mask),
        lambda network: network.score_examples(batch),
        lambda network: network.compute_score(batch),
        lambda network: network.evaluate(batch).confusion_matrix,
    ):
        np.testing.assert_allclose(method(more), method(one), rtol=1e-12)
    assert is_cut(more)


def test_what_runs_alone_afterwards_waits_for_nobody(rng):
    network = made(EVERY["batchnorm"], 2)
    batch = batch_of(network, rng)
    network.fit(batch)
    assert is_cut(network)
    assert {run.cut for run in network._program.runs} == {None}


def test_truncated_backpropagation_is_not_cut(rng):
    network = rnn(backprop_type="truncated_bptt", tbptt_fwd_length=2)
    network.threads = 2
    network.fit(batch_of(network, rng))
    assert not is_cut(network)


@pytest.mark.usefixtures("forget_kinds")
@pytest.mark.parametrize("says_so", [False, True])
def test_layers_of_users_are_cut_if_they_say_so(rng, says_so):
    @daskdl.layer("cut_in_test")
    class Cut(daskdl.LayerDefinition):
        can_be_cut = says_so

        def forward(self, run, x):
            return 2 * x, lambda grad: 2 * grad

    network = sequence(FeedForward(size=4), Cut(), Output(n_out=3))
    network.threads = 2
    network.fit(rows(rng))
    assert is_cut(network) == says_so


@pytest.mark.usefixtures("forget_kinds")
@pytest.mark.parametrize("option", ["activation", "loss"])
def test_activations_and_losses_of_users_are_not_cut(rng, option):
    @daskdl.activation("doubled_in_test")
    class Doubled(daskdl.ActivationDefinition):
        def forward(self, x):
            return 2 * x

        def derivative(self, x):
            return np.full_like(x, 2)

    @daskdl.loss("squared_in_test")
    class Squared(daskdl.LossDefinition):
        def score(self, labels, output):
            return (labels - output) ** 2

        def gradient(self, labels, output):
            return 2 * (output - labels)

    name = {"activation": "doubled_in_test", "loss": "squared_in_test"}[option]
    network = sequence(
        FeedForward(size=4), Output(n_out=3, **{"loss": "mse", option: name})
    )
    network.threads = 2
    network.fit(rows(rng))
    assert not is_cut(network)


@pytest.mark.parametrize("options", [{"activation": "rrelu"}, {"loss": "fmeasure"}])
def test_what_needs_all_examples_is_not_cut(rng, options):
    last = Output(n_out=2, **options) if "loss" in options else Output(n_out=2)
    hidden = Dense(n_out=3, **({} if "loss" in options else options))
    network = sequence(FeedForward(size=4), hidden, last)
    network.threads = 2
    network.fit(rows(rng, n_classes=2))
    assert not is_cut(network)


def test_small_work_is_left_to_one(monkeypatch, rng):
    monkeypatch.undo()
    network = mlp()
    network.threads = 2
    network.fit(rows(rng, n=200))
    assert not is_cut(network)


def test_how_a_minibatch_is_cut_follows_from_its_size():
    large = sequence(FeedForward(size=4), Dense(n_out=5), Output(n_out=3))
    workload = large._passes._workload
    assert workload.parts(8, 1) == workload.parts(8, 1) > 1


def team_threads():
    return [t for t in threading.enumerate() if t.name.startswith("daskdl team")]


def test_threads_end_with_a_fit(rng):
    alive = []

    class Watching(daskdl.Listener):
        def iteration_done(self, fit):
            alive.append(len(team_threads()))

    network = mlp()
    network.threads = 3
    network.fit(rows(rng, n=12), batch_size=6, listeners=Watching())
    assert alive == [2, 2]
    assert team_threads() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda network, batch: network.fit_minibatch(batch),
        lambda network, batch: network.compute_gradients(batch),
        lambda network, batch: network.output(batch.features),
        lambda network, batch: network.evaluate(batch),
    ],
)
def test_threads_end_with_a_call(rng, call):
    network = mlp()
    network.threads = 2
    call(network, rows(rng))
    assert is_cut(network)
    assert team_threads() == []


def test_threads_can_be_kept_for_a_loop(rng):
    network = mlp()
    network.threads = 2
    with network.keeping_threads():
        network.fit_minibatch(rows(rng))
        first = team_threads()
        network.fit_minibatch(rows(rng))
        assert team_threads() == first != []
    assert team_threads() == []


def test_a_listener_may_predict(rng):
    class Predicting(daskdl.Listener):
        def iteration_done(self, fit):
            fit.network.output(np.zeros((5, 4)))

    network = mlp()
    network.threads = 2
    batch = rows(rng)
    network.fit(batch, epochs=2, listeners=Predicting())
    alone = mlp()
    alone.threads = 2
    alone.fit(batch, epochs=2)
    np.testing.assert_array_equal(network.params, alone.params)


def test_errors_say_what_one_thread_says(rng):
    """Of a layer that finds something wrong with data in the midst of a pass."""

    def message(threads):
        conf = MultiLayerConfiguration(
            input=daskdl.Recurrent(size=3),
            layers=[daskdl.Convolution1D(n_out=2, kernel_size=4), daskdl.RnnOutput(2)],
        )
        network = made(conf, threads)
        with pytest.raises((OptionError, ShapeError)) as caught:
            network.fit((rng.standard_normal((6, 3, 2)), np.ones((6, 2, 2))))
        return str(caught.value)

    assert message(2) == message(1)
    assert team_threads() == []


def test_an_error_in_one_thread_leaves_the_parameters(rng, monkeypatch):
    network = made(EVERY["batchnorm"], 2)
    batch = batch_of(network, rng)
    network.fit_minibatch(batch)
    before, second = network.params.copy(), network._passes._programs[1]

    def fail(*args, **options):
        raise MemoryError("in the second thread")

    monkeypatch.setattr(second, "backward", fail)
    with pytest.raises(MemoryError, match="in the second thread"):
        network.fit_minibatch(batch)
    np.testing.assert_array_equal(network.params, before)
    monkeypatch.undo()
    network.fit_minibatch(batch)
    assert np.isfinite(network.params).all()


def test_a_score_that_is_no_number_is_refused(rng):
    network = mlp(updater=daskdl.Sgd(learning_rate=1e300))
    network.threads = 2
    with pytest.raises(DivergedError):
        network.fit(rows(rng), epochs=5)


def test_blas_has_its_threads_again(rng):
    with threadpool_limits(limits=2):
        network = mlp()
        network.threads = 2
        network.fit(rows(rng))
        found = [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]
    assert set(found) == {2}


def test_networks_are_pickled_without_threads(rng):
    network = mlp()
    network.threads = 2
    with network.keeping_threads():
        network.fit(rows(rng))
        copy = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(copy.params, network.params)
    assert copy.threads is None


def test_a_limit_of_the_process_is_obeyed(monkeypatch, rng):
    monkeypatch.setattr(joint_passes, "Team", None)
    with threadpool_limits(limits=1):
        mlp().fit(rows(rng))


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_threads_must_be_a_count(threads):
    with pytest.raises(OptionError, match="threads"):
        mlp().threads = threads
