"""Evaluation, several evaluations at once, scores and keyed predictions."""

import dask.bag as db
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr
from distributed import get_task_stream

from daskdl import (
    LSTM,
    MultiLayerConfiguration,
    MultiLayerNetwork,
    Recurrent,
    RnnOutput,
)
from daskdl.cluster import frontend_pretraining
from daskdl.cluster.frontend import DaskComputationGraph, DaskMultiLayer
from daskdl.data.dataset import DataSet
from daskdl.errors import ChangedFileError, OptionError, ShapeError
from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_multi_class import ROCMultiClass


@pytest.fixture(scope="module")
def client(module_cluster_of):
    return module_cluster_of(2)


@pytest.fixture
def front(client, network):
    return DaskMultiLayer(client, network())


def test_evaluation_on_the_cluster_equals_that_of_the_network(front, blobs):
    data = list(blobs(300).batches(70))
    alone = front.network.evaluate(blobs(300))
    np.testing.assert_array_equal(
        front.evaluate(data).confusion_matrix, alone.confusion_matrix
    )


def test_several_evaluations_are_filled_in_one_pass(front, blobs):
    first, second = front.do_evaluation(
        list(blobs(300).batches(70)), [Evaluation(), Evaluation(top_n=2)]
    )
    assert second.top_n_accuracy() >= first.accuracy()


@pytest.mark.parametrize(
    "empty",
    [
        ROCMultiClass(32),
        ROCMultiClass(),
        ROCBinary(10),
        EvaluationBinary(roc_binary_steps=10),
        EvaluationCalibration(),
    ],
    ids=lambda empty: type(empty).__name__,
)
def test_every_evaluation_is_merged_to_that_of_the_network(front, blobs, empty):
    (merged,) = front.do_evaluation(list(blobs(300).batches(70)), [empty])
    alone = front.network.evaluate(blobs(300), empty.new_instance())
    assert merged.stats() == alone.stats()
    for metric in empty.METRICS:
        expected = pytest.approx(alone.score_for_metric(metric), rel=1e-5)
        assert merged.score_for_metric(metric) == expected


def test_the_score_is_the_mean_loss(front, blobs):
    expected = front.network.score_examples(blobs(300)).mean()
    assert front.score(blobs(300)) == pytest.approx(expected, rel=1e-5)


def test_pairs_come_back_as_pairs(front, blobs):
    features = blobs(50).features
    pairs = [(f"key {row}", features[row]) for row in range(50)]
    answered = dict(front.feed_forward_with_key(pairs))
    expected = front.network.output(features)
    np.testing.assert_allclose(answered["key 7"], expected[7], rtol=1e-6)


def test_every_key_comes_back_once(front, blobs):
    data = blobs(203)
    keyed = [
        DataSet(part.features, keys=np.arange(start, start + part.num_examples))
        for start, part in zip(range(0, 203, 50), data.batches(50), strict=True)
    ]
    answered = front.feed_forward_with_key(keyed)
    assert sorted(key for key, _ in answered) == list(range(203))


def test_labelled_data_give_labelled_predictions(front, blobs):
    features = blobs(60).features
    series = xr.Dataset(
        {"x": (("day", "feature"), features)}, coords={"day": np.arange(60) * 2}
    ).chunk({"day": 25})
    answered = front.feed_forward_with_key(series, features="x")
    np.testing.assert_allclose(
        answered.prediction.sel(day=14), front.network.output(features)[7], rtol=1e-5
    )


def test_examples_without_keys_are_refused(front, blobs):
    with pytest.raises(OptionError, match="key must name the column of DataSet"):
        front.feed_forward_with_key(blobs(10))


def test_camel_case_names_answer_too(front, blobs):
    assert front.doEvaluation(blobs(50), [Evaluation()])[0].accuracy() >= 0


def test_a_network_of_the_wrong_kind_is_refused(client, network):
    with pytest.raises(OptionError, match="must be a ComputationGraph"):
        DaskComputationGraph(client, network())


def test_wrong_width_is_refused_before_a_worker_trains(front):
    wrong = DataSet(np.zeros((8, 3), np.float32), np.eye(4, dtype=np.float32)[[0] * 8])
    with pytest.raises((ShapeError, ValueError), match="3"):
        front.fit(wrong, batch_size=4)


def test_an_unknown_source_option_is_refused(front, blobs):
    with pytest.raises(OptionError, match="fetures"):
        front.fit(blobs(8), batch_size=4, fetures="x")


def test_part_that_is_rewritten_during_a_fit_ends_it(
    front, blobs, tmp_path, monkeypatch
):
    """The error is that of the worker, and comes at once."""

    def write(part, rows):
        data = blobs(rows)
        columns = {"features": data.features.tolist(), "label": data.labels.argmax(1)}
        pq.write_table(pa.table(columns), tmp_path / f"{part}.parquet")

    for part in range(4):
        write(part, 64)
    prepare = frontend_pretraining.prepare

    def prepare_and_rewrite(*args, **kwargs):
        prepared = prepare(*args, **kwargs)
        write(2, 80)
        return prepared

    monkeypatch.setattr(frontend_pretraining, "prepare", prepare_and_rewrite)
    with pytest.raises(ChangedFileError, match=r"2\.parquet: must stay .* its size is"):
        front.fit_paths(tmp_path, batch_size=16, epochs=2)


def test_plain_tasks_run_on_all_workers(client, front, blobs):
    """Tasks that need one result go to the worker that has it, and wait there."""
    with get_task_stream(client) as stream:
        for _ in range(3):
            front.score(list(blobs(800).batches(20)))
    made = [task for task in stream.data if "score" in str(task["key"])]
    at_work = client.nthreads()
    shares = [sum(task["worker"] == each for task in made) for each in at_work]
    # How many each has depends on how busy the machine is.
    assert min(shares) >= len(made) // 10


def test_examples_are_scored_one_by_one_with_their_keys(front, blobs):
    """As in one process, in the order of the data, whatever the partitions are."""
    parts = list(blobs(300).batches(70))
    expected = front.network.score_examples(blobs(300), include_regularization=True)
    for number, part in enumerate(parts):
        part.keys = np.array([f"{number} {row}" for row in range(part.num_examples)])
    found = front.score_examples(parts, include_regularization=True, batch_size=16)
    assert [key for key, _ in found] == [key for part in parts for key in part.keys]
    np.testing.assert_allclose([score for _, score in found], expected, rtol=1e-5)


def test_scores_of_examples_without_keys_are_an_array(front, blobs):
    expected = front.network.score_examples(blobs(300))
    found = front.score_examples(list(blobs(300).batches(70)))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_series_of_several_lengths_are_refused_in_words(client):
    """Whether the workers have them or we do."""
    conf = MultiLayerConfiguration(
        input=Recurrent(size=3), layers=[LSTM(n_out=4), RnnOutput(n_out=2)]
    )
    front = DaskMultiLayer(client, MultiLayerNetwork(conf))
    series = [(n, np.ones((3, 1 + n % 2), np.float32)) for n in range(4)]
    for given in (series, db.from_sequence(series, npartitions=2)):
        with pytest.raises(ShapeError, match="Give series of several lengths in"):
            front.feed_forward_with_key(given)
