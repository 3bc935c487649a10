"""View types of Arrow are taken as the plain types, in all roles."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl.data.sources.source import SourceOptions, open_source
from daskdl_bridge.readers.view_types import plain_column, plain_schema, plain_table
from tests.unit.bridge.table_files import load_one, open_path

TEXTS = pa.array(["c", "a longer text than twelve", None]).cast(pa.string_view())
BYTES = pa.array([b"c", None, b"a"]).cast(pa.binary_view())


def views(kind=pa.ListViewArray, values=TEXTS):
    """Lists that overlap, in another order than their values, and one that is null."""
    return kind.from_arrays([2, 0, 0, 1], [1, 0, 2, 2], values, mask=flags(0, 1, 0, 0))


def flags(*values):
    return pa.array(map(bool, values))


PLAIN = {
    "text": (TEXTS, pa.string()),
    "bytes": (BYTES, pa.binary()),
    "lists": (views(), pa.list_(pa.string())),
    "large-lists": (views(pa.LargeListViewArray), pa.large_list(pa.string())),
    "of-others": (
        pa.LargeListArray.from_arrays([0, 1, 1, 4], views(values=BYTES)),
        pa.large_list(pa.list_(pa.binary())),
    ),
    "in-structs": (
        pa.StructArray.from_arrays(
            [views(), pa.array([1, 2, 3, 4])], ["a", "b"], mask=flags(0, 0, 1, 0)
        ),
        pa.struct({"a": pa.list_(pa.string()), "b": pa.int64()}),
    ),
    "in-maps": (
        pa.MapArray.from_arrays([0, 2, 2], TEXTS[:2], BYTES[:2]),
        pa.map_(pa.string(), pa.binary()),
    ),
    "of-one-length": (
        pa.FixedSizeListArray.from_arrays(TEXTS[:2], 2),
        pa.list_(pa.string(), 2),
    ),
}


@pytest.mark.parametrize(("array", "kind"), PLAIN.values(), ids=PLAIN)
def test_values_are_those_of_the_views(array, kind):
    for rows in (array, array[1:], array[:0]):
        for column in (rows, pa.chunked_array([rows, array]), pa.chunked_array([rows])):
            plain = plain_column(column)
            plain.validate(full=True)
            assert plain.type == kind
            assert plain.to_pylist() == column.to_pylist()
    assert plain_column(pa.chunked_array([], array.type)).type == kind


def test_values_of_dictionaries_are_plain():
    numbers = pa.array([1, 0, 1], pa.int32())
    plain = plain_column(pa.DictionaryArray.from_arrays(numbers, TEXTS))
    assert plain.type == pa.dictionary(pa.int32(), pa.string())
    assert plain.cast(pa.string()).to_pylist() == [TEXTS[i].as_py() for i in (1, 0, 1)]


def test_table_of_no_views_is_itself():
    table = pa.table({"a": [1.0], "b": ["c"], "c": [[1]], "d": [{"a": 1}]})
    assert plain_table(table) is table
    schema = table.schema
    assert plain_schema(schema) is schema
    # What neither side of a map can be converted to stays for others to refuse.
    in_map = pa.map_(pa.string(), pa.list_view(pa.int64()))
    kept = pa.chunked_array([], in_map)
    assert plain_column(kept) is kept


def table_of_views():
    pairs = pa.ListViewArray.from_arrays(
        [4, 2, 0], [2, 2, 2], pa.array([5.0, 6.0, 3.0, 4.0, 1.0, 2.0])
    )
    images = pa.array([b"\1", b"\2", b"\3"])
    texts = pa.array(["b", "a", "b"])
    return pa.table(
        {
            "x": pa.array([1.0, 2.0, 3.0]),
            "pair": pairs,
            "image": images.cast(pa.binary_view()),
            "kind": texts.cast(pa.string_view()),
            "held": pa.StructArray.from_arrays([texts.cast(pa.string_view())], ["k"]),
        }
    )


def stored(tmp_path):
    path = tmp_path / "views.parquet"
    try:
        pq.write_table(table_of_views(), path)
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow stores no views")
    return str(path)


def loaded(data, **options):
    if isinstance(data, str):
        return load_one(data, **options)
    (partition,) = open_source(data, SourceOptions(**options)).partitions
    return partition.load()


@pytest.fixture(params=["memory", "batch", "parquet"])
def data(request, tmp_path):
    if request.param == "parquet":
        return stored(tmp_path)
    table = table_of_views()
    return table if request.param == "memory" else table.to_batches()[0]


def test_views_are_features(data):
    of_lists = loaded(data, features="pair", require_labels=False)
    assert of_lists.features.tolist() == [[1, 2], [3, 4], [5, 6]]
    of_bytes = loaded(data, features="image", require_labels=False)
    assert of_bytes.features.reshape(-1).tolist() == [1, 2, 3]


@pytest.mark.parametrize("label", ["kind", "held.k"])
def test_views_are_labels(data, label):
    found = loaded(data, features="x", label=label, class_names=["a", "b"])
    assert found.labels.reshape(-1).tolist() == [1, 0, 1]


def test_views_are_keys_and_are_kept(data):
    options = {"features": "x", "key": ["kind", "held.k"], "keep": ["image", "pair"]}
    if isinstance(data, str):
        source = open_path(data, require_labels=False, **options)
    else:
        source = open_source(data, SourceOptions(require_labels=False, **options))
    (partition,) = source.partitions
    assert partition.columns.key_types == (pa.string(), pa.string())
    (rows,) = partition.load_rows()
    assert [list(key) for key in rows.examples.keys] == [
        ["b"] * 2,
        ["a"] * 2,
        ["b"] * 2,
    ]
    assert partition.columns.kept_types == (pa.binary(), pa.list_(pa.float64()))


def test_data_frames_of_views_are_taken():
    pandas = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    kind = pandas.ArrowDtype(pa.string_view())
    frame = pandas.DataFrame({"x": [1.0, 2.0], "kind": pandas.array(["a", "b"], kind)})
    # Dask itself takes views for objects only.
    like = pandas.DataFrame({"x": [1.0], "kind": pandas.Series(["a"], dtype=object)})
    in_dask = dd.from_map(lambda _: frame, [0], meta=like)
    for data in (frame, in_dask):
        found = loaded(data, features="x", label="kind", class_names=["a", "b"])
        assert found.labels.reshape(-1).tolist() == [0, 1]
