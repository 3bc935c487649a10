"""Which files of minibatches can be loaded, and have the shapes that are asked for."""

import dataclasses

import numpy as np
import pytest

from daskdl import DataSet, MultiDataSet, delete_invalid_datasets, validate_datasets
from daskdl.data.stored_arrays import DataSetArrays
from daskdl.dl4j.arrays.nd4j import write_array
from daskdl.dl4j.datasets import validation
from daskdl.dl4j.datasets.streams import write_dataset
from daskdl.errors import OptionError, SourceNotFoundError, StorageError

ZERO = dataclasses.asdict(validation.ValidationResult())


def counts(result):
    """Return what is counted beside zeros."""
    found = dataclasses.asdict(result)
    return {k: v for k, v in found.items() if v != ZERO[k] and k != "invalid"}


def rows(n, width):
    return np.zeros((n, width), "float32")


@pytest.fixture
def folder(tmp_path):
    """Two data sets, one multi data set, and what is wrong in any way."""
    DataSet(rows(4, 3), rows(4, 2)).save(tmp_path / "a.bin")
    DataSet(rows(2, 5), rows(2, 2)).save(tmp_path / "below/b.bin")
    MultiDataSet([rows(4, 3), rows(4, 1)], [rows(4, 2)]).save(tmp_path / "c.bin")
    (tmp_path / "empty.bin").touch()
    whole = (tmp_path / "a.bin").read_bytes()
    (tmp_path / "cut.bin").write_bytes(whole[:-1])
    (tmp_path / "notes.txt").write_text("no minibatch")
    with (tmp_path / "none.bin").open("wb") as stream:
        write_dataset(stream, DataSetArrays())
    DataSet(rows(4, 3)).save(tmp_path / "unlabelled.bin")
    return tmp_path


@pytest.fixture(autouse=True)
def _made(tmp_path):
    (tmp_path / "below").mkdir()


ALL = {"a.bin", "below/b.bin", "c.bin"}


def invalid_names(result, folder):
    return [url.removeprefix(f"{folder}/") for url, _ in result.invalid]


def test_files_that_cannot_be_used_are_counted_by_what_is_wrong(folder):
    result = validate_datasets(folder)
    assert counts(result) == {
        "total": 7,
        "total_valid": 3,
        "total_invalid": 4,
        "loading_failure": 2,
        "missing_features": 1,
        "missing_labels": 2,
    }
    assert set(invalid_names(result, folder)) == {
        "cut.bin",
        "empty.bin",
        "none.bin",
        "unlabelled.bin",
    }


def test_features_and_labels_must_go_together(tmp_path):
    with (tmp_path / "a.bin").open("wb") as stream:
        write_dataset(stream, DataSetArrays(rows(4, 3), rows(3, 2)))
    (fault,) = validate_datasets(tmp_path).invalid
    assert "must" in fault[1]
    assert counts(validate_datasets(tmp_path))["loading_failure"] == 1


@pytest.mark.parametrize(
    ("shapes", "invalid"),
    [
        ({"features_shape": (-1, 3)}, {"below/b.bin", "c.bin"}),
        ({"features_shape": [0, 5]}, {"a.bin", "c.bin"}),
        ({"features_shape": (4, 3, 1)}, ALL),
        ({"features_shape": [None, (-1, 1)]}, {"a.bin", "below/b.bin"}),
        ({"features_shape": [(-1, 3), (-1, 2)]}, ALL),
        ({"labels_shape": (4, 2)}, {"below/b.bin"}),
        ({"labels_shape": [None]}, set()),
    ],
)
def test_shapes_are_compared_where_they_are_given(folder, shapes, invalid):
    for name in ("empty", "cut", "none", "unlabelled"):
        (folder / f"{name}.bin").unlink()
    result = validate_datasets(folder, **shapes)
    assert set(invalid_names(result, folder)) == invalid
    assert result.invalid_features + result.invalid_labels == len(invalid)


def test_a_wrong_shape_is_told(folder):
    result = validate_datasets(folder / "a.bin", features_shape=(-1, 7))
    ((_, fault),) = result.invalid
    assert fault == "features must have the shape (-1, 7), got (4, 3)."


def test_only_files_of_the_ending_are_looked_at_unless_asked_for(folder):
    assert validate_datasets(folder, endings="").total == 8
    assert validate_datasets(folder, endings=(".txt",)).total_invalid == 1


def test_invalid_files_are_deleted_and_nothing_else(folder):
    result = delete_invalid_datasets(folder, labels_shape=(4, 2))
    assert (result.total_invalid, result.invalid_deleted) == (5, 5)
    left = {str(one.relative_to(folder)) for one in folder.rglob("*.*")}
    assert left == {"a.bin", "c.bin", "notes.txt"}
    assert counts(validate_datasets(folder)) == {"total": 2, "total_valid": 2}


def test_looking_deletes_nothing(folder):
    validate_datasets(folder, labels_shape=(4, 2))
    assert (folder / "cut.bin").exists()


def test_a_file_that_went_meanwhile_is_missing(folder, monkeypatch):
    listed = [str(folder / "a.bin"), str(folder / "gone.bin")]
    monkeypatch.setattr(validation, "list_paths", lambda *_, **__: listed)
    assert counts(delete_invalid_datasets(folder)) == {
        "total": 2,
        "total_valid": 1,
        "total_invalid": 1,
        "missing_file": 1,
    }


def test_a_store_that_breaks_off_makes_no_file_invalid(folder, monkeypatch):
    def broken(*_, **__):
        raise StorageError("no answer")

    monkeypatch.setattr(validation, "with_retries", broken)
    with pytest.raises(StorageError, match="no answer"):
        delete_invalid_datasets(folder)
    assert (folder / "a.bin").exists()


@pytest.mark.parametrize("shape", [(), "3", [True], [(1.5,)], [()], 3])
@pytest.mark.parametrize("function", [validate_datasets, delete_invalid_datasets])
@pytest.mark.parametrize("option", ["features_shape", "labels_shape"])
def test_what_is_no_shape_is_refused(folder, function, option, shape):
    message = rf"{function.__name__}: {option} must be a shape such as \(-1, 10\)"
    with pytest.raises(OptionError, match=message):
        function(folder, **{option: shape})


def test_a_missing_path_is_refused(tmp_path):
    with pytest.raises(SourceNotFoundError):
        validate_datasets(tmp_path / "no")


def test_files_of_older_releases_are_valid(tmp_path):
    """What DL4J's own tests are about: a file is what can be loaded."""
    with (tmp_path / "a.bin").open("wb") as stream:
        stream.write(bytes([5]))
        write_array(stream, rows(2, 2))
    assert validate_datasets(tmp_path).total_valid == 1
