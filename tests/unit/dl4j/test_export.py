"""Minibatches written for DL4J: exact sizes, every example once, all or nothing."""

from pathlib import Path

import numpy as np
import pytest

import daskdl
from daskdl import DataSet, MultiDataSet, SourceOptions, export_datasets
from daskdl.errors import DataError, OptionError, OutputExistsError
from tests.unit.bridge.table_files import write_parquet, write_text


def dataset(start, n_rows):
    x = np.arange(start, start + n_rows, dtype="float32")
    return DataSet(np.stack([x, -x], axis=1), x[:, None])


def loaded(urls):
    return [DataSet.load(url) for url in urls]


def test_minibatches_have_the_size_whatever_the_parts_have(tmp_path):
    data = [dataset(0, 3), dataset(3, 1), dataset(4, 7)]
    urls = export_datasets(data, f"{tmp_path}/out", batch_size=4)
    batches = loaded(urls)
    assert [len(batch) for batch in batches] == [4, 4, 3]
    rows = np.concatenate([batch.features for batch in batches])
    np.testing.assert_array_equal(rows, dataset(0, 11).features)
    labels = np.concatenate([batch.labels for batch in batches])
    np.testing.assert_array_equal(labels, dataset(0, 11).labels)


def test_the_list_names_every_file_and_says_that_it_is_whole(tmp_path):
    urls = export_datasets([dataset(0, 5)], f"{tmp_path}/out", batch_size=2)
    assert urls == [f"file://{tmp_path}/out/data/dataset_{i}.bin" for i in range(3)]
    assert (tmp_path / "out/paths/part-00000").read_text() == "\n".join([*urls, ""])
    assert (tmp_path / "out/paths/_SUCCESS").exists()


def test_only_minibatches_are_beside_minibatches(tmp_path):
    """DL4J takes every file of a directory for one."""
    export_datasets([dataset(0, 1)], f"{tmp_path}/out", batch_size=2)
    assert [one.name for one in Path(tmp_path / "out/data").iterdir()] == [
        "dataset_0.bin"
    ]


def test_tables_are_exported_with_one_hot_labels(tmp_path):
    path = write_text(tmp_path / "x.csv", "x,y\n1,0\n2,2\n3,1\n")
    urls = export_datasets(
        path, f"{tmp_path}/out", batch_size=2, features="x", label="y", n_classes=3
    )
    labels = np.concatenate([batch.labels for batch in loaded(urls)])
    assert labels.argmax(axis=1).tolist() == [0, 2, 1]


def test_what_was_exported_is_read_again_as_minibatches(tmp_path):
    export_datasets([dataset(0, 12)], f"{tmp_path}/out", batch_size=1)
    source = daskdl.open_source(f"{tmp_path}/out/data")
    rows = [part.load().features[0, 0] for part in source.partitions]
    assert (source.minibatches, rows) == (True, list(range(12)))


def test_several_inputs_are_multi_datasets(tmp_path):
    data = [MultiDataSet([np.zeros((3, 2)), np.ones((3, 1))], [np.ones((3, 1))])]
    urls = export_datasets(data, f"{tmp_path}/out", batch_size=2)
    assert urls[0].endswith("/mds_0.bin")
    assert [len(MultiDataSet.load(url)) for url in urls] == [2, 1]


def test_series_of_different_lengths_get_masks_where_they_meet(tmp_path):
    series = [DataSet(np.ones((1, 2, n)), np.ones((1, 1, n))) for n in (3, 5)]
    (url,) = export_datasets(series, f"{tmp_path}/out", batch_size=2)
    (batch,) = loaded([url])
    np.testing.assert_array_equal(batch.features_mask.sum(axis=1), [3, 5])


def test_data_that_break_off_leave_nothing(tmp_path):
    path = write_text(tmp_path / "x.csv", "x,y\n1,0\n2,x\n")
    with pytest.raises(DataError):
        export_datasets(
            path, f"{tmp_path}/out", batch_size=1, features="x", label="y", n_classes=2
        )
    assert not (tmp_path / "out").exists()


def test_what_is_there_stays(tmp_path):
    with pytest.raises(OutputExistsError, match=r"must not exist yet, got something"):
        export_datasets([dataset(0, 1)], f"{tmp_path.parent}", batch_size=1)
    assert tmp_path.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number > 0, got 0"),
        ({"batch_size": 1, "key": "id"}, "key must be None, since DL4J's files have"),
        ({"batch_size": 1, "lable": "y"}, "got 'lable'. Did you mean 'label'?"),
        (
            {"batch_size": 1, "options": SourceOptions(key="id")},
            "key must be None, since",
        ),
    ],
)
def test_bad_options_are_refused_before_anything_is_made(tmp_path, options, message):
    with pytest.raises(OptionError, match=message.replace("?", r"\?")):
        export_datasets([dataset(0, 1)], f"{tmp_path}/out", **options)
    assert not (tmp_path / "out").exists()


def test_series_of_several_files_stand_at_the_same_end(tmp_path):
    for part, steps in enumerate(([1.0], [2.0, 2.0])):
        write_parquet(tmp_path / f"{part}.parquet", {"x": [steps], "y": [0]})
    (url,) = export_datasets(
        [f"{tmp_path}/{part}.parquet" for part in range(2)],
        f"{tmp_path}/out",
        batch_size=2,
        features="x",
        label="y",
        n_classes=2,
        align="end",
    )
    (batch,) = loaded([url])
    np.testing.assert_array_equal(batch.features_mask, [[0, 1], [1, 1]])
