"""Series of any length, of which some rows cannot be used, on real workers."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import daskdl as dl
from daskdl.training.local import fit

HOW = {"features": "x", "label": "y", "align": "end", "handle_invalid": "skip"}
ROWS, BAD = 60, 6


@pytest.fixture
def folder(tmp_path):
    """Three parts of 20 series, one of ten without a label."""
    rng = np.random.default_rng(5)
    for number in range(3):
        steps = [rng.normal(size=n) for n in rng.integers(1, 9, 20)]
        classes = [int(one.mean() > 0) for one in steps]
        classes[3] = classes[13] = None
        columns = {
            "x": steps,
            "y": pa.array(classes, pa.int32()),
            "site": [f"s{number}"] * 20,
            "row": range(20),
        }
        pq.write_table(pa.table(columns), tmp_path / f"part-{number}.parquet")
    (tmp_path / "_SUCCESS").touch()
    return str(tmp_path)


def network():
    conf = dl.MultiLayerConfiguration(
        input=dl.Recurrent(1),
        layers=[dl.LSTM(n_out=4), dl.RnnOutput(n_out=2, loss="mcxent")],
        updater="adam",
        seed=3,
    )
    return dl.MultiLayerNetwork(conf)


def test_one_worker_gives_bit_for_bit_what_one_process_gives(cluster_of, folder):
    how = HOW | {"epochs": 2, "batch_size": 7, "shuffle": True}
    alone = fit(network(), folder, **how)
    front = dl.DaskMultiLayer(cluster_of(1), network(), dl.SharedTrainingMaster())
    front.fit(folder, **how)
    np.testing.assert_array_equal(front.network.params, alone.params)


def test_two_workers_train_and_evaluate_every_row_that_is_left_once(cluster_of, folder):
    master = dl.SharedTrainingMaster()
    front = dl.DaskMultiLayer(cluster_of(2), network(), master)
    front.fit(folder, epochs=2, batch_size=7, shuffle=True, **HOW)
    report = front.last_fit
    assert (report.examples, report.skipped) == (2 * (ROWS - BAD), BAD)
    scored = front.score_and_evaluate(folder, [dl.Evaluation()], **HOW)
    assert (scored.examples, front.last_skipped) == (ROWS - BAD, BAD)


def test_a_run_goes_on_with_the_same_rows(cluster_of, folder, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("run"))
    how = HOW | {"batch_size": 7, "shuffle": True}
    master = dl.ParameterAveragingTrainingMaster(averaging_frequency=2)
    client = cluster_of(2)
    whole = dl.DaskMultiLayer(client, network(), master)
    whole.fit(folder, epochs=2, listeners=[dl.RunCheckpoint(place)], **how)
    again = dl.DaskMultiLayer(client, network(), master)
    again.fit(folder, epochs=3, resume=place, listeners=[], **how)
    assert again.last_fit.examples == 3 * (ROWS - BAD)
    assert again.last_fit.skipped == BAD


def test_predictions_stand_beside_what_they_are_of(
    cluster_of, folder, tmp_path_factory
):
    front = dl.DaskMultiLayer(cluster_of(2), network(), dl.SharedTrainingMaster())
    output = tmp_path_factory.mktemp("predictions") / "out"
    how = {"features": "x", "align": "end", "keep": ["x"]}
    rows = front.feed_forward_with_key(
        folder, key=("site", "row"), output=str(output), **how
    )
    table = pq.read_table(output)
    lengths = [len(one) for one in table["x"].to_pylist()]
    assert rows == ROWS
    assert [len(one) for one in table["prediction"].to_pylist()] == lengths
    assert table["row"].to_pylist() == [*range(20)] * 3
