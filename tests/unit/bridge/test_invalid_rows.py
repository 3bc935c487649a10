"""Rows that cannot become examples: refused, left out and counted, or kept."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from daskdl import Evaluation, Output
from daskdl.cluster.inference import InferenceTask, predict_source
from daskdl.cluster.results import pairs_of
from daskdl.data.reader import MinibatchReader
from daskdl.data.sinks import open_sink
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError, OptionError
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.fitting.preparation import options_for, prepare
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl_bridge.readers.vectors import VECTOR
from tests.unit.bridge.table_files import (
    load_one,
    open_path,
    write_json,
    write_orc,
    write_parquet,
    write_text,
)
from tests.unit.cluster.inline_client import InlineClient
from tests.unit.cluster.scoring import score_source

NAN = float("nan")

# Rows 1, 2, 4 and 5 cannot be used: a null, a NaN, no class, a null label.
COLUMNS = {
    "x": [1.0, None, NAN, 4.0, 5.0, 6.0, 7.0],
    "label": [0, 1, 2, 2, 3, None, 1],
    "id": ["a", "b", "c", "d", "e", "f", "g"],
}
VALID = ["a", "d", "g"]


@pytest.fixture
def network():
    conf = MultiLayerConfiguration(
        layers=[Output(n_out=3, loss="mcxent")], input=FeedForward(size=1), seed=5
    )
    return MultiLayerNetwork(conf).init()


@pytest.fixture
def path(tmp_path):
    return write_parquet(tmp_path / "x.parquet", COLUMNS)


def skipped(path, **options):
    """Return the keys of the examples that are left."""
    options = {"features": "x", "key": "id", "handle_invalid": "skip", **options}
    return load_one(path, **options).keys.tolist()


def test_they_are_left_out(path):
    assert skipped(path, n_classes=3) == VALID


def test_labels_that_are_not_asked_for_do_not_count(path):
    assert skipped(path, require_labels=False) == ["a", "d", "e", "f", "g"]


def test_without_classes_every_number_is_a_label(path):
    assert skipped(path) == ["a", "d", "e", "g"]


def test_every_form_of_tables_leaves_them_out(tmp_path):
    rows = [
        {n: c[row] for n, c in COLUMNS.items() if c[row] is not None}
        for row in range(7)
    ]
    cells = [[str(row.get(n, "")) for n in COLUMNS] for row in rows]
    text = "\n".join(map(",".join, [list(COLUMNS), *cells])) + "\n"
    found = {
        "csv": write_text(tmp_path / "x.csv", text),
        "json": write_json(tmp_path / "x.json", rows),
        "orc": write_orc(tmp_path / "x.orc", COLUMNS),
    }
    left = {form: skipped(path, n_classes=3) for form, path in found.items()}
    assert left == dict.fromkeys(found, VALID)


def vector(values):
    return {"type": 1, "size": None, "indices": None, "values": values}


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1.0, 2.0], None, [1.0, None], [1.0, NAN], [3.0, 4.0]]),
        pa.array([[1, 2], None, [1, None], None, [3, 4]], pa.list_(pa.int64(), 2)),
        pa.array([[[1.0]], None, [None], [[NAN]], [[1.0]]]),
        pa.array([vector([1.0]), None, vector([NAN]), None, vector([2.0])], VECTOR),
        pa.array([1, None, None, None, 5], pa.decimal128(3, 1)),
        pa.array([1.0, 1e39, NAN, float("inf"), 5.0]),
        pa.array([b"ab", None, None, None, b"cd"]),
    ],
    ids=lambda column: str(column.type)[:20],
)
def test_columns_of_every_type_tell_them(column):
    # In memory: not every pyarrow writes nulls of fixed size.
    table = pa.table({"x": column, "id": list("abcde")})
    options = SourceOptions(
        features="x",
        key="id",
        handle_invalid="skip",
        require_labels=False,
        dtype="float32",
    )
    (partition,) = open_source(table, options).partitions
    assert partition.load().keys.tolist() == ["a", "e"]


def test_images_that_cannot_be_decoded_are_left_out(tmp_path):
    stream = io.BytesIO()
    Image.new("L", (2, 2)).save(stream, "PNG")
    good = stream.getvalue()
    columns = {"x": [good, good[:40], b"text", None, good], "id": list("abcde")}
    path = write_parquet(tmp_path / "x.parquet", columns)
    assert skipped(path, require_labels=False) == ["a", "e"]


def test_time_series_are_left_out_for_one_step(tmp_path):
    columns = {
        "x": [[1.0], [], [2.0, None], [2.0, 3.0], [4.0]],
        "label": [[0], [0], [0, 0], [0, 3], [1]],
        "id": list("abcde"),
    }
    path = write_parquet(tmp_path / "x.parquet", columns)
    assert skipped(path, align="start", n_classes=3) == ["a", "e"]


def test_what_is_wrong_between_rows_is_refused_with_the_row_in_the_file(tmp_path):
    column = pa.array([[1.0], None, [1.0], [1.0, 2.0]])
    path = write_parquet(tmp_path / "x.parquet", {"x": column, "id": list("abcd")})
    with pytest.raises(DataError, match=r"row 0 has 1, row 3 has 2"):
        skipped(path, require_labels=False)


def parts_of(tmp_path):
    """Write parts of which one has nothing but invalid rows."""
    directory = tmp_path / "in"
    directory.mkdir()
    for name, rows in (("a", slice(0, 2)), ("b", slice(2, 3)), ("c", slice(3, 7))):
        columns = {n: pa.array(c)[rows] for n, c in COLUMNS.items()}
        write_parquet(directory / f"{name}.parquet", columns)
    return str(directory / "*.parquet")


def prepared(network, data):
    options = SourceOptions(features="x", key="id", handle_invalid="skip")
    return prepare(network, data, options, batch_size=2)


def test_a_plan_counts_only_what_is_left(network, tmp_path):
    data = prepared(network, parts_of(tmp_path))
    reader = MinibatchReader(data.source.partitions)
    keys = [reader.read(one).keys.tolist() for one in data.minibatches]
    assert (keys, data.facts.skipped) == ([["a", "d"], ["g"]], 4)


def test_blocks_of_a_large_part_count_what_is_left(network, tmp_path, monkeypatch):
    monkeypatch.setattr("daskdl_bridge.readers.parquet.BLOCK_BYTES", 20)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table(COLUMNS), path, row_group_size=2)
    data = prepared(network, str(path))
    reader = MinibatchReader(data.source.partitions)
    keys = [key for one in data.minibatches for key in reader.read(one).keys]
    assert (len(data.source.partitions) > 1, keys) == (True, VALID)


def test_a_resumed_run_must_skip_the_same(network, path, tmp_path):
    less = write_parquet(tmp_path / "y.parquet", COLUMNS | {"x": [None] + [1.0] * 6})
    before = prepared(network, path).fingerprint
    after = prepared(network, less).fingerprint
    assert before.difference(after) == ("3 examples", "4")


def test_the_number_of_rows_is_not_told_before_they_are_read(path):
    (partition,) = open_path(path, features="x", handle_invalid="skip").partitions
    assert partition.rows is None


def test_a_fit_reports_how_many_were_left_out(network, path):
    options = SourceOptions(features="x", handle_invalid="skip")
    network.fit(path, epochs=2, batch_size=2, options=options)
    assert (network.last_fit.skipped, network.last_fit.examples) == (4, 6)


def test_an_evaluation_in_one_process_counts_them_too(network, path):
    network.evaluate(path, features="x", handle_invalid="skip")
    assert network.last_skipped == 4


def test_data_of_nothing_else_are_refused(network, tmp_path):
    path = write_parquet(tmp_path / "x.parquet", {"x": [None, NAN], "label": [0, 1]})
    options = SourceOptions(features="x", handle_invalid="skip")
    with pytest.raises(DataError, match="must hold at least one example, got none"):
        prepare(network, path, options, batch_size=2)


def opened(network, data, *, require_labels, handle_invalid):
    options = SourceOptions(
        features="x",
        key="id",
        handle_invalid=handle_invalid,
        require_labels=require_labels,
    )
    return open_source(data, options_for(network, options, data))


def test_an_evaluation_counts_them(network, tmp_path):
    source = opened(
        network, parts_of(tmp_path), require_labels=True, handle_invalid="skip"
    )
    scored = score_source(
        InlineClient(), network, source, [Evaluation()], InferenceTask(batch_size=2)
    )
    assert (scored.examples, scored.skipped) == (3, 4)


def predicted(network, data, handle_invalid, sink=None):
    source = opened(network, data, require_labels=False, handle_invalid=handle_invalid)
    task = InferenceTask(batch_size=2, key=("id",))
    return predict_source(InlineClient(), network, source, sink, task)


def test_predictions_leave_them_out(network, tmp_path):
    entries = predicted(network, parts_of(tmp_path), "skip")
    assert [key for key, _ in pairs_of(entries)] == ["a", "d", "e", "f", "g"]
    assert sum(entry.skipped for entry in entries) == 2


def test_predictions_keep_them_as_none(network, tmp_path):
    pairs = pairs_of(predicted(network, parts_of(tmp_path), "keep"))
    assert [(key, value is None) for key, value in pairs] == [
        (key, key in "bc") for key in "abcdefg"
    ]


def test_kept_rows_do_not_change_the_predictions_of_others(network, tmp_path):
    data = parts_of(tmp_path)
    kept = [one for _, one in pairs_of(predicted(network, data, "keep"))]
    others = [one for _, one in pairs_of(predicted(network, data, "skip"))]
    np.testing.assert_array_equal([one for one in kept if one is not None], others)


def test_written_predictions_are_null(network, tmp_path):
    sink = open_sink(str(tmp_path / "out"))
    sink.prepare()
    entries = predicted(network, parts_of(tmp_path), "keep", sink)
    sink.commit([entry.path for entry in entries])
    rows = pq.read_table(tmp_path / "out").to_pylist()
    nulls = {
        name: [row["id"] for row in rows if row[name] is None]
        for name in ("prediction", "probability")
    }
    assert nulls == {"prediction": ["b", "c"], "probability": ["b", "c"]}


@pytest.mark.parametrize("work", ["fit", "evaluate"])
def test_nothing_with_labels_keeps_them(network, path, work):
    options = SourceOptions(features="x", handle_invalid="keep")
    with pytest.raises(OptionError, match="'error' or 'skip' for data with labels"):
        getattr(network, work)(path, batch_size=2, options=options)


def test_other_words_are_refused():
    with pytest.raises(OptionError, match="handle_invalid must be one of 'error', 'ke"):
        SourceOptions(handle_invalid="drop")


def test_data_that_are_no_table_refuse_it():
    options = SourceOptions(handle_invalid="skip")
    with pytest.raises(OptionError, match="got handle_invalid='skip'"):
        open_source((np.ones((2, 1)), np.ones((2, 1))), options)
