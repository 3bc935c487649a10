"""Dask data frames: columns, rows that are left out or kept, and what is refused."""

import dask
import numpy as np
import pyarrow as pa
import pytest

from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import ColumnError, DataError, OptionError

cloudpickle = pytest.importorskip("cloudpickle", reason="comes with dask")

NAN = float("nan")


@pytest.fixture(autouse=True)
def _lists_stay_lists():
    """Dask would turn them into text."""
    with dask.config.set({"dataframe.convert-string": False}):
        yield


def partitions(data, **options):
    return open_source(data, SourceOptions(**options)).partitions


def load_all(data, **options):
    return [partition.load() for partition in partitions(data, **options)]


def frame(columns, npartitions=2):
    pd = pytest.importorskip("pandas", reason="data frames need dask[dataframe]")
    with pytest.MonkeyPatch.context() as patch:
        # Dask 2024 warns at import that query planning needs another package.
        patch.setattr("warnings.warn", lambda *_, **__: None)
        dd = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")
    return dd.from_pandas(pd.DataFrame(columns), npartitions=npartitions)


def test_columns_of_a_data_frame_stand_side_by_side():
    table = {"a": [1.0, 2.0, 3.0], "b": [4, 5, 6], "y": [0, 1, 0], "id": list("xyz")}
    loaded = load_all(
        frame(table), features=("a", "b"), label="y", n_classes=2, key="id"
    )
    features = np.concatenate([part.features for part in loaded])
    np.testing.assert_array_equal(features, [[1, 4], [2, 5], [3, 6]])
    assert [key for part in loaded for key in part.keys] == ["x", "y", "z"]
    assert loaded[0].labels.shape[1] == 2


def test_several_columns_of_a_data_frame_make_tuples_of_keys():
    table = {"a": [1.0, 2.0], "u": ["x", "y"], "v": [3, 4]}
    loaded = load_all(frame(table), features="a", key=("u", "v"), require_labels=False)
    keys = [key for part in loaded for key in part.keys]
    assert keys == [("x", 3), ("y", 4)]


def test_rows_of_a_data_frame_are_not_known_before():
    table = {"a": [1.0, 2.0], "y": [0.5, 1.5]}
    parts = partitions(frame(table), features="a", label="y")
    assert [part.rows for part in parts] == [None, None]


def test_a_partition_of_a_data_frame_loads_in_any_process():
    table = {"a": [1.0, 2.0], "y": [0.5, 1.5]}
    (first, _) = partitions(frame(table), features="a", label="y")
    again = cloudpickle.loads(cloudpickle.dumps(first))
    np.testing.assert_array_equal(again.load().features, [[1.0]])


def test_a_column_of_lists_becomes_rows():
    table = {"v": [[1.0, 2.0], [3.0, 4.0]], "y": [0.0, 1.0]}
    (loaded,) = load_all(frame(table, 1), features="v", label="y")
    np.testing.assert_array_equal(loaded.features, [[1, 2], [3, 4]])


def test_inputs_by_name_make_a_multi_data_set():
    table = {"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [0.0, 1.0]}
    (loaded,) = load_all(
        frame(table, 1), features={"left": "a", "right": ("a", "b")}, label={"out": "y"}
    )
    assert [array.shape for array in loaded.features] == [(2, 1), (2, 2)]
    assert [array.shape for array in loaded.labels] == [(2, 1)]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            [1.0, np.nan],
            r"^dask partition 0: column 'a' .* in every row, row 1 is null\.$",
        ),
        (["u", "v"], r"^dask .*: column 'a' must hold numbers, .* got (large_)?string"),
        (
            [[1.0], [1.0, 2.0]],
            r"column 'a' must hold lists of one length; row 0 has 1, row 1 has 2",
        ),
    ],
)
@pytest.mark.parametrize("features", ["a", ("b", "a")])
def test_a_bad_value_is_named_with_its_column(column, message, features):
    table = {"a": column, "b": [0.0, 1.0], "y": [0.0, 1.0]}
    with pytest.raises(DataError, match=message):
        load_all(frame(table, 1), features=features, label="y")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"label": "y"},
            OptionError,
            "features must name a column, got None",
        ),
        ({"features": "a"}, OptionError, "label must name a column, got None"),
        (
            {"features": "aa", "label": "y"},
            ColumnError,
            r"The columns are 'a', 'y'\. Did you mean 'a'\?$",
        ),
    ],
)
def test_columns_that_are_not_there_are_refused(options, error, message):
    table = {"a": [1.0, 2.0], "y": [0.5, 1.5]}
    with pytest.raises(error, match=message):
        partitions(frame(table), **options)


# Rows 1 and 2 cannot be used.
ROWS = {"x": [1.0, NAN, 3.0, 4.0], "y": [0, 1, 7, 1], "id": list("abcd")}


@pytest.mark.parametrize("npartitions", [1, 2])
def test_rows_that_cannot_be_used_are_left_out(npartitions):
    loaded = load_all(
        frame(ROWS, npartitions),
        features="x",
        label="y",
        key="id",
        n_classes=2,
        handle_invalid="skip",
    )
    assert [key for part in loaded for key in part.keys] == ["a", "d"]


def test_or_kept_beside_further_columns():
    how = {"features": "x", "key": "id", "keep": "y", "require_labels": False}
    (partition,) = partitions(frame(ROWS, 1), handle_invalid="keep", **how)
    (rows,) = partition.load_rows()
    assert rows.keys.tolist() == list("abcd")
    assert rows.are_valid().tolist() == [True, False, True, True]
    kept = partition.kept_columns([rows.columns])["y"]
    assert (kept.type, kept.to_pylist()) == (pa.int64(), [0, 1, 7, 1])


def test_texts_are_kept_if_dask_knows_that_they_are():
    pd = pytest.importorskip("pandas", reason="data frames need dask[dataframe]")
    how = {"features": "y", "require_labels": False}
    objects = frame(ROWS | {"id": pd.Series(ROWS["id"], dtype=object)})
    with pytest.raises(ColumnError, match=r"got 'id' of objects .* astype"):
        partitions(objects, keep="id", **how)
    texts = pd.array(ROWS["id"], "string[pyarrow]")
    (first, _) = partitions(frame(ROWS | {"id": texts}), keep="id", **how)
    (rows,) = first.load_rows()
    assert first.kept_columns([rows.columns])["id"].to_pylist() == ["a", "b"]


def test_columns_of_lists_are_time_series():
    table = {"v": [[1.0, 2.0], [3.0]], "y": [0.0, 1.0]}
    (loaded,) = load_all(frame(table, 1), features="v", label="y", align="start")
    np.testing.assert_array_equal(loaded.features, [[[1, 2]], [[3, 0]]])


def test_columns_of_arrays_keep_their_axes():
    table = {"v": [np.ones((2, 3)), np.zeros((2, 3))]}
    (loaded,) = load_all(frame(table, 1), features="v", require_labels=False)
    assert loaded.features.shape == (2, 2, 3)


def test_a_partition_of_nothing_but_null_has_no_examples():
    table = {"v": [[1.0], [2.0], None, None]}
    loaded = load_all(
        frame(table), features="v", require_labels=False, handle_invalid="skip"
    )
    assert [part.num_examples for part in loaded] == [2, 0]


def test_masked_arrays_are_refused():
    table = {"v": [np.ma.array([1.0, 2.0], mask=[False, True])]}
    with pytest.raises(DataError, match=r"dask partition 0: column 'v' .* mask"):
        load_all(frame(table, 1), features="v", require_labels=False)


def test_what_no_column_holds_is_refused():
    table = {"v": [1.0, "a"]}
    with pytest.raises(ColumnError, match=r"partition 0: column 'v' must hold numbers"):
        load_all(frame(table, 1), features="v", require_labels=False)


def test_texts_are_refused_as_features_before_work():
    pd = pytest.importorskip("pandas", reason="data frames need dask[dataframe]")
    texts = pd.array(["u"], "string[pyarrow]")
    with pytest.raises(ColumnError, match=r"dask data frame: column 'v' must hold num"):
        partitions(frame({"v": texts}, 1), features="v", require_labels=False)


def test_formats_of_files_are_refused():
    with pytest.raises(OptionError, match="format must be None for Dask collections"):
        partitions(frame(ROWS), features="x", format="csv")


def test_options_of_files_are_refused():
    with pytest.raises(OptionError, match="for Dask data frames, got merge_schema"):
        partitions(frame(ROWS), features="x", merge_schema=True)


@pytest.mark.parametrize("form", ["memory", "csv", "parquet"])
def test_filters_of_a_frame_are_kept(tmp_path, form):
    dd = pytest.importorskip("dask.dataframe", reason="frames need dask[dataframe]")
    pd = pytest.importorskip("pandas", reason="frames need pandas")
    table = pd.DataFrame({"x": [1.0, 3.0, 4.0], "y": [1, 0, 1], "z": [1, 2, 3]})
    table.to_csv(tmp_path / "x.csv", index=False)
    table.to_parquet(tmp_path / "x.parquet")
    frame = {
        "memory": lambda: dd.from_pandas(table, npartitions=1),
        "csv": lambda: dd.read_csv(str(tmp_path / "x.csv")),
        "parquet": lambda: dd.read_parquet(str(tmp_path / "x.parquet")),
    }[form]()
    loaded = load_all(frame[frame.x > 2], features="x", label="y")
    assert np.concatenate([one.features for one in loaded]).tolist() == [[3.0], [4.0]]


def test_a_name_of_two_columns_is_refused():
    twice = frame({"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [0, 1]})
    twice.columns = ["a", "a", "y"]
    with pytest.raises(ColumnError, match="a name of its own, got 'a' several times"):
        partitions(twice, features="a", label="y")


def test_a_name_of_two_columns_in_memory_is_refused_where_it_is_used():
    pd = pytest.importorskip("pandas", reason="data frames need dask[dataframe]")
    names = ["a", "b", "y", "a"]
    twice = pa.table([pa.array([0.5, 1.5])] * len(names), names=names)
    (part,) = partitions(twice, features="b", label="y")
    np.testing.assert_array_equal(part.load().features, [[0.5], [1.5]])
    of_pandas = pd.DataFrame([[0.5, 1.5, 0.0, 0.5]], columns=names)
    for data in (twice, of_pandas):
        with pytest.raises(ColumnError, match="name of its own, got 'a' several"):
            partitions(data, features="a", label="y")


def test_the_index_of_a_table_in_memory_is_no_column():
    pd = pytest.importorskip("pandas", reason="data frames need dask[dataframe]")
    columns = {"a0": [0.5, 1.5], "b0": [2.5, 3.5], "y": [0, 1]}
    table = pd.DataFrame(columns, index=[7, 9])
    (part,) = partitions(table, features="*0*", label="y")
    np.testing.assert_array_equal(part.load().features, [[0.5, 2.5], [1.5, 3.5]])
