"""Names that reach into structs, for features, labels and keys."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import ColumnError, CorruptFileError
from daskdl_bridge.readers.nested import field_of, type_of, with_type
from daskdl_bridge.source import PathSources
from tests.unit.bridge import test_tfrecord as tfrecord
from tests.unit.bridge.table_files import (
    load_one,
    open_path,
    write_json,
    write_orc,
    write_parquet,
    write_text,
)

ROWS = [
    {"data": {"x": [1.0, 2.0], "tag": 1}, "ids": {"site": "a", "number": 7}},
    {"data": {"x": [3.0, 4.0], "tag": 0}, "ids": {"site": "b", "number": 8}},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
NAMES = {"features": "data.x", "label": "data.tag", "key": "ids.site"}


@pytest.fixture
def path(tmp_path):
    return write_parquet(tmp_path / "x.parquet", COLUMNS)


@pytest.fixture(params=["parquet", "orc", "json", "table", "avro", "xml"])
def data(request, tmp_path):
    path = tmp_path / f"x.{request.param}"
    if request.param == "avro":
        pytest.importorskip("fastavro", reason="fastavro is not installed")
    return {
        "avro": lambda: write_records(path, ROWS),
        "json": lambda: write_json(path, ROWS),
        "orc": lambda: write_orc(path, COLUMNS),
        "parquet": lambda: write_parquet(path, COLUMNS),
        "table": lambda: pa.table(COLUMNS),
        "xml": lambda: write_text(path, f"<rows>{''.join(map(element, ROWS))}</rows>"),
    }[request.param]()


NUMBERS = {"type": "array", "items": "double"}
TYPES = {"x": NUMBERS, "tag": "int", "site": "string", "number": "int"}


def write_records(path, rows, **more):
    """Write records of records; `more` are types of further fields of the first."""
    import fastavro

    fields = [
        {"name": name, "type": ["null", named(name, rows[0][name], **more)]}
        for name in rows[0]
    ]
    with path.open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, rows)
    return str(path)


def named(name, row, **more):
    types = TYPES | more
    fields = [{"name": one, "type": types[one]} for one in row]
    return {"type": "record", "name": f"of_{name}", "fields": fields}


def element(row):
    """Return a row as XML, lists as several children of one tag."""

    def inside(name, value):
        if isinstance(value, dict):
            within = "".join(inside(*one) for one in value.items())
            return f"<{name}>{within}</{name}>"
        each = value if isinstance(value, list) else [value]
        return "".join(f"<{name}>{one}</{name}>" for one in each)

    return inside("row", row)


@pytest.fixture
def options(data):
    """Return the options that the form needs."""
    return {"row_tag": "row"} if str(data).endswith(".xml") else {}


def test_fields_of_structs_are_columns(data, options):
    options = SourceOptions(**NAMES, **options, n_classes=2)
    (partition,) = open_source(data, options).partitions
    batch = partition.load()
    np.testing.assert_array_equal(batch.features, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(batch.labels, [[0, 1], [1, 0]])
    assert batch.keys.tolist() == ["a", "b"]


def test_keys_of_structs_have_their_type(data, options):
    (partition,) = open_source(data, SourceOptions(**NAMES, **options)).partitions
    assert partition.stored_keys(partition.load().keys).type == pa.string()


def test_fields_of_structs_are_kept(data, options):
    options = SourceOptions(
        features="data.x", keep="ids.site", require_labels=False, **options
    )
    (partition,) = open_source(data, options).partitions
    blocks = [rows.columns for rows in partition.load_rows()]
    assert partition.kept_columns(blocks)["ids.site"].to_pylist() == ["a", "b"]


def test_fields_that_are_no_column_are_refused(data, options):
    options = SourceOptions(**(NAMES | {"label": "data.tog"}), **options)
    with pytest.raises(ColumnError, match=r"column 'data.tog' must (exist|be there)"):
        open_source(data, options)


def test_features_of_tfrecord_bear_their_whole_names(tmp_path):
    made = {"data.x": [1.0, 2.0], "data.tag": [1], "ids.site": [b"a"]}
    path = tfrecord.write(tmp_path / "x.tfrecord", tfrecord.example(**made))
    batch = load_one(path, **NAMES, n_classes=2)
    np.testing.assert_array_equal(batch.features, [[1, 2]])
    assert (batch.labels.tolist(), batch.keys.tolist()) == ([[0, 1]], [b"a"])


def xml_of(*rows, **options):
    """Return a document, and how it is opened."""
    options = {"row_tag": "r", "features": "a.x", "require_labels": False, **options}
    return f"<rows>{''.join(f'<r>{row}</r>' for row in rows)}</rows>", options


def loaded_xml(path, *rows, **options):
    text, options = xml_of(*rows, **options)
    return load_one(write_text(path, text), **options)


def test_a_tag_of_xml_with_a_dot_comes_first(tmp_path):
    row = "<a.x>1</a.x><a><x>2</x></a>"
    assert loaded_xml(tmp_path / "x.xml", row).features.tolist() == [[1]]


def test_elements_of_xml_may_be_deeper(tmp_path):
    row = "<a><b><x>1</x><x>2</x></b></a>"
    batch = loaded_xml(tmp_path / "x.xml", row, features="a.b.x")
    assert batch.features.tolist() == [[1, 2]]


def test_elements_of_xml_that_are_missing_are_null(tmp_path):
    rows = ["<a><x>1</x><k>u</k></a>", "<a><x>2</x></a>", "<a/>", "<b>1</b>"]
    batch = loaded_xml(tmp_path / "x.xml", *rows, key="a.k", handle_invalid="skip")
    assert (batch.features.tolist(), batch.keys.tolist()) == ([[1], [2]], ["u", None])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("<a><y>1</y></a>", r"'a.x' must exist, it does not: 'a' holds 'a.y'"),
        ("<a>1</a>", r"'a.x' must exist, it does not: 'a' holds text"),
        ("<a><x><y>1</y></x></a>", r"'a.x' must hold text: 'a' holds 'a.x.y'"),
        ("<a><x>b</x></a>", r"'a.x' must hold numbers, got 'b'"),
        ("<a><x>1</x></a><a><x>2</x></a>", r"'a' must hold one value a row.* has 2"),
    ],
)
def test_elements_of_xml_that_cannot_be_read_are_refused(tmp_path, row, message):
    with pytest.raises(ColumnError, match=message):
        loaded_xml(tmp_path / "x.xml", row)


def test_elements_within_others_are_told(tmp_path):
    path = write_text(tmp_path / "x.xml", xml_of("<a><x>1</x></a>")[0])
    found = PathSources().look(path, SourceOptions(row_tag="r")).columns
    assert found == {"a.x": "number", "a": "elements"}


def test_what_is_deep_in_xml_counts_by_its_path(tmp_path, monkeypatch):
    monkeypatch.setattr("daskdl_bridge.readers.xml_rows._MOST_BYTES", 100_000)
    row = "<a>" * 200 + "<x/>" * 60 + "</a>" * 200
    with pytest.raises(CorruptFileError, match="a row must have 100000 bytes at most"):
        loaded_xml(tmp_path / "x.xml", row)


def test_fields_of_avro_are_read_beside_such_that_are_not(tmp_path):
    pytest.importorskip("fastavro", reason="fastavro is not installed")
    rows = [{"data": {"x": [1.0], "m": {"a": 1}}}, {"data": {"x": [2.0], "m": {}}}]
    path = write_records(tmp_path / "x.avro", rows, m={"type": "map", "values": "int"})
    batch = load_one(path, features="data.x", require_labels=False)
    np.testing.assert_array_equal(batch.features, [[1], [2]])
    for name in ("data.m", "data"):
        with pytest.raises(ColumnError, match=f"column '{name}' must be there, and no"):
            open_path(path, features="data.x", key=name, require_labels=False)


def test_fields_that_a_later_file_of_avro_lacks_are_refused(tmp_path):
    pytest.importorskip("fastavro", reason="fastavro is not installed")
    write_records(tmp_path / "a.avro", ROWS)
    write_records(tmp_path / "b.avro", [{"data": {"tag": 1}, "ids": {"site": "a"}}])
    _, last = open_path(str(tmp_path), **NAMES).partitions
    with pytest.raises(ColumnError, match=r"b\.avro: column 'data\.x' must exist"):
        last.load()


def test_a_column_that_bears_the_name_comes_first(tmp_path):
    columns = {**COLUMNS, "data.x": [5.0, 6.0]}
    path = write_parquet(tmp_path / "x.parquet", columns)
    batch = load_one(path, **NAMES)
    np.testing.assert_array_equal(batch.features, [[5], [6]])


def test_the_longest_name_that_is_a_column_holds_the_field():
    types = {"a": pa.struct([("b", pa.int8())]), "a.b": pa.struct([("c", pa.int64())])}
    assert type_of("a.b.c", types) == pa.int64()


def test_a_null_struct_has_null_fields():
    column = pa.array([{"a": {"b": 1}}, None, {"a": None}])
    assert field_of(column, "s.a.b", "s").to_pylist() == [1, None, None]


def test_the_type_of_one_field_is_changed_alone():
    types = {"s": pa.struct([("a", pa.int64()), ("b", pa.int64())])}
    changed = with_type("s.b", types, pa.float64())
    assert changed["s"] == pa.struct([("a", pa.int64()), ("b", pa.float64())])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"features": "data.y"},
            r"'data.y' must exist, it does not: 'data' is struct<",
        ),
        ({"label": "data.tag.x"}, r"'data.tag.x' must exist"),
        ({"key": "ids.name"}, r"'ids.name' must exist"),
        ({"features": "date.x"}, r"'date.x' must exist.*The columns are 'data', 'ids'"),
        ({"features": "ids.site"}, r"'ids.site' must hold numbers.*got string"),
    ],
)
def test_fields_that_are_none_or_of_another_type_are_refused(path, names, message):
    with pytest.raises(ColumnError, match=message):
        open_path(path, **(NAMES | names))


def test_text_files_have_no_fields(tmp_path):
    path = write_text(tmp_path / "x.csv", "data,label\n1,0\n")
    with pytest.raises(ColumnError, match=r"column 'data\.x' must exist"):
        open_path(path, features="data.x")


def test_whole_numbers_of_json_may_be_followed_by_fractions(tmp_path):
    rows = [{"s": {"x": 1, "t": "NaN"}} for _ in range(1000)]
    rows += [{"s": {"x": 0.5, "t": "NaN"}}]
    path = write_json(tmp_path / "x.json", rows)
    batch = load_one(path, features="s.x", key="s.t", require_labels=False)
    assert (batch.features[-1, 0], batch.keys[0]) == (0.5, "NaN")


def test_numbers_of_json_that_are_not_finite_are_told_in_structs(tmp_path):
    path = write_json(tmp_path / "x.json", [{"s": {"x": 1.5}}, {"s": {"x": "NaN"}}])
    left = load_one(path, features="s.x", require_labels=False, handle_invalid="skip")
    np.testing.assert_array_equal(left.features, [[1.5]])


def test_rows_whose_struct_is_null_are_skipped(tmp_path):
    column = pa.array([{"x": 1.0}, None, {"x": None}])
    path = write_parquet(tmp_path / "x.parquet", {"s": column})
    left = load_one(path, features="s.x", require_labels=False, handle_invalid="skip")
    np.testing.assert_array_equal(left.features, [[1.0]])


def test_only_the_columns_that_are_named_are_read(path):
    (partition,) = open_path(path, **NAMES).partitions
    assert partition.columns.stored() == ["data", "ids"]


def test_two_keys_make_tuples(path):
    batch = load_one(path, **NAMES | {"key": ("ids.site", "ids.number")})
    assert batch.keys.tolist() == [("a", 7), ("b", 8)]


def test_each_of_two_keys_has_its_type(path):
    names = NAMES | {"key": ("ids.site", "ids.number")}
    (partition,) = open_path(path, **names).partitions
    numbers = np.array([7, 8], object)
    assert partition.stored_keys(numbers, 1).equals(pc.cast(pa.array([7, 8]), "int64"))
