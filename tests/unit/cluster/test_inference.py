"""Evaluation and predictions with tasks that run where they are submitted."""

import numpy as np
import pytest

from daskdl import LSTM, Output, RnnOutput
from daskdl.cluster.inference import (
    InferenceTask,
    predict_source,
    scan_on,
)
from daskdl.cluster.prediction_columns import classes_of, prediction_columns
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.hybrid import MultiNormalizerHybrid
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.fitting.preparation import class_axes
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.unit.cluster.inline_client import InlineClient
from tests.unit.cluster.scoring import score_source
from tests.unit.networks.small import rnn, sequence, two_in_two_out

TASK = InferenceTask(batch_size=4)


@pytest.fixture
def network():
    return MultiLayerNetwork(
        MultiLayerConfiguration(
            layers=[Output(n_out=3, loss="mcxent")], input=FeedForward(size=5)
        )
    ).init()


@pytest.fixture
def whole(rng):
    features = rng.normal(size=(30, 5)).astype(np.float32)
    labels = np.eye(3, dtype=np.float32)[rng.integers(0, 3, 30)]
    return DataSet(features, labels, keys=np.arange(30))


@pytest.fixture
def source(whole):
    return open_source(list(whole.batches(7)), SourceOptions())


class RecordingSink:
    """Keeps what is written."""

    def __init__(self):
        self.parts = {}

    def write_part(self, index, columns):
        self.parts[index] = columns
        return f"part {index}"


def test_every_partition_is_predicted_in_its_order(network, source, whole):
    predicted = predict_source(InlineClient(), network, source, None, TASK)
    keys = np.concatenate([entry.keys for entry in predicted])
    np.testing.assert_array_equal(keys, whole.keys)


def test_predictions_are_those_of_the_network(network, source, whole):
    predicted = predict_source(InlineClient(), network, source, None, TASK)
    outputs = np.concatenate([entry.outputs[0] for entry in predicted])
    np.testing.assert_allclose(outputs, network.output(whole.features), rtol=1e-6)


def test_predictions_come_in_the_units_of_the_labels(network, source, whole):
    normalizer = MultiNormalizerHybrid().min_max_scale_all_outputs(0, 2).fit(whole)
    task = InferenceTask(batch_size=4, normalizer=normalizer)
    predicted = predict_source(InlineClient(), network, source, None, task)
    outputs = np.concatenate([entry.outputs[0] for entry in predicted])
    expected = network.output(whole.features) / 2
    np.testing.assert_allclose(outputs, expected, rtol=1e-6)


def test_a_sink_gets_one_part_a_partition(network, source):
    sink = RecordingSink()
    predicted = predict_source(InlineClient(), network, source, sink, TASK)
    assert [entry.path for entry in predicted] == [f"part {n}" for n in range(5)]
    assert sorted(sink.parts) == [0, 1, 2, 3, 4]


def test_what_was_written_is_not_sent_back_as_well(network, source):
    predicted = predict_source(InlineClient(), network, source, RecordingSink(), TASK)
    assert all(entry.outputs == () for entry in predicted)


def test_a_partition_that_is_missing_or_double_is_refused(network, source):
    client = InlineClient(answer=lambda results: [*results, results[0]])
    with pytest.raises(DataError, match=r"predicted once, got 6 results for 5 partit"):
        predict_source(client, network, source, None, TASK)


def test_the_evaluation_is_that_of_one_process(network, source, whole):
    scored = score_source(InlineClient(), network, source, [Evaluation()], TASK)
    np.testing.assert_array_equal(
        scored.evaluations[0].confusion_matrix,
        network.evaluate(whole).confusion_matrix,
    )


def test_the_loss_is_the_sum_over_all_examples(network, source, whole):
    scored = score_source(InlineClient(), network, source, [], TASK)
    expected = network.score_examples(whole).sum()
    assert scored.loss_sum == pytest.approx(expected, rel=1e-5)
    assert scored.examples == 30


def test_the_callers_evaluations_stay_empty(network, source):
    given = Evaluation(3)
    score_source(InlineClient(), network, source, [given], TASK)
    assert given.confusion_matrix.sum() == 0


def test_a_scan_has_one_task_a_partition(source):
    client = InlineClient()
    facts = scan_on(client)(source.partitions, {"statistics": False})
    assert [entry.rows for entry in facts] == [7, 7, 7, 7, 2]
    assert client.submitted == 5


def test_few_partitions_make_few_tasks(network, whole):
    client = InlineClient()
    predict_source(client, network, open_source([whole], SourceOptions()), None, TASK)
    assert client.submitted == 1  # which carries the network


def test_the_class_of_one_output_is_whether_it_exceeds_a_half():
    np.testing.assert_array_equal(classes_of(np.array([[0.4], [0.6]])), [0.0, 1.0])


def test_the_class_of_several_outputs_is_the_largest():
    np.testing.assert_array_equal(classes_of(np.array([[0.1, 0.7, 0.2]])), [1.0])


def test_further_outputs_have_a_number():
    output = np.array([[0.3, 0.7]])
    columns = prediction_columns({"id": ["a"]}, [output, output], [1, 1])
    assert list(columns) == [
        "id",
        "prediction",
        "probability",
        "prediction_1",
        "probability_1",
    ]


def test_a_regression_of_one_number_is_one_column():
    columns = prediction_columns({"id": ["a"]}, [np.array([[2.5]])], [None])
    np.testing.assert_array_equal(columns["prediction"], [2.5])


def test_a_class_beside_a_regression_stays_one():
    outputs = [np.array([[0.3, 0.7]]), np.array([[2.5]])]
    columns = prediction_columns({"id": ["a"]}, outputs, [1, None])
    assert list(columns) == ["id", "prediction", "probability", "prediction_1"]


@pytest.mark.parametrize("axis", [1, -1])
def test_each_time_step_has_a_class(axis):
    probabilities = np.moveaxis(np.eye(3)[[[2, 0, 1, 1]]], -1, axis)
    columns = prediction_columns({"id": ["a"]}, [probabilities], [axis])
    np.testing.assert_array_equal(columns["prediction"], [[2, 0, 1, 1]])
    np.testing.assert_array_equal(columns["probability"], [probabilities.ravel()])


@pytest.mark.parametrize("data_format", ["NCW", "NWC"])
def test_the_axis_of_classes_is_that_of_the_data_format(data_format):
    assert class_axes(rnn(data_format)) == [1 if data_format == "NCW" else -1]
    assert class_axes(two_in_two_out()) == [None, -1]


def test_a_partition_without_examples_has_all_columns(network, whole):
    sink = RecordingSink()
    source = open_source([whole.slice(0, 3), whole.slice(0, 0)], SourceOptions())
    predict_source(InlineClient(), network, source, sink, TASK)
    shapes = [np.shape(sink.parts[1][name]) for name in sink.parts[0]]
    assert shapes == [(0,), (0,), (0, 3)]


def test_series_without_examples_have_all_columns(rng):
    sink = RecordingSink()
    series = DataSet(rng.standard_normal((2, 3, 5)), keys=np.arange(2))
    options = SourceOptions(require_labels=False)
    source = open_source([series, series.slice(0, 0)], options)
    predict_source(InlineClient(), rnn(), source, sink, TASK)
    dimensions = [
        [np.ndim(column) for column in sink.parts[part].values()] for part in (0, 1)
    ]
    assert dimensions == [[1, 2, 2], [1, 2, 2]]


def test_classes_as_numbers_are_evaluated(whole):
    sparse = MultiLayerNetwork(
        MultiLayerConfiguration(
            layers=[Output(n_out=3, loss="sparse_mcxent")], input=FeedForward(size=5)
        )
    )
    numbers = whole.labels.argmax(axis=1)[:, np.newaxis]
    source = open_source([DataSet(whole.features, numbers)], SourceOptions())
    scored = score_source(InlineClient(), sparse, source, [Evaluation()], TASK)
    expected = Evaluation()
    expected.eval(whole.labels, sparse.output(whole.features))
    np.testing.assert_array_equal(
        scored.evaluations[0].confusion_matrix, expected.confusion_matrix
    )


def test_classes_of_time_steps_as_numbers_are_evaluated(rng):
    sparse = sequence(
        Recurrent(size=3), LSTM(n_out=4), RnnOutput(n_out=3, loss="sparse_mcxent")
    )
    x, numbers = rng.standard_normal((4, 3, 5)), rng.integers(0, 3, (4, 1, 5))
    source = open_source([DataSet(x, numbers)], SourceOptions())
    scored = score_source(InlineClient(), sparse, source, [Evaluation()], TASK)
    hits = (sparse.output(x).argmax(axis=1) == numbers[:, 0]).mean()
    assert scored.evaluations[0].accuracy() == pytest.approx(hits)


def test_steps_that_the_features_mask_are_not_counted(rng):
    network, labels = rnn(), np.eye(2)[rng.integers(0, 2, (4, 5))].swapaxes(1, 2)
    mask = (np.arange(5) < np.array([[5], [1], [3], [2]])).astype(float)
    whole = DataSet(rng.standard_normal((4, 3, 5)), labels, features_mask=mask)
    source = open_source([whole], SourceOptions())
    scored = score_source(InlineClient(), network, source, [Evaluation()], TASK)
    found = scored.evaluations[0].confusion_matrix
    assert found.sum() == mask.sum()
    np.testing.assert_array_equal(found, network.evaluate(whole).confusion_matrix)


def test_the_first_of_several_outputs_is_evaluated_as_in_one_process(rng):
    network = two_in_two_out()
    labels = [np.arange(4.0)[:, None], np.eye(3)[[0, 1, 2, 0]]]
    features = [rng.normal(size=(4, size)) for size in (4, 2)]
    whole = MultiDataSet(features, labels, labels_masks=[[[1], [1], [0], [0]], None])
    source = open_source([whole], SourceOptions())
    empty = [RegressionEvaluation()]
    scored = score_source(InlineClient(), network, source, empty, TASK)
    assert scored.evaluations[0].to_json() == network.evaluate(whole).to_json()


def test_a_loss_of_minibatches_is_told(rng):
    network = sequence(
        FeedForward(size=4),
        Output(n_out=1, activation="sigmoid", loss="fmeasure"),
        l2={"type": "exponential", "initial_value": 0.5, "gamma": 0.5},
    )
    network.iteration_count = 3
    data = DataSet(rng.standard_normal((8, 4)), rng.integers(0, 2, (8, 1)))
    source = open_source([data], SourceOptions())
    task = InferenceTask(batch_size=8)
    scored = score_source(InlineClient(), network, source, [Evaluation()], task)
    # Without what l2 adds; as in DL4J it is divided by the number of examples too.
    regularization = network.plan.regularization_score(network.params, iteration=3)
    expected = network.compute_score(data) - regularization
    assert regularization > 0
    assert scored.loss_sum / scored.examples == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("loss", ["mcxent", "sparse_mcxent"])
@pytest.mark.parametrize("form", [(30,), (30, 1)])
def test_numbers_of_classes_count_as_in_one_process(loss, form, whole):
    network = MultiLayerNetwork(
        MultiLayerConfiguration(
            layers=[Output(n_out=3, loss=loss)], input=FeedForward(size=5)
        )
    )
    numbers = whole.labels.argmax(axis=1).reshape(form)
    given = open_source((whole.features, numbers))
    scored = score_source(InlineClient(), network, given, [Evaluation()], TASK)
    expected = network.evaluate((whole.features, numbers))
    assert scored.evaluations[0].accuracy() == expected.accuracy()
    one_hot = network if loss == "sparse_mcxent" else network.clone()
    wanted = numbers if loss == "sparse_mcxent" else whole.labels
    assert scored.loss_sum == pytest.approx(
        one_hot.score_examples((whole.features, wanted)).sum(), rel=1e-5
    )


def test_a_column_without_its_axis_counts_as_in_one_process(whole):
    network = MultiLayerNetwork(
        MultiLayerConfiguration(
            layers=[Output(n_out=1, loss="mse", activation="identity")],
            input=FeedForward(size=5),
        )
    )
    data = (whole.features, whole.features[:, 0])
    found = score_source(
        InlineClient(), network, open_source(data), [RegressionEvaluation()], TASK
    )
    expected = network.evaluate(data)
    assert found.evaluations[0].mean_squared_error() == pytest.approx(
        expected.mean_squared_error()
    )
