"""Minibatches that DL4J saved."""

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.dl4j.datasets.file_batch import FileBatch
from daskdl.errors import CorruptFileError, OptionError
from tests.unit.bridge.table_files import load_one, open_path


def batch_of(rng, n_examples):
    return DataSet(
        rng.normal(size=(n_examples, 3)).astype("float32"), np.eye(n_examples)
    )


def test_each_file_is_one_minibatch(tmp_path, rng):
    for number, n_examples in ((10, 2), (9, 4)):
        batch_of(rng, n_examples).save(str(tmp_path / f"dataset_{number}.bin"))
    source = open_path(str(tmp_path))
    assert source.minibatches
    assert [p.load().num_examples for p in source.partitions] == [4, 2]


def test_values_come_back(tmp_path, rng):
    batch = batch_of(rng, 5)
    batch.save(str(tmp_path / "x.bin"))
    found = load_one(tmp_path / "x.bin")
    np.testing.assert_array_equal(found.features, batch.features)
    np.testing.assert_array_equal(found.labels, batch.labels)


@pytest.mark.parametrize("options", [{}, {"format": "dl4j"}, {"format": "dl4j_multi"}])
def test_multi_data_sets_are_read(tmp_path, rng, options):
    batch = MultiDataSet(
        [rng.normal(size=(3, 2)), rng.normal(size=(3, 4))], [np.eye(3)]
    )
    batch.save(str(tmp_path / "x.bin"))
    found = load_one(tmp_path / "x.bin", **options)
    assert [array.shape for array in found.features] == [(3, 2), (3, 4)]


def test_each_file_in_a_zip_is_one_minibatch(tmp_path, rng):
    (tmp_path / "zips").mkdir()
    for name, numbers in (("a", (1, 2)), ("b", (3, 4))):
        paths = [tmp_path / f"{number}.bin" for number in numbers]
        for number, path in zip(numbers, paths, strict=True):
            batch_of(rng, number).save(str(path))
        FileBatch.for_files(paths).write_as_zip(tmp_path / "zips" / f"{name}.zip")
    source = open_path(tmp_path / "zips")
    assert source.minibatches
    assert [p.load().num_examples for p in source.partitions] == [1, 2, 3, 4]


def test_a_zip_may_hold_multi_data_sets(tmp_path, rng):
    MultiDataSet([rng.normal(size=(3, 2))], [np.eye(3)]).save(tmp_path / "x.bin")
    FileBatch.for_files([tmp_path / "x.bin"]).write_as_zip(tmp_path / "x.zip")
    (partition,) = open_path(tmp_path / "x.zip").partitions
    assert partition.load().features[0].shape == (3, 2)


def test_a_file_in_a_zip_that_is_no_minibatch_is_named(tmp_path):
    FileBatch([b"1,2"], ["x.csv"]).write_as_zip(tmp_path / "x.zip")
    (partition,) = open_path(tmp_path / "x.zip").partitions
    with pytest.raises(CorruptFileError, match=r"x\.zip: file_0\.csv: .*offset"):
        partition.load()


def test_a_zip_of_something_else_is_refused(tmp_path):
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04")
    with pytest.raises(CorruptFileError, match=r"x\.zip: must be a whole zip file"):
        open_path(tmp_path / "x.zip")


def test_columns_of_zips_are_refused(tmp_path):
    FileBatch([b"1,2"], ["x.csv"]).write_as_zip(tmp_path / "x.zip")
    with pytest.raises(OptionError, match="label must not be given, because minibatch"):
        open_path(tmp_path / "x.zip", label="y")


def test_metadata_are_not_read_for_training(tmp_path, rng):
    batch = batch_of(rng, 2).replaced(example_metadata=["a", "b"])
    batch.save(str(tmp_path / "x.bin"))
    assert load_one(tmp_path / "x.bin").example_metadata is None


@pytest.mark.parametrize("option", ["features", "label", "key", "features_mask"])
def test_columns_are_refused(tmp_path, rng, option):
    batch_of(rng, 2).save(str(tmp_path / "x.bin"))
    with pytest.raises(OptionError, match=rf"{option} must not be given"):
        open_path(tmp_path / "x.bin", **{option: "x"})


def test_truncated_file_is_refused_with_path_and_offset(tmp_path, rng):
    path = tmp_path / "x.bin"
    batch_of(rng, 2).save(str(path))
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(CorruptFileError, match=r"x\.bin: .*offset"):
        load_one(path)


def test_arrays_that_do_not_go_together_are_damage_of_the_file(tmp_path, rng):
    path = tmp_path / "x.bin"
    batch_of(rng, 4).save(str(path))
    four, three = ((4).to_bytes(8, "big"), (3).to_bytes(8, "big"))
    path.write_bytes(path.read_bytes().replace(four + three, three + four, 1))
    with pytest.raises(CorruptFileError, match=r"x\.bin: must be a whole DataSet file"):
        load_one(path)
