"""The output layer of one-class networks: its loss, its window, and its threshold."""

import json
from pathlib import Path

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.dataset import DataSet
from daskdl.dialects import DL4J, EXACT, quirks_of
from daskdl.dl4j.network import model_zip
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from daskdl.nn.conf.values import with_quirks
from daskdl.nn.layers.one_class_loss import ScoreWindow, percentile
from tests.gradients import check_gradient
from tests.unit.layers.single import Single

ROWS = FeedForward(size=4)
LABELS = np.ones((6, 1))
RECORDED = Path(__file__).parents[2] / "data" / "one_class" / "four_epochs.json"


@pytest.fixture
def x(rng):
    return rng.standard_normal((6, 4))


def one_class(dialect=EXACT, **options):
    options = {"hidden_size": 3, "nu": 0.3, "activation": "sigmoid", **options}
    return Single(with_quirks(dl.OCNNOutput(**options), quirks_of(dialect)), ROWS)


def network(**options):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=ROWS,
            layers=[dl.OCNNOutput(**{"hidden_size": 3, "nu": 0.3, **options})],
            updater={"type": "sgd", "learning_rate": 0.1},
            dtype="float64",
        )
    )


@pytest.mark.parametrize("mask", [None, np.array([1.0, 0, 1, 1, 0.5, 0])])
@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "softmax", "swish"])
def test_gradients_are_those_of_the_loss(x, activation, mask):
    single = one_class(activation=activation, initial_r_value=0.05)
    n = single.params.size

    def loss_and_grad(vector):
        single.params[...] = vector[:n]
        single.forward(vector[n:].reshape(x.shape))
        grad_x = single.layer.backward_loss(LABELS, mask)
        gradient = np.concatenate([single.gradients, grad_x.ravel()])
        return single.layer.loss.score(LABELS, mask), gradient

    check_gradient(loss_and_grad, np.concatenate([single.params, x.ravel()]))


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "identity", "swish"])
def test_those_of_parameters_are_in_dl4j(x, activation):
    single = one_class(DL4J, activation=activation, initial_r_value=0.05)

    def loss_and_grad(vector):
        single.params[...] = vector
        single.forward(x)
        single.layer.backward_loss(LABELS)
        return single.layer.loss.score(LABELS), single.gradients

    check_gradient(loss_and_grad, single.params.copy())


@pytest.mark.parametrize(("dialect", "times"), [(EXACT, 6), (DL4J, 1)])
def test_the_loss_is_that_of_the_paper(x, dialect, times):
    """A sum over the examples, which the network divides; DL4J divides a mean."""
    single = one_class(dialect, nu=0.2)
    output = single.forward(x)
    w, v, r = (single.layer.run.params[name] for name in "wvr")
    below = np.maximum(0, r - output).mean() / 0.2
    expected = (w**2).sum() / 2 + (v**2).sum() / 2 + below - r[0]
    assert single.layer.loss.score(LABELS) == pytest.approx(times * expected)


def test_masked_examples_change_nothing(x):
    single, part = one_class(initial_r_value=0.5), one_class(initial_r_value=0.5)
    single.forward(x, mask=np.array([[1.0], [1], [1], [1], [0], [0]]))
    part.forward(x[:4])
    single.layer.backward_loss(LABELS)
    part.layer.backward_loss(LABELS[:4])
    np.testing.assert_allclose(single.gradients, part.gradients)
    expected = part.layer.loss.score(LABELS[:4])
    assert single.layer.loss.score(LABELS) == pytest.approx(expected)


def test_the_gradient_in_the_input_is_one_for_what_is_below_r_in_dl4j(x):
    single = one_class(DL4J)
    output = single.forward(x)
    single.layer.run.params["r"].fill(np.median(output))
    grad_x = single.layer.backward_loss(LABELS)
    expected = np.repeat(output < np.median(output), 4, axis=1)
    np.testing.assert_array_equal(grad_x, expected)


def test_where_nobody_asks_there_is_no_gradient_of_the_input(x):
    layer = one_class().layer
    layer.run.needs_grad_x = False
    layer.forward(x, training=True)
    assert layer.backward_loss(LABELS) is None


def test_each_example_has_its_distance_from_r(x):
    single = one_class(initial_r_value=0.5)
    output = single.forward(x)
    scores = single.layer.loss.score_examples(LABELS)
    np.testing.assert_allclose(scores, 0.5 - output[:, 0])


def test_labels_of_another_shape_are_refused(x):
    single = one_class()
    single.forward(x)
    with pytest.raises(ShapeError, match=r"'me': labels must have shape \(6, 1\), got"):
        single.layer.loss.score(np.ones((6, 2)))


def test_series_are_refused():
    with pytest.raises(OptionError, match="OCNNOutput needs rows or images"):
        dl.OCNNOutput(hidden_size=3).output_type(Recurrent(size=2))


@pytest.mark.parametrize(
    ("option", "value"), [("nu", 0), ("nu", 1.5), ("window_size", 0), ("n_out", 2)]
)
def test_options_that_cannot_be_are_refused(option, value):
    with pytest.raises(OptionError, match=rf"OCNNOutput\.{option}: must be"):
        dl.OCNNOutput(**{"hidden_size": 3, option: value})


def test_r_begins_with_its_option():
    assert one_class(initial_r_value=0.7).layer.run.params["r"] == 0.7


def test_r_may_be_drawn():
    single = one_class(initial_r_value=0.7, configure_r=False)
    assert single.layer.run.params["r"] not in (0.0, 0.7)


def column(*values):
    return np.array(values)[:, None]


def in_an_epoch(window, epoch, *minibatches):
    for scores in minibatches:
        window.begin_iteration(epoch)
        window.put(scores)


def test_a_window_keeps_the_last_scores_of_an_epoch():
    window = ScoreWindow(4, 0.2)
    in_an_epoch(window, 0, column(1.0, 2.0), column(3.0, 4.0, 5.0))
    window.begin_iteration(1)
    assert window.threshold == 2.0


def test_it_forgets_those_of_the_epoch_before():
    window = ScoreWindow(9, 0.1)
    in_an_epoch(window, 0, column(1.0, 2.0))
    in_an_epoch(window, 1, column(5.0), column(6.0))
    window.begin_iteration(2)
    assert window.threshold == 5.0


def test_a_minibatch_may_be_larger_than_the_window():
    window = ScoreWindow(2, 0.1)
    in_an_epoch(window, 0, column(1.0, 2.0, 3.0))
    window.begin_iteration(1)
    assert window.threshold == 2.0


def test_r_becomes_the_threshold_before_an_epoch_begins(x):
    """Score and gradients have the new one, which DL4J's gradients have not."""
    layer = one_class(initial_r_value=9.0).layer
    for epoch in (0, 1):
        layer.conf.begin_iteration(layer.run, epoch)
        output = layer.forward(x, training=True)
        layer.backward_loss(LABELS)
    expected = percentile(output[:, 0], 0.3)
    assert layer.run.params["r"][0] == expected
    assert layer.run.gradients["r"][0] == pytest.approx(
        (output < expected).sum() / 0.3 - 6
    )


def test_a_window_keeps_the_scores_of_the_first_epoch_in_dl4j():
    window = ScoreWindow(4, 1.0, quirks_of(DL4J))
    for scores in (column(1.0, 2.0), column(3.0, 4.0), column(5.0, 6.0)):
        window.begin_iteration(0)
        window.put(scores)
    window.begin_iteration(1)
    assert window.threshold == 4.0


def test_room_without_scores_counts_as_zeros_in_dl4j():
    window = ScoreWindow(9, 0.5, quirks_of(DL4J))
    window.begin_iteration(0)
    window.put(column(5.0, 6.0))
    window.begin_iteration(1)
    assert window.threshold == 0.0


def test_behind_the_first_epoch_each_minibatch_takes_the_first_places_in_dl4j():
    window = ScoreWindow(3, 1.0, quirks_of(DL4J))
    window.begin_iteration(0)
    window.put(column(1.0, 2.0, 3.0))
    for scores in (column(9.0, 9.0), column(4.0, 5.0)):
        window.begin_iteration(1)
        window.put(scores)
    window.begin_iteration(2)
    assert window.threshold == 5.0


def test_the_threshold_holds_for_one_iteration():
    window = ScoreWindow(3, 1.0)
    window.begin_iteration(0)
    window.put(column(1.0))
    window.begin_iteration(1)
    window.begin_iteration(1)
    assert window.threshold is None


def test_a_window_may_begin_in_any_epoch():
    window = ScoreWindow(2, 1.0)
    window.begin_iteration(7)
    assert window.threshold is None


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, 1.0), (0.009, 1.0), (0.1, 1.0), (0.5, 3.0), (0.3, 1.8), (0.9, 5.0), (1, 5)],
)
def test_percentile_interpolates(share, expected):
    values = np.array([5.0, 1.0, 4.0, 2.0, 3.0])
    assert percentile(values, share) == pytest.approx(expected)


@pytest.mark.parametrize(("dialect", "expected"), [(EXACT, 8.009), (DL4J, 1.0)])
def test_less_than_a_hundredth_is_none_in_dl4j(dialect, expected):
    window = ScoreWindow(1000, 0.008, quirks_of(dialect))
    in_an_epoch(window, 0, np.arange(1.0, 1001)[:, None])
    window.begin_iteration(1)
    assert window.threshold == pytest.approx(expected, abs=0.01)


def test_four_epochs_are_those_of_dl4j():
    """Recorded from the real one; see tests/dl4j/test_one_class.py."""
    recorded = json.loads(RECORDED.read_text("utf-8"))
    layers = [
        dl.Dense(n_out=4),
        dl.OCNNOutput(hidden_size=3, activation="sigmoid", nu=0.2, window_size=20),
    ]
    conf = dl.MultiLayerConfiguration(
        input=ROWS,
        layers=layers,
        activation="tanh",
        updater={"type": "adam", "learning_rate": 0.01},
        dtype="float64",
        dialect=DL4J,
    )
    trained = dl.MultiLayerNetwork(conf, params=np.array(recorded["start"]))
    batches = [DataSet(x, np.ones((len(x), 1))) for x in recorded["features"]]
    trained.fit(batches, epochs=4)
    np.testing.assert_allclose(trained.params, recorded["trained"], atol=1e-12)
    assert trained.score == pytest.approx(recorded["score"], rel=1e-12)


def test_training_goes_on_from_a_file(x, tmp_path):
    """The window is not stored: r stays until an epoch has filled a new one."""
    first = network(window_size=6)
    first.fit(DataSet(x, LABELS), epochs=3)
    model_zip.save(first, tmp_path / "model.zip")
    again = dl.load(str(tmp_path / "model.zip"))
    np.testing.assert_array_equal(again.params, first.params)
    again.fit_minibatch(DataSet(x, LABELS))
    again.epoch_count += 1
    again.fit_minibatch(DataSet(x, LABELS))
    assert np.isfinite(again.params).all()


def test_anomalies_score_below_the_others(rng):
    normal = rng.standard_normal((200, 4)) * 0.3 + 2
    trained = network(nu=0.05, window_size=200, activation="sigmoid")
    data = DataSet(normal, np.ones((200, 1)))
    trained.fit(data, epochs=40, batch_size=20)
    odd = rng.standard_normal((50, 4)) * 0.3 - 2
    assert trained.output(odd).max() < trained.output(normal).min()
