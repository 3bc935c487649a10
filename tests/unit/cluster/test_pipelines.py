"""Pipelines with a client: tasks, and what comes out without one."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import daskdl
from daskdl import DataSet
from daskdl.errors import OptionError
from tests.unit.bridge.table_files import write_parquet
from tests.unit.cluster.inline_client import InlineClient

OPTIONS = {"features": "x", "label": "y", "n_classes": 3}


@pytest.fixture
def table(tmp_path):
    """Two files, which are two partitions at least."""
    for part in range(2):
        x = np.arange(part * 50, part * 50 + 50, dtype="float64")
        name = f"part-{part:05d}.parquet"
        (tmp_path / "table").mkdir(exist_ok=True)
        write_parquet(tmp_path / "table" / name, {"x": x, "y": x.astype(int) % 3})
    (tmp_path / "table" / "_SUCCESS").touch()
    return str(tmp_path / "table")


def features(source):
    blocks = [one.load().features[:, 0] for one in source.partitions]
    return np.concatenate(blocks).tolist()


def test_a_split_is_counted_by_tasks(table):
    client = InlineClient()
    found = daskdl.split(
        table, (0.8, 0.2), seed=3, stratify=True, client=client, **OPTIONS
    )
    assert client.submitted == 2
    here = daskdl.split(table, (0.8, 0.2), seed=3, stratify=True, **OPTIONS)
    assert [features(part) for part in found] == [features(part) for part in here]


def test_classes_are_counted_by_tasks(table):
    client = InlineClient()
    found = daskdl.class_counts(table, client=client, **OPTIONS)
    assert client.submitted == 2
    assert found.counts.tolist() == [34, 33, 33]


def test_tasks_read_and_write_what_is_shuffled(table, tmp_path):
    client = InlineClient()
    found = daskdl.shuffled(table, tmp_path / "a", seed=3, client=client, **OPTIONS)
    assert client.submitted == 4
    here = daskdl.shuffled(table, tmp_path / "b", seed=3, **OPTIONS)
    assert features(found) == features(here)


def test_a_task_writes_the_parts_of_a_partition(table, tmp_path):
    client = InlineClient()
    paths = daskdl.export_parquet(table, tmp_path / "out", client=client, **OPTIONS)
    assert client.submitted == len(paths) == 2


def test_a_task_writes_a_zip(table, tmp_path):
    client = InlineClient()
    urls = daskdl.create_file_batches(
        table, tmp_path / "out", batch_size=1, seed=3, client=client
    )
    assert client.submitted == len(urls) == 2


def test_what_is_in_memory_stays_here():
    client = InlineClient()
    data = DataSet(np.zeros((4, 1)), np.eye(2)[[0, 1, 1, 1]])
    assert daskdl.class_counts(data, client=client).counts.tolist() == [1, 3]
    assert client.submitted == 0


def test_a_client_is_one(table):
    with pytest.raises(OptionError, match="class_counts: client must be a distributed"):
        daskdl.class_counts(table, client="tcp://host:8786", **OPTIONS)


@pytest.mark.parametrize(
    "function",
    [
        lambda **seed: daskdl.split([], (0.5, 0.5), **seed),
        lambda **seed: daskdl.shuffled([], "memory://x", **seed),
        lambda **seed: daskdl.create_file_batches("a", "b", batch_size=1, **seed),
    ],
)
def test_seeds_are_whole_numbers(function):
    with pytest.raises(OptionError, match="seed must be a whole number >= 0, got -1"):
        function(seed=-1)


def test_unknown_options_are_refused(table):
    with pytest.raises(OptionError, match="split: options must be those of split"):
        daskdl.split(table, (0.5, 0.5), seed=3, lable="y")


@pytest.mark.parametrize(
    "option", [{"keep": "y"}, {"handle_invalid": "keep"}], ids=["keep", "invalid"]
)
def test_what_is_for_predictions_is_refused(table, option):
    (name,) = option
    with pytest.raises(OptionError, match=f"split: {name} must be left out"):
        daskdl.split(
            table, (0.5, 0.5), seed=3, features="x", require_labels=False, **option
        )


# No float32 holds them.
EXACT = 16777217, 1 + 2**-40


def loaded(source):
    return [one.load() for one in source.partitions]


@pytest.fixture
def wide_numbers(tmp_path):
    columns = {"x": [EXACT[1]] * 4, "y": [EXACT[0]] * 4}
    return write_parquet(tmp_path / "wide.parquet", columns)


def test_parts_of_a_split_keep_the_precision_of_the_data(wide_numbers):
    parts = daskdl.split(wide_numbers, (0.5, 0.5), seed=3, features="x", label="y")
    examples = [one for part in parts for one in loaded(part)]
    assert {one.features.max() for one in examples} == {EXACT[1]}
    assert {one.labels.max() for one in examples} == {EXACT[0]}


def test_what_is_shuffled_keeps_the_precision_of_the_data(wide_numbers, tmp_path):
    mixed = daskdl.shuffled(
        wide_numbers, tmp_path / "out", seed=3, features="x", label="y"
    )
    (examples,) = loaded(mixed)
    assert examples.features.max() == EXACT[1]
    assert examples.labels.max() == EXACT[0]


def test_a_written_table_keeps_the_precision_of_the_data(wide_numbers, tmp_path):
    (path,) = daskdl.export_parquet(
        wide_numbers, tmp_path / "out", features="x", label="y"
    )
    written = pq.read_table(path)
    assert written["features"][0].as_py()["values"] == [EXACT[1]]
    assert written["label"].to_pylist() == [EXACT[0]] * 4


def test_columns_of_float32_are_written_as_such(tmp_path):
    columns = {"x": np.ones(4, "float32"), "y": np.ones(4, "float32")}
    path = write_parquet(tmp_path / "narrow.parquet", columns)
    (path,) = daskdl.export_parquet(path, tmp_path / "out", features="x", label="y")
    assert pq.read_table(path)["label"].type == "float"


def test_a_dtype_that_is_given_is_taken(wide_numbers):
    (part,) = daskdl.split(
        wide_numbers, (1.0,), seed=3, features="x", label="y", dtype="float32"
    )
    (examples,) = loaded(part)
    assert examples.features.dtype == examples.labels.dtype == np.float32
