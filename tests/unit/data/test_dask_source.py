import dask
import numpy as np
import pytest

from daskdl.data.plan import plan_minibatches
from daskdl.data.reader import MinibatchReader
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import ColumnError, DataError, OptionError, ShapeError

da = pytest.importorskip("dask.array", reason="dask arrays need dask[array]")
cloudpickle = pytest.importorskip("cloudpickle", reason="comes with dask")


@pytest.fixture(autouse=True)
def _lists_stay_lists():
    """Dask would turn them into text."""
    with dask.config.set({"dataframe.convert-string": False}):
        yield


def partitions(data, **options):
    return open_source(data, SourceOptions(**options)).partitions


def pair(n=10, chunk=4):
    x = da.from_array(np.arange(2.0 * n).reshape(n, 2), chunks=(chunk, 1))
    y = da.from_array(np.arange(n) % 3, chunks=5)
    return x * 2, y


def frame(columns, npartitions=2):
    pd = pytest.importorskip("pandas", reason="data frames need dask[dataframe]")
    with pytest.MonkeyPatch.context() as patch:
        # Dask 2024 warns at import that query planning needs another package.
        patch.setattr("warnings.warn", lambda *_, **__: None)
        dd = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")
    return dd.from_pandas(pd.DataFrame(columns), npartitions=npartitions)


def load_all(data, **options):
    return [partition.load() for partition in partitions(data, **options)]


def test_one_partition_a_chunk_of_the_features():
    parts = partitions(pair(), n_classes=3)
    assert [(p.name, p.rows) for p in parts] == [
        ("dask chunk 0", 4),
        ("dask chunk 1", 4),
        ("dask chunk 2", 2),
    ]


def test_partitions_together_are_the_arrays():
    x, y = pair()
    loaded = load_all((x, y), n_classes=3)
    features = np.concatenate([part.features for part in loaded])
    labels = np.concatenate([part.labels for part in loaded])
    np.testing.assert_array_equal(features, x.compute())
    np.testing.assert_array_equal(labels.argmax(axis=1), y.compute())
    assert (features.dtype, labels.dtype) == (x.dtype, np.float64)


def test_a_partition_carries_its_own_chunk_only():
    x = da.from_array(np.zeros((100, 1000)), chunks=(10, -1))
    (first, *_) = partitions(x + 1, require_labels=False)
    assert len(cloudpickle.dumps(first)) < 2 * 10 * 1000 * 8


def test_a_partition_loads_in_any_process():
    (first, *_) = partitions(pair(), n_classes=3)
    again = cloudpickle.loads(cloudpickle.dumps(first)).load()
    np.testing.assert_array_equal(again.features, first.load().features)


def test_partitions_compute_in_their_own_thread():
    """The default scheduler may be a cluster that waits for this very task."""
    x, y = pair()
    parts = partitions((x, y), n_classes=3)
    with dask.config.set(scheduler="no such scheduler"):
        assert parts[0].load().num_examples == 4


def test_images_are_joined_along_their_axes():
    images = da.from_array(np.arange(96.0).reshape(4, 2, 3, 4), chunks=(2, 1, 2, 2))
    (first, _) = load_all(images, require_labels=False)
    np.testing.assert_array_equal(first.features, np.arange(48.0).reshape(2, 2, 3, 4))


def test_unknown_chunk_sizes_are_no_known_rows():
    x, y = pair()
    keep = da.from_array(np.arange(10) % 2 == 0, chunks=4)
    x, y = x.rechunk((4, 2))[keep], y.rechunk(4)[keep]
    parts = partitions((x, y), n_classes=3)
    assert [part.rows for part in parts] == [None] * 3
    assert [part.load().num_examples for part in parts] == [2, 2, 1]


def test_a_plan_over_dask_chunks_reads_every_row(rng):
    values = rng.normal(size=(23, 3))
    source = open_source(
        da.from_array(values, chunks=(5, -1)),
        SourceOptions(require_labels=False, dtype="float64"),
    )
    plan = plan_minibatches([part.rows for part in source.partitions], 4)
    reader = MinibatchReader(source.partitions)
    read = np.concatenate([reader.read(m).features for m in plan])
    np.testing.assert_array_equal(read, values)


def test_a_bad_label_is_named_with_its_chunk():
    x = da.zeros((6, 2), chunks=(3, 2))
    y = da.from_array(np.array([0, 1, 2, 0, 7, 1]), chunks=3)
    with pytest.raises(
        DataError,
        match=r"^dask chunk 1: column 'label' must hold integers from 0 to 2, got 7 in "
        r"row 1\.$",
    ):
        load_all((x, y), n_classes=3)


def test_a_value_that_is_not_finite_is_named_with_its_chunk():
    x = da.from_array(np.array([[0.0], [1.0], [np.nan]]), chunks=(2, 1))
    with pytest.raises(
        DataError, match=r"^dask chunk 1: column 'features' .* row 0\.$"
    ):
        load_all(x, require_labels=False)


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        (pair(), {"features": "x"}, OptionError, "features must be None for dask arr"),
        (pair(), {"format": "csv"}, OptionError, "format must be None for Dask coll"),
        (pair()[0], {}, DataError, "must be a pair of features and labels"),
        (
            (da.zeros((4, 2)), da.zeros(5)),
            {},
            ShapeError,
            r"same number of rows, got \{'features': 4, 'label': 5\}",
        ),
        (
            da.zeros(()),
            {"require_labels": False},
            ShapeError,
            "must have an axis of row",
        ),
    ],
)
def test_what_cannot_be_opened_is_refused(data, options, error, message):
    with pytest.raises(error, match=message):
        partitions(data, **options)


def test_a_collection_persisted_on_a_cluster_is_refused():
    future = type("Future", (), {"__module__": "distributed.client", "result": None})
    persisted = da.Array({("x", 0, 0): future()}, "x", ((2,), (3,)), dtype=float)
    with pytest.raises(
        DataError, match=r"got one that was persisted .* before persist"
    ):
        partitions(persisted, require_labels=False)


def test_unknown_chunks_of_other_number_are_refused():
    x = da.zeros((6, 2), chunks=(2, 2))[da.ones(6, chunks=2) > 0]
    with pytest.raises(ShapeError, match=r"same number of chunks .* got 2 and 3"):
        partitions((x, da.zeros(6, chunks=3)))


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
        ([1.0, np.nan], r"^dask partition 0: column 'a' must hold finite .* row 1\.$"),
        (["u", "v"], r"^dask partition 0: column 'a' .* got 'u' in row 0\.$"),
        (
            [[1.0], [1.0, 2.0]],
            r"rows of one shape, \(1,\) as in row 0, got \(2,\) in r",
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
            "features must name the columns to use, got None",
        ),
        ({"features": "a"}, OptionError, "label must name a column, got None"),
        (
            {"features": "aa", "label": "y"},
            ColumnError,
            r"columns 'a', 'y' are there, got 'aa'\. Did you mean 'a'\?$",
        ),
    ],
)
def test_columns_that_are_not_there_are_refused(options, error, message):
    table = {"a": [1.0, 2.0], "y": [0.5, 1.5]}
    with pytest.raises(error, match=message):
        partitions(frame(table), **options)


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
