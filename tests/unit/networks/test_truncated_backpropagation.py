"""Training in stretches of time steps: what is cut, and what is carried over."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.dialects import EXACT
from daskdl.errors import DataError, OptionError, ShapeError
from tests.dialects import DL4J

BATCH, STEPS, LENGTH = 3, 7, 3
SERIES = dl.Recurrent(size=3)
STILL = {"type": "sgd", "learning_rate": 0.0}


def network(*layers, length=LENGTH, input_type=SERIES, **options):
    layers = layers or (dl.LSTM(n_out=4), dl.RnnOutput(n_out=2))
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=input_type,
            layers=layers,
            backprop_type="truncated_bptt",
            tbptt_fwd_length=length,
            dtype="float64",
            **{"updater": {"type": "sgd", "learning_rate": 0.1}, **options},
        )
    )


@pytest.fixture
def data(rng):
    labels = np.eye(2)[rng.integers(0, 2, (BATCH, STEPS))].transpose(0, 2, 1)
    features = rng.standard_normal((BATCH, 3, STEPS))
    masks = np.ones((BATCH, STEPS)), np.ones((BATCH, STEPS))
    return dl.DataSet(features, labels, *masks)


def cut(data, start, stop):
    return dl.DataSet(
        data.features[:, :, start:stop],
        data.labels[:, :, start:stop],
        data.features_mask[:, start:stop],
        data.labels_mask[:, start:stop],
    )


def test_each_stretch_is_an_iteration_and_the_last_may_be_short(data):
    net = network()
    lengths = [segment.features.shape[2] for segment in net.segments(data)]
    assert lengths == [3, 3, 1]
    net.fit_minibatch(data)
    assert net.iteration_count == 3


@pytest.mark.parametrize(
    "layer", [dl.LSTM(n_out=4), dl.GravesLSTM(n_out=4), dl.SimpleRnn(n_out=4)]
)
def test_what_comes_out_does_not_know_of_the_cuts(data, layer):
    """With updates of nothing, the scores add up to that of whole series."""
    output = dl.RnnOutput(n_out=2)
    cut_net = network(layer, output, updater=STILL)
    whole = dl.MultiLayerNetwork(
        cut_net.conf.replaced(backprop_type="standard"), cut_net.params
    )
    scores = [cut_net.compute_gradients(part) for part in cut_net.segments(data)]
    np.testing.assert_allclose(sum(scores), whole.compute_gradients(data), rtol=1e-12)


def test_nothing_is_carried_over_to_the_next_minibatch(data):
    once, twice = network(updater=STILL), network(updater=STILL)
    twice.fit_minibatch(data)
    assert once.fit_minibatch(data) == twice.fit_minibatch(data)


def test_training_forgets_the_state_of_prediction(data):
    net = network(updater=STILL)
    first = net.rnn_time_step(data.features)
    net.fit_minibatch(data)
    np.testing.assert_array_equal(net.rnn_time_step(data.features), first)


def test_prediction_sees_whole_series_from_zeros(data):
    net = network(updater=STILL)
    before = net.output(data.features)
    net.fit_minibatch(data)
    np.testing.assert_array_equal(net.output(data.features), before)


def test_an_error_in_a_stretch_ends_the_carrying(data):
    net = network(updater=STILL)
    before = net.output(data.features)
    broken = dl.DataSet(data.features.copy(), data.labels)
    broken.features[:, :, 4] = np.nan
    # In the second stretch of three steps.
    with pytest.raises(DataError, match=r"got nan in row 0 at \(0, 1\)"):
        net.fit_minibatch(broken)
    np.testing.assert_array_equal(net.output(data.features), before)
    assert net.iteration_count == 1


def test_stretches_longer_than_the_series_train_them_whole(data):
    cut_net = network(length=20)
    whole = dl.MultiLayerNetwork(
        cut_net.conf.replaced(backprop_type="standard"), cut_net.params
    )
    assert cut_net.fit_minibatch(data) == whole.fit_minibatch(data)
    np.testing.assert_array_equal(cut_net.params, whole.params)


def test_masks_are_cut_like_what_they_mask(data):
    net = network()
    parts = list(net.segments(data))
    assert [part.features_mask.shape for part in parts] == [(3, 3), (3, 3), (3, 1)]
    assert [part.labels_mask.shape for part in parts] == [(3, 3), (3, 3), (3, 1)]


def test_masks_of_single_outputs_are_cut_along_time(data):
    net = network(dl.LSTM(n_out=4), dl.RnnOutput(n_out=2, loss="mse"))
    single = dl.DataSet(
        data.features, data.labels, labels_mask=np.ones_like(data.labels)
    )
    shapes = [part.labels_mask.shape for part in net.segments(single)]
    assert shapes == [(3, 2, 3), (3, 2, 3), (3, 2, 1)]


def test_the_other_data_format_is_cut_along_its_time(data):
    net = network(input_type=SERIES.replaced(data_format="NWC"))
    turned = dl.DataSet(
        data.features.transpose(0, 2, 1), data.labels.transpose(0, 2, 1)
    )
    assert [part.features.shape[1] for part in net.segments(turned)] == [3, 3, 1]


def test_series_of_one_length_may_be_cut(data):
    net = network(input_type=SERIES.replaced(time_steps=STEPS))
    net.fit_minibatch(data)
    assert net.iteration_count == 3


def test_series_of_another_length_are_still_refused(data):
    net = network(input_type=SERIES.replaced(time_steps=STEPS))
    with pytest.raises(ShapeError, match=r"features must have shape \(batch, 3, 7\)"):
        net.fit_minibatch(cut(data, 0, 5))


def test_an_exchange_hears_of_an_update_for_each_stretch_and_ends_once(data):
    class Counting:
        adds_up_gradients = False
        updates = done = 0

        def updated(self, network):
            self.updates += 1

        def iteration_done(self, network, examples):
            self.done += 1

    exchange, net, alone = Counting(), network(), network()
    score = net.fit_minibatch(data, exchange=exchange)
    assert (exchange.updates, exchange.done) == (3, 1)
    assert score == alone.fit_minibatch(data)
    np.testing.assert_array_equal(net.params, alone.params)


def test_labels_that_are_no_series_are_refused(rng):
    """DL4J trains nothing, and says so in its log only."""
    net = network(dl.LSTM(n_out=4), dl.GlobalPooling(), dl.Output(n_out=2))
    data = dl.DataSet(rng.standard_normal((3, 3, 7)), np.eye(2)[[0, 1, 0]])
    with pytest.raises(ShapeError, match=r"labels must be time series for backprop"):
        net.fit_minibatch(data)


@pytest.mark.parametrize(
    "layer",
    [
        dl.Bidirectional(layer=dl.LSTM(n_out=4)),
        dl.LastTimeStep(layer=dl.Bidirectional(layer=dl.LSTM(n_out=4))),
        dl.GravesBidirectionalLSTM(n_out=4),
    ],
)
def test_layers_that_read_from_both_ends_are_refused(layer):
    with pytest.raises(
        OptionError, match=r"layers\[0\]: must not be in a network with backprop_type"
    ):
        network(layer, dl.RnnOutput(n_out=2))


def test_mask_zero_masks_here_as_well(data):
    """DL4J calls the layer inside of it and forgets the mask."""
    net = network(
        dl.MaskZero(layer=dl.SimpleRnn(n_out=4)), dl.RnnOutput(n_out=2), updater=STILL
    )
    data.features[0, :, 4] = data.labels_mask[0, 4] = 0
    *_, second, _ = [net.compute_gradients(part) for part in net.segments(data)]
    whole = dl.MultiLayerNetwork(
        net.conf.replaced(backprop_type="standard"), net.params
    )
    found = whole.score_and_output(data)[1][0][:, :, 3:6]
    logs = np.log(found, where=found > 0, out=np.zeros_like(found))
    losses = -(logs * data.labels[:, :, 3:6]).sum()
    np.testing.assert_allclose(second, losses / BATCH, rtol=1e-10)


def graph(**vertices):
    return dl.ComputationGraph(
        dl.ComputationGraphConfiguration(
            inputs={"in": SERIES, "row": dl.FeedForward(size=2)},
            vertices={
                "l": dl.LSTM(n_out=4, inputs=["in"]),
                "dup": dl.DuplicateToTimeSeriesVertex(input_name="in", inputs=["row"]),
                "m": dl.MergeVertex(inputs=["l", "dup"]),
                "out": dl.RnnOutput(n_out=2, inputs=["m"]),
                **vertices,
            },
            outputs=[*({"last_out"} & set(vertices)), "out"],
            backprop_type="truncated_bptt",
            tbptt_fwd_length=LENGTH,
            dtype="float64",
        )
    )


def test_in_a_graph_what_is_no_series_comes_with_every_stretch(rng, data):
    net = graph()
    row = rng.standard_normal((BATCH, 2))
    batch = dl.MultiDataSet([data.features, row], [data.labels])
    parts = list(net.segments(batch))
    assert [part.features[0].shape[2] for part in parts] == [3, 3, 1]
    assert all(part.features[1] is parts[0].features[1] for part in parts)
    net.fit_minibatch(batch)
    assert net.iteration_count == 3


def test_in_a_graph_labels_that_are_no_series_come_with_every_stretch(rng, data):
    net = graph(
        last=dl.LastTimeStepVertex(inputs=["l"]),
        last_out=dl.Output(n_out=2, inputs=["last"]),
    )
    labels = np.eye(2)[[0, 1, 0]]
    batch = dl.MultiDataSet(
        [data.features, rng.standard_normal((BATCH, 2))], [labels, data.labels]
    )
    assert [part.labels[0].shape for part in net.segments(batch)] == [(3, 2)] * 3


def test_series_of_different_lengths_are_refused(rng, data):
    """DL4J trains nothing, and says so in its log only."""
    net = dl.ComputationGraph(
        dl.ComputationGraphConfiguration(
            inputs={"a": SERIES, "b": SERIES},
            vertices={
                "la": dl.LSTM(n_out=2, inputs=["a"]),
                "lb": dl.LSTM(n_out=2, inputs=["b"]),
                "oa": dl.RnnOutput(n_out=2, inputs=["la"]),
                "ob": dl.RnnOutput(n_out=2, inputs=["lb"]),
            },
            outputs=["oa", "ob"],
            backprop_type="truncated_bptt",
        )
    )
    batch = dl.MultiDataSet(
        [data.features, data.features[:, :, :5]], [data.labels, data.labels[:, :, :5]]
    )
    with pytest.raises(ShapeError, match=r"series must have one length, got \[5, 7\]"):
        net.fit_minibatch(batch)


@pytest.mark.parametrize("wrapper", [dl.Frozen, dl.FrozenWithBackprop])
@pytest.mark.parametrize(
    ("layer", "forgets"),
    [
        (dl.LSTM(n_out=4), False),
        (dl.GravesLSTM(n_out=4), True),
        (dl.SimpleRnn(n_out=4), False),
        (dl.MaskZero(layer=dl.SimpleRnn(n_out=4)), True),
    ],
)
@pytest.mark.parametrize("dialect", [EXACT, DL4J])
def test_some_layers_in_wrappers_begin_each_stretch_anew_in_dl4j(
    data, wrapper, layer, forgets, dialect
):
    options = {"updater": STILL, "dialect": dialect}
    net = network(wrapper(layer=layer), dl.RnnOutput(n_out=2), **options)
    last = net.fit_minibatch(data)
    alone = network(*net.conf.layers, **options)
    alone.params[...] = net.params
    begins_anew = alone.fit_minibatch(cut(data, 6, 7)) == last
    assert begins_anew is (forgets and dialect == DL4J)
