"""Which columns become what, settled before any work."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import ColumnError, DataError, OptionError
from tests.unit.bridge.table_files import load_one, open_path, write_parquet


@pytest.fixture
def path(tmp_path):
    columns = {
        "key": ["a", "b", "c"],
        "label": [0, 2, 1],
        "features": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        "p0": [1, 2, 3],
        "p1": [4.0, 5.0, 6.0],
        "name": ["x", "y", "z"],
        "mask": [[1.0], [0.0], [1.0]],
        "bit": [1, 0, 0],
    }
    return write_parquet(tmp_path / "x.parquet", columns)


def test_features_and_label_are_the_defaults(path):
    batch = load_one(path)
    np.testing.assert_array_equal(batch.features, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(batch.labels, [[0], [2], [1]])
    assert batch.features.dtype == np.float64


def test_columns_stand_side_by_side(path):
    batch = load_one(path, features=("p1", "features", "p0"))
    np.testing.assert_array_equal(batch.features[0], [4, 1, 2, 1])


def test_pattern_stands_for_all_that_match(path):
    assert load_one(path, features="p?").features.shape == (3, 2)


def test_class_numbers_become_one_hot_rows(path):
    labels = load_one(path, n_classes=3).labels
    np.testing.assert_array_equal(labels, np.eye(3)[[0, 2, 1]])


def test_label_columns_stand_side_by_side(path):
    labels = load_one(path, label=("p0", "p1")).labels
    np.testing.assert_array_equal(labels, [[1, 4], [2, 5], [3, 6]])


def test_keys_come_along(path):
    assert load_one(path, key="key").keys.tolist() == ["a", "b", "c"]


def test_masks_come_along(path):
    batch = load_one(path, features_mask="mask", labels_mask="bit")
    np.testing.assert_array_equal(batch.features_mask, [[1], [0], [1]])
    np.testing.assert_array_equal(batch.labels_mask, [[1], [0], [0]])


@pytest.mark.parametrize("option", ["features_mask", "labels_mask"])
def test_a_mask_of_other_numbers_is_refused_with_its_row(path, option):
    with pytest.raises(DataError, match=r"'p0' must hold only 0 and 1, got 2.0 in row"):
        load_one(path, **{option: "p0"})


def test_predictions_need_no_labels(path):
    assert load_one(path, label="missing", require_labels=False).labels is None


def test_named_inputs_make_a_multi_data_set(path):
    batch = load_one(
        path,
        features={"left": "features", "right": ("p0", "p1")},
        label={"out": "label"},
        n_classes=3,
        key="key",
    )
    assert isinstance(batch, MultiDataSet)
    assert [array.shape for array in batch.features] == [(3, 2), (3, 2)]
    assert [array.shape for array in batch.labels] == [(3, 3)]
    assert batch.keys.tolist() == ["a", "b", "c"]


def test_feature_shape_is_given_to_each_example(path):
    assert load_one(path, feature_shape=(1, 2, 1)).features.shape == (3, 1, 2, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "featurs"}, r"column 'featurs' must exist.*mean 'features'\?"),
        ({"features": ("p0", "p7")}, r"column 'p7' must exist"),
        ({"features": "q*"}, r"column 'q\*' must exist"),
        ({"label": "labl"}, r"column 'labl' must exist.*mean 'label'\?"),
        ({"key": "kye"}, r"column 'kye' must exist.*mean 'key'\?"),
        ({"features_mask": "msk"}, r"column 'msk' must exist.*mean 'mask'\?"),
        ({"features": "name"}, r"column 'name' must hold numbers.*got string"),
        ({"label": "name"}, r"column 'name' must hold numbers.*got string"),
    ],
)
def test_bad_columns_are_refused_before_any_work(path, options, message):
    with pytest.raises(ColumnError, match=message):
        open_path(path, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 3}, r"'features' must hold 3 numbers an example, got 2"),
        ({"feature_shape": (1, 3)}, r"'features' must hold 3 numbers"),
        ({"features": "p?", "n_features": 3}, r"'p0, p1' must hold 3 numbers"),
    ],
)
def test_wrong_width_is_refused(path, options, message):
    with pytest.raises(ColumnError, match=message):
        load_one(path, **options)


@pytest.mark.parametrize("option", ["n_features", "features_mask", "labels_mask"])
def test_options_for_one_input_are_refused_with_several(path, option):
    inputs = {"a": "p0", "b": "p1"}
    value = 1 if option == "n_features" else "mask"
    with pytest.raises(OptionError, match=rf"{option} is for one input"):
        open_path(path, features=inputs, **{option: value})


@pytest.mark.parametrize("option", ["features", "label"])
def test_missing_default_column_is_an_option_to_give(tmp_path, option):
    columns = {"features": [[1.0]], "label": [1], "x": [1]}
    del columns[option]
    path = write_parquet(tmp_path / "y.parquet", columns)
    with pytest.raises(OptionError, match=rf"{option} must name a column, got None"):
        open_path(path)


def test_label_outside_the_classes_is_refused_with_its_row(path):
    with pytest.raises(DataError, match=r"integers from 0 to 1, got 2 in row 1"):
        load_one(path, n_classes=2)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e300])
def test_number_that_is_not_finite_is_refused_with_column_and_row(tmp_path, bad):
    columns = {"a": [1.0, 2.0], "b": [1.0, bad], "label": [0, 1]}
    path = write_parquet(tmp_path / "x.parquet", columns)
    with pytest.raises(DataError, match=r"'b' must hold finite numbers, got .* row 1"):
        load_one(path, features=("a", "b"), dtype="float32")


def test_keys_of_any_type_come_unchanged(tmp_path):
    keys = {
        "long": pa.array([2**53 + 1, -1]),
        "nullabl": pa.array([2**53 + 1, None]),
        "struct": pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": None}]),
        "list": pa.array([[1, 2], [3, 4]]),
        "bytes": pa.array([b"a", b"b"]),
    }
    path = write_parquet(tmp_path / "x.parquet", {**keys, "features": [1.0, 2.0]})
    for name, column in keys.items():
        batch = load_one(path, key=name, require_labels=False)
        assert batch.keys.tolist() == column.to_pylist()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("123456789012345678901234", Decimal("123456789012345678901234")),
        ("2024-02-29", np.datetime64("2024-02-29")),
        ("2024-02-29 12%3A30%3A00", np.datetime64("2024-02-29T12:30:00")),
        ("__HIVE_DEFAULT_PARTITION__", None),
    ],
)
def test_key_of_a_directory_has_the_type_of_its_column(tmp_path, text, value):
    directory = tmp_path / f"g={text}"
    directory.mkdir()
    write_parquet(directory / "x.parquet", {"features": [1.0, 2.0]})
    source = open_path(tmp_path, key="g", require_labels=False)
    (partition,) = source.partitions
    keys = partition.load().keys
    assert list(keys) == [value] * 2
    (key_type,) = partition.columns.key_types
    assert partition.stored_keys(keys).type == key_type


def test_a_directory_of_dates_is_no_feature(tmp_path):
    directory = tmp_path / "g=2024-02-29"
    directory.mkdir()
    for content, ending in (
        (b"a\n1\n", "csv"),
        (b'{"a": 1}\n', "json"),
        (b"0 1:1\n", "svm"),
    ):
        path = directory / f"x.{ending}"
        path.write_bytes(content)
        with pytest.raises(ColumnError, match=r"'g' must hold numbers.*got date32"):
            open_path(path, features="g", require_labels=False)


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_labels_that_are_text_are_refused_with_what_to_do(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    if ending == "parquet":
        write_parquet(path, {"features": [1.0, 2.0], "label": ["cat", "dog"]})
    elif ending == "csv":
        path.write_text("features,label\n1,cat\n2,dog\n")
    else:
        path.write_text('{"features": 1, "label": "cat"}\n')
    with pytest.raises(ColumnError, match=r"class_names, .* by StringIndexer"):
        load_one(path)


def test_dictionary_columns_are_read_as_their_values(tmp_path):
    columns = {
        "features": pa.array([1.5, 2.5, 1.5]).dictionary_encode(),
        "key": pa.array(["u", "v", "u"]).dictionary_encode(),
    }
    path = write_parquet(tmp_path / "x.parquet", columns)
    batch = load_one(path, key="key", require_labels=False)
    np.testing.assert_array_equal(batch.features, [[1.5], [2.5], [1.5]])
    assert batch.keys.tolist() == ["u", "v", "u"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "LABEL"}, "Did you mean 'label'"),
        ({"features": "p0, p1"}, "Several columns are given as a list"),
    ],
)
def test_what_users_of_spark_write_is_answered_with_what_they_mean(
    path, options, message
):
    with pytest.raises(ColumnError, match=message):
        open_path(path, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["p0", "p0"]}, "features must name each column once, got 'p0'"),
        ({"label": ["p0", "p1", "p0"]}, "label must name each column once, got 'p0'"),
        ({"key": ["key", "key"]}, "key must name each column once, got 'key'"),
        ({"key": 3}, "key must be a column name or several, got 3"),
        ({"labels_mask": 3}, "labels_mask must be the name of one column, got 3"),
    ],
)
def test_columns_that_make_no_sense_are_refused(path, options, message):
    with pytest.raises(OptionError, match=message):
        open_path(path, **options)


def test_raw_doubles_in_bytes_keep_their_precision(tmp_path):
    raw = np.array([1 + 2**-40, 2.0]).tobytes()
    path = write_parquet(tmp_path / "x.parquet", {"x": [raw, raw]})
    batch = load_one(path, features="x", n_features=2, require_labels=False)
    assert batch.features[0].tolist() == [1 + 2**-40, 2.0]
