"""What callers of a network rely on: determinism, copies, vectors, passes, scores."""

import copy
import pickle

import numpy as np
import pytest

from daskdl import (
    BatchNormalization,
    CenterLossOutput,
    Dense,
    Dropout,
    LossLayer,
    Output,
)
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.dialects import EXACT
from daskdl.errors import DataError, OptionError, ShapeError
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.dialects import DL4J
from tests.unit.networks.small import mlp, rnn, rows, sequence, two_in_two_out


@pytest.fixture
def data(rng):
    return rows(rng)


@pytest.fixture
def two_outputs(rng):
    """A graph and data for it, of which a mask drops labels of the first output."""
    features = [rng.normal(size=(6, size)) for size in (4, 2)]
    labels = [np.arange(6.0)[:, None], np.eye(3)[rng.integers(3, size=6)]]
    masks = [np.array([[1.0]] * 4 + [[0.0]] * 2), None]
    return two_in_two_out(), MultiDataSet(features, labels, labels_masks=masks)


# Same in, same out


def test_the_same_configuration_and_data_give_the_same_bits(data):
    first, second = (
        mlp(keep_probability=0.5).fit(data, epochs=3, batch_size=4) for _ in range(2)
    )
    assert first.params.tobytes() == second.params.tobytes()


def test_another_seed_gives_other_weights():
    assert not np.array_equal(mlp(seed=1).params, mlp(seed=2).params)


def test_a_further_layer_does_not_change_the_weights_of_the_first():
    short = sequence(FeedForward(size=4), Dense(n_out=5), Output(n_out=3))
    long = sequence(
        FeedForward(size=4), Dense(n_out=5), Dense(n_out=5), Output(n_out=3)
    )
    np.testing.assert_array_equal(short.param_table()["0_W"], long.param_table()["0_W"])


def test_dropout_differs_between_iterations_and_workers(data):
    network = mlp(keep_probability=0.5)
    first = network.compute_gradients(data)
    other_worker = network.compute_gradients(data, rng_stream=1)
    network.iteration_count = 1
    later = network.compute_gradients(data)
    assert len({first, other_worker, later}) == 3


def test_dropout_of_an_iteration_can_be_drawn_again(data):
    network = mlp(keep_probability=0.5)
    assert network.compute_gradients(data) == network.compute_gradients(data)


def test_inference_drops_nothing(data):
    network = sequence(
        FeedForward(size=4), Dropout(keep_probability=0.1), Output(n_out=3)
    )
    first = network.output(data.features)
    np.testing.assert_array_equal(network.output(data.features), first)


def test_features_and_labels_are_not_changed(data):
    before = data.features.copy(), data.labels.copy()
    mlp(dtype="float64").fit(data)
    np.testing.assert_array_equal(data.features, before[0])
    np.testing.assert_array_equal(data.labels, before[1])


# The three vectors


def test_parameters_are_views_of_the_vector():
    network = mlp()
    network.params[...] = 0
    network.param_table()["1_b"][...] = 7
    assert network.params[-3:].tolist() == [7, 7, 7]


@pytest.mark.parametrize("name", ["params", "gradients", "updater_state"])
def test_the_vectors_cannot_be_replaced(name):
    network = mlp()
    with pytest.raises(AttributeError):
        setattr(network, name, np.zeros(3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_is_computed_in_the_type_of_the_configuration(dtype, data):
    network = mlp(dtype=dtype).fit(data)
    arrays = [network.params, network.gradients, network.updater_state]
    assert {a.dtype.name for a in [*arrays, network.output(data.features)]} == {dtype}


def test_given_parameters_are_copied():
    source = mlp().params.copy()
    network = MultiLayerNetwork(mlp().conf, source)
    network.params[...] = 0
    assert source.any()


def test_parameters_of_another_network_are_refused():
    with pytest.raises(ShapeError, match="params must have 43 elements, got 42"):
        MultiLayerNetwork(mlp().conf, np.zeros(42))


def test_init_does_not_draw_again():
    network = mlp()
    network.params[...] = 5
    assert set(network.init().params) == {5}


def test_the_update_is_made_in_the_gradient_vector(data):
    network = mlp()
    network.compute_gradients(data)
    assert network.compute_update() is network.gradients


def test_a_training_step_is_its_three_parts(data):
    whole, parts = mlp(), mlp()
    whole.fit_minibatch(data)
    parts.compute_gradients(data)
    parts.apply_update(parts.compute_update())
    np.testing.assert_array_equal(parts.params, whole.params)


def test_a_second_step_allocates_no_buffers(data):
    network = mlp()
    network.fit_minibatch(data)
    held = network.workspace.nbytes
    network.fit_minibatch(data)
    assert network.workspace.nbytes == held


def test_running_statistics_are_no_business_of_updater_or_regularization(rng):
    network = sequence(
        FeedForward(size=4),
        BatchNormalization(decay=0.75, use_log_std=False),
        Output(n_out=3),
        updater={"type": "sgd", "learning_rate": 100.0},
        l2=5.0,
        dtype="float64",
    )
    data = rows(rng)
    network.fit_minibatch(data)
    np.testing.assert_allclose(
        network.param_table()["0_mean"], 0.25 * data.features.mean(axis=0)
    )
    np.testing.assert_allclose(
        network.param_table()["0_var"], 0.75 + 0.25 * data.features.var(axis=0)
    )


# Copies


@pytest.mark.parametrize(
    "copied",
    [lambda n: n.clone(), copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n))],
    ids=["clone", "deepcopy", "pickle"],
)
class TestCopies:
    def test_goes_on_as_the_original(self, copied, data):
        network = mlp(keep_probability=0.5).fit(data, epochs=2)
        twin = copied(network)
        twin.fit(data)
        np.testing.assert_array_equal(twin.params, network.fit(data).params)
        assert (twin.iteration_count, twin.epoch_count) == (3, 3)

    def test_shares_no_memory(self, copied, data):
        network = mlp().fit(data)
        before = network.params.copy(), network.updater_state.copy()
        copied(network).fit(data)
        np.testing.assert_array_equal(network.params, before[0])
        np.testing.assert_array_equal(network.updater_state, before[1])

    def test_its_layers_see_its_own_vector(self, copied, data):
        twin = copied(mlp())
        twin.params[...] = 0
        np.testing.assert_allclose(twin.output(data.features), 1 / 3)


# Passes over data


def test_one_object_is_one_minibatch(data):
    assert mlp().fit([data, data]).iteration_count == 2


def test_batch_size_cuts_a_list_as_a_whole(data):
    assert mlp().fit([data, data], batch_size=5).iteration_count == 5


def test_batch_size_cuts_what_comes_one_after_the_other_by_itself(data):
    assert mlp().fit(iter([data, data]), batch_size=5).iteration_count == 6


def test_every_pass_counts_as_an_epoch(data):
    assert mlp().fit([data, data], epochs=3).epoch_count == 3


def test_an_iterator_is_read_to_its_end(data):
    assert mlp().fit(data.batches(4)).iteration_count == 3


def test_an_iterator_lasts_for_one_epoch_only(data):
    with pytest.raises(OptionError, match="read again for 2 passes, got"):
        mlp().fit(data.batches(4), epochs=2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "fit: data must hold a minibatch, got none"),
        (3, "data must be a DataSet, a MultiDataSet, a pair .* of them, got int"),
        (
            [np.zeros((2, 4))],
            "a minibatch must be a DataSet, .* arrays, got ndarray",
        ),
        ([(1, 2, 3)], r"a minibatch must be .* got tuple of int, int, int\.$"),
        (
            ([np.zeros((2, 4))] * 2, np.zeros((2, 3))),
            r"got list\. Arrays of several inputs go in as MultiDataSet\(",
        ),
    ],
)
def test_what_is_no_data_is_refused(given, message):
    with pytest.raises(DataError, match=message):
        mlp().fit(given)


@pytest.mark.parametrize("value", [0, 1.5])
@pytest.mark.parametrize("option", ["epochs", "batch_size"])
def test_counts_must_be_whole_and_positive(option, value, data):
    with pytest.raises(OptionError, match=f"{option} must be a whole.*got {value}"):
        mlp().fit(data, **{option: value})


def test_what_is_no_configuration_is_refused():
    with pytest.raises(OptionError, match=r"conf must be a MultiLayerConf.*NoneType"):
        MultiLayerNetwork(None)


def test_training_lowers_the_score(data):
    network = mlp(updater={"type": "adam", "learning_rate": 0.05})
    before = network.compute_score(data)
    assert network.fit(data, epochs=100).compute_score(data) < before / 3


# Scores and evaluation


def test_the_score_is_the_mean_loss_plus_regularization(data):
    network = mlp(l2=0.5, dtype="float64")
    weights = [network.param_table()[name] for name in ("0_W", "1_W")]
    penalty = 0.25 * sum((w**2).sum() for w in weights)
    losses = network.score_examples(data)
    assert network.compute_score(data) == pytest.approx(losses.mean() + penalty)
    assert network.compute_gradients(data) == pytest.approx(losses.mean() + penalty)


def test_scores_of_examples_can_include_regularization(data):
    network = mlp(l1=0.5, dtype="float64")
    difference = network.score_examples(
        data, include_regularization=True
    ) - network.score_examples(data)
    weights = [network.param_table()[name] for name in ("0_W", "1_W")]
    penalty = 0.5 * sum(np.abs(w).sum() for w in weights)
    np.testing.assert_allclose(difference, penalty)


def test_evaluate_counts_what_output_predicts(data):
    network = mlp()
    predicted = network.output(data.features).argmax(axis=1)
    accuracy = (predicted == data.labels.argmax(axis=1)).mean()
    assert network.evaluate(data.batches(5)).accuracy() == pytest.approx(accuracy)


def test_evaluate_leaves_masked_time_steps_out(rng):
    series = rng.standard_normal((4, 3, 5))
    labels = np.eye(2)[rng.integers(0, 2, (4, 5))].transpose(0, 2, 1)
    mask = np.zeros((4, 5))
    mask[:, :2] = 1
    found = rnn().evaluate(DataSet(series, labels, None, mask))
    assert found.confusion_matrix.sum() == 8


def test_evaluate_takes_another_evaluation(data):
    evaluation = RegressionEvaluation()
    assert mlp().evaluate(data, evaluation) is evaluation


def test_evaluate_needs_an_evaluation(data):
    with pytest.raises(OptionError, match="evaluation must be a Evaluable, got dict"):
        mlp().evaluate(data, {})


def test_evaluate_is_of_the_first_of_several_outputs(two_outputs):
    net, data = two_outputs
    expected = RegressionEvaluation()
    expected.eval(data.labels[0], net.output(data.features)[0], data.labels_masks[0])
    assert net.evaluate(data).to_json() == expected.to_json()


def test_a_summary_lists_layers_and_parameters():
    lines = mlp().summary().splitlines()
    assert lines[0] == "MultiLayerNetwork, 43 parameters"
    assert lines[3].split("  ")[:2] == ["layer0", "Dense"]


@pytest.mark.parametrize("dialect", [EXACT, DL4J])
@pytest.mark.parametrize(
    ("last", "may_be_mean"),
    [
        (Output(n_out=3), False),
        (LossLayer(activation="softmax"), True),
        (CenterLossOutput(n_out=3), True),
    ],
)
def test_scores_without_mini_batch_are_sums_but_some_in_dl4j(
    last, may_be_mean, dialect, rng
):
    """The loss of layers without weights, and of centers."""
    is_mean = may_be_mean and dialect == DL4J
    data = rows(rng)
    nets = [
        sequence(
            FeedForward(size=4),
            Dense(n_out=3),
            last,
            mini_batch=mini_batch,
            dialect=dialect,
        )
        for mini_batch in (True, False)
    ]
    nets[1].params[...] = nets[0].params
    mean, found = (net.compute_gradients(data) for net in nets)
    assert found == pytest.approx(mean if is_mean else 12 * mean)
