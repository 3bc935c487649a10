"""Directories of images, and tables of files: classes, order, blocks, refusals."""

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ChangedFileError, ColumnError, DataError, OptionError
from daskdl_bridge.readers import image_files
from daskdl_bridge.source import PathSources
from tests.unit.bridge.damaged_files import check_refused_or_read, damaged_copies
from tests.unit.bridge.sample_forms import SAMPLES
from tests.unit.bridge.table_files import load_one, open_path, write_orc, write_parquet

Image = pytest.importorskip("PIL.Image", reason="pillow is not installed")

IMAGES = Path(__file__).parents[2] / "data" / "images" / "by_class"
BINARY_FILES = str(SAMPLES / "binaryfile_labelled")
CLASSES = ("cat", "dog", "eel")
OF_PATHS = {"features": "content", "label": "path", "label_from": "parent"}


def pixels(path: str) -> np.ndarray:
    """Return what an image holds, channels first."""
    return np.moveaxis(np.asarray(Image.open(path)), 2, 0)


def write_images(folder: Path, *names: str) -> str:
    for index, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((2, 3), index, np.uint8)).save(path)
    return str(folder)


def test_examples_are_pixels_and_classes():
    batch = load_one(str(IMAGES), key="path", n_classes=3)
    for row, path in enumerate(batch.keys.tolist()):
        assert batch.features[row].tolist() == pixels(path).tolist()
        assert CLASSES[batch.labels[row].argmax()] == Path(path).parent.name
    assert batch.features.shape == (9, 3, 4, 5)


def test_names_of_classes_are_known():
    assert open_path(str(IMAGES)).class_names == CLASSES


def test_with_labels_the_order_is_drawn_from_the_paths(tmp_path):
    elsewhere = str(tmp_path / "copy")
    shutil.copytree(IMAGES, elsewhere)
    here, there = (
        [Path(key).parts[-2:] for key in load_one(path, key="path").keys]
        for path in (str(IMAGES), elsewhere)
    )
    assert here == there
    assert here != sorted(here)


def test_without_labels_the_order_is_that_of_names():
    keys = load_one(str(IMAGES), key="path", require_labels=False).keys.tolist()
    assert keys == sorted(keys)


def test_the_class_may_stand_beside_predictions(tmp_path):
    folder = write_images(tmp_path, "a/0.png", "b/0.png", "b/1.png")
    options = {"require_labels": False, "require_success": False, "key": "path"}
    (partition,) = open_path(folder, keep=("label",), **options).partitions
    (rows,) = partition.load_rows()
    assert rows.columns["label"].to_pylist() == [0, 1, 1]


def test_an_expression_tells_the_class(tmp_path):
    path = write_images(tmp_path, "x/b_1.png", "x/a_1.png", "x/a_2.png")
    how = {"label_from": r"/(\w)_\d\.png$", "key": "path"}
    source = open_path(path, **how)
    assert source.class_names == ("a", "b")
    batch = load_one(path, **how)
    labels = batch.labels[:, 0]
    found = {Path(k).name: int(n) for k, n in zip(batch.keys, labels, strict=True)}
    assert found == {"a_1.png": 0, "a_2.png": 0, "b_1.png": 1}


def test_a_path_without_a_class_is_refused(tmp_path):
    path = write_images(tmp_path, "x/b_1.png", "x/a.png")
    with pytest.raises(DataError, match=r"x/a\.png: the path must name a class by"):
        open_path(path, label_from=r"/(\w)_\d\.png$")


def test_many_files_make_partitions_and_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(image_files, "_PARTITION_FILES", 4)
    monkeypatch.setattr(image_files, "BLOCK_BYTES", 1)
    partitions = open_path(str(IMAGES), key="path").partitions
    assert [one.rows for one in partitions] == [4, 4, 1]
    blocks = [
        block.keys.tolist()
        for partition in pickle.loads(pickle.dumps(partitions))
        for block in partition.load_blocks()
    ]
    assert [len(one) for one in blocks] == [1] * 9
    assert len({one[0] for one in blocks}) == 9


def test_directories_may_be_partition_columns(tmp_path):
    path = write_images(tmp_path, "fold=1/a/x.png", "fold=2/a/x.png", "fold=2/b/y.png")
    partitions = open_path(path, key="fold").partitions
    assert sorted(one.load().keys.tolist() for one in partitions) == [[1], [2, 2]]


def test_an_image_of_another_size_is_named(tmp_path):
    path = write_images(tmp_path, "a/x.png")
    Image.fromarray(np.zeros((5, 5), np.uint8)).save(tmp_path / "a" / "y.png")
    with pytest.raises(DataError, match=r"images of one size; row \d \(.*[xy]\.png\)"):
        load_one(path)


def test_a_file_that_is_no_image_is_named(tmp_path):
    path = write_images(tmp_path, "a/x.png", "a/y.png")
    whole = (tmp_path / "a" / "y.png").read_bytes()
    (tmp_path / "a" / "y.png").write_bytes(whole[:40])
    with pytest.raises(DataError, match=r"row \d \(.*y\.png\) cannot be decoded"):
        load_one(path)


def test_a_file_that_was_rewritten_is_refused(tmp_path):
    path = write_images(tmp_path, "a/x.png", "a/y.png")
    (partition,) = open_path(path).partitions
    Image.fromarray(np.zeros((5, 5), np.uint8)).save(tmp_path / "a" / "y.png")
    with pytest.raises(ChangedFileError, match=r"y\.png"):
        partition.load()


def test_columns_are_told():
    summary = PathSources().look(str(IMAGES), SourceOptions())
    assert dict(summary.columns) == {
        "features": "binary",
        "label": "int64",
        "path": "string",
    }
    assert [rows for _, rows in summary.parts] == [1] * 9


def test_damage_is_refused_or_read(tmp_path, rng):
    (tmp_path / "a").mkdir()
    for data in damaged_copies((IMAGES / "cat" / "0.png").read_bytes(), rng, 100):
        check_refused_or_read(tmp_path / "a" / "x.png", data)


def test_paths_of_binary_files_are_classes():
    batch = load_one(BINARY_FILES, **OF_PATHS, key="path", n_classes=3)
    assert open_path(BINARY_FILES, **OF_PATHS).class_names == CLASSES
    for row, key in enumerate(batch.keys.tolist()):
        cls, name = key.split("/")[-2:]
        assert CLASSES[batch.labels[row].argmax()] == cls
        assert batch.features[row].tolist() == pixels(IMAGES / cls / name).tolist()


@pytest.mark.parametrize("form", ["parquet", "orc"])
@pytest.mark.parametrize("key", [None, "file.path", ("x", "file.path")])
def test_paths_may_be_fields_of_structs(tmp_path, form, key):
    """As ``image.origin`` of what Spark's source of images reads."""
    paths = ["/a/eel/1", "/a/cat/2"]
    columns = {"x": [1.0, 2.0], "file": [{"path": path} for path in paths]}
    write = {"parquet": write_parquet, "orc": write_orc}[form]
    path = write(tmp_path / f"x.{form}", columns)
    how = {"features": "x", "label": "file.path", "label_from": "parent"}
    batch = load_one(path, **how, key=key)
    assert batch.labels.tolist() == [[1], [0]]
    keys = {None: None, "file.path": paths}
    expected = keys.get(key, list(zip([1.0, 2.0], paths, strict=True)))
    assert (None if key is None else list(batch.keys)) == expected


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_a_missing_column_of_paths_is_refused(tmp_path, form):
    write = {"parquet": write_parquet, "orc": write_orc}[form]
    path = write(tmp_path / f"x.{form}", {"x": [1.0]})
    with pytest.raises(ColumnError, match="column 'path' must exist, it does not"):
        open_path(path, **{**OF_PATHS, "features": "x"})


def test_classes_of_all_files_are_numbered_together(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"x": [1.0], "path": ["/d/eel/1"]})
    write_parquet(tmp_path / "b.parquet", {"x": [2.0], "path": ["/d/cat/1"]})
    how = {**OF_PATHS, "features": "x"}
    source = open_path(str(tmp_path), **how)
    partitions = pickle.loads(pickle.dumps(source.partitions))
    assert [one.load().labels.tolist() for one in partitions] == [[[1]], [[0]]]
    assert source.class_names == ("cat", "eel")


def test_without_labels_paths_are_not_read(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", {"x": [1.0]})
    how = {**OF_PATHS, "features": "x", "require_labels": False}
    assert load_one(path, **how).labels is None


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"path": [1]}, ColumnError, "'path' must hold paths with label_from, got int"),
        ({"path": [None, "/a/b"]}, DataError, "'path' must hold a path in every row"),
        ({"path": ["b"]}, DataError, "b: the path must name a class by label_from"),
        ({"other": ["b"]}, ColumnError, "column 'path' must exist"),
    ],
)
def test_columns_that_name_no_class_are_refused(tmp_path, columns, error, message):
    rows = len(next(iter(columns.values())))
    path = write_parquet(tmp_path / "a.parquet", {"x": [1.0] * rows, **columns})
    with pytest.raises(error, match=message):
        open_path(path, **{**OF_PATHS, "features": "x"})


def test_several_labels_are_refused(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", {"x": [1.0], "path": ["/a/b"]})
    how = {**OF_PATHS, "features": "x", "label": ("path", "x")}
    with pytest.raises(OptionError, match="label must be one column of paths with"):
        open_path(path, **how)


def test_a_mask_of_labels_is_refused():
    with pytest.raises(OptionError, match="labels_mask is for time series, and label"):
        SourceOptions(label_from="parent", labels_mask="m")


def test_an_empty_file_is_named(tmp_path):
    folder = write_images(tmp_path / "all", "a/1.png", "b/1.png")
    (tmp_path / "all/a/2.png").touch()
    with pytest.raises(DataError, match=r"a/2\.png: an image .* the file is empty"):
        load_one(folder)


def test_an_empty_file_can_be_left_out(tmp_path):
    folder = write_images(tmp_path / "all", "a/1.png", "b/1.png")
    (tmp_path / "all/a/2.png").touch()
    assert len(load_one(folder, handle_invalid="skip").features) == 2


def test_an_empty_image_of_a_table_is_told_as_such(tmp_path):
    folder = write_images(tmp_path / "all", "a.png")
    content = [(Path(folder) / "a.png").read_bytes(), b""]
    path = write_parquet(tmp_path / "x.parquet", {"x": content})
    with pytest.raises(DataError, match="must hold images, row 1 is empty"):
        load_one(path, features="x", require_labels=False)


def test_a_class_without_images_keeps_its_number(tmp_path):
    folder = write_images(tmp_path / "all", "a/1.png", "c/1.png")
    for name in ("b", "_hidden", "d"):
        (tmp_path / "all" / name).mkdir()
    (tmp_path / "all/d/.keep").touch()
    source = open_path(folder)
    assert source.class_names == ("a", "b", "c", "d")
    batch = load_one(folder, n_classes=4, key="path")
    classes = dict(zip(batch.keys.tolist(), batch.labels.argmax(axis=1), strict=True))
    assert classes == {f"{folder}/a/1.png": 0, f"{folder}/c/1.png": 2}


def test_what_is_beside_the_directory_that_was_given_is_no_class(tmp_path):
    folder = write_images(tmp_path / "all", "a/1.png")
    (tmp_path / "all/b").mkdir()
    assert open_path(f"{folder}/a").class_names == ("a",)


def test_classes_of_parts_below_count_together(tmp_path):
    folder = write_images(tmp_path / "all", "train/a/1.png", "more/c/1.png")
    (tmp_path / "all/train/b").mkdir()
    assert open_path(folder).class_names == ("a", "b", "c")
