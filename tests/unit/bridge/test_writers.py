"""Results in forms beside Parquet. That Spark reads them is tried in tests/spark."""

import datetime
import decimal
import json
import pickle
import re

import numpy as np
import pyarrow as pa
import pytest

from daskdl.data.sinks import open_sink
from daskdl.errors import DataError, OptionError
from daskdl_bridge.readers.vectors import encode_sparse, encode_vectors
from daskdl_bridge.writers.csv import encode_csv
from daskdl_bridge.writers.formats import WRITERS
from daskdl_bridge.writers.json import encode_json
from daskdl_bridge.writers.parquet import encode_parquet
from daskdl_bridge.writers.pickle import encode_pickle
from daskdl_bridge.writers.python_values import python_values
from daskdl_bridge.writers.sequence_file import encode_sequence_pairs
from tests.unit.bridge.table_files import load_one

DAY = datetime.date(2024, 1, 2)


def written(tmp_path, output_format, *parts):
    sink = open_sink(str(tmp_path / "out"), format=output_format)
    sink.prepare()
    sink.commit([sink.write_part(i, part) for i, part in enumerate(parts)])
    return tmp_path / "out"


def regression(*keys):
    return {"key": keys, "prediction": np.arange(1.0, len(keys) + 1)}


@pytest.mark.parametrize("output_format", WRITERS)
def test_keys_and_numbers_come_back(tmp_path, output_format):
    output = written(tmp_path, output_format, regression("a", "b\n"), regression())
    of_pairs = {"sequence_file": "value", "pickle": "_c1"}
    read = load_one(
        str(output),
        features=of_pairs.get(output_format, "prediction"),
        key="_c0" if output_format == "pickle" else "key",
        require_labels=False,
        **({"multi_line": True} if output_format == "csv" else {}),
    )
    assert read.keys.tolist() == ["a", "b\n"]
    assert read.features.ravel().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("output_format", ["json", "pickle"])
def test_vectors_come_back(tmp_path, output_format):
    part = {"key": ["a"], "prediction": np.array([[0.5, -2.0]])}
    output = written(tmp_path, output_format, part)
    name = "prediction" if output_format == "json" else "value"
    read = load_one(str(output), features=name, key="key", require_labels=False)
    assert read.features.tolist() == [[0.5, -2.0]]


def test_an_unknown_format_is_refused_at_once(tmp_path):
    with pytest.raises(OptionError, match=r"format must be one of 'csv', 'json', 'par"):
        open_sink(str(tmp_path / "out"), format="orc")


@pytest.mark.parametrize("output_format", WRITERS)
def test_types_are_checked_without_rows(tmp_path, output_format):
    sink = open_sink(str(tmp_path / "out"), format=output_format)
    keys = pa.array([], pa.uint64())
    with pytest.raises(DataError, match=r"must have a type that Spark knows"):
        sink.check_columns({"key": keys, "prediction": np.zeros(0)})


DATES = pa.array([], pa.date32())
MAPS = pa.array([], pa.map_(pa.int32(), pa.string()))


@pytest.mark.parametrize(
    ("encode", "columns", "message"),
    [
        (encode_csv, {"x": [b"a"]}, "'x' must hold no bytes, which have no form in C"),
        (encode_csv, {"x": MAPS}, "maps of column 'x' must have texts for keys in J"),
        (encode_json, {"x": MAPS}, "maps of column 'x' must have texts for keys in J"),
        (
            encode_json,
            {"x": pa.array([], pa.list_(pa.struct([("a", MAPS.type)])))},
            "maps of column 'x' must have texts for keys",
        ),
        (encode_pickle, {"x": [1]}, "must have a value beside the key, got 'x' alone"),
        (encode_sequence_pairs, {"x": [1]}, "must have a value beside the key"),
        (encode_sequence_pairs, {"x": DATES, "y": DATES}, "'x' must hold texts, bytes"),
        (
            encode_sequence_pairs,
            {"x": [[1]], "y": [1]},
            "keys in 'x' must be texts, bytes, numbers or booleans in a SequenceFile",
        ),
        (
            encode_sequence_pairs,
            {"x": ["a", None], "y": [1, 2]},
            "'x' must have no null in a SequenceFile, row 1 has",
        ),
        (
            encode_sequence_pairs,
            {"x": ["a", "b"], "y": [1, None]},
            "'y' must have no null in a SequenceFile, row 1 has",
        ),
    ],
)
def test_what_a_format_has_no_form_for_is_refused(encode, columns, message):
    with pytest.raises(DataError, match=re.escape(message)):
        encode(columns)


def test_json_has_what_spark_takes_for_each_value():
    columns = {
        "text": ['a"\n\u00e9'],
        "nothing": pa.array([None], pa.int32()),
        "number": np.array([np.nan]),
        "vector": np.array([[np.inf, -np.inf, 1e16]]),
        "bytes": [b"\0\xff"],
        "decimal": [decimal.Decimal("1E+3")],
        "day": [DAY],
        "flag": [True],
        "row": [{"a": None, "b": [1]}],
        "map": pa.array([[("k", None)]], pa.map_(pa.string(), pa.int32())),
    }
    data, rows = encode_json(columns)
    assert rows == 1
    assert data.decode() == (
        '{"text":"a\\"\\n\u00e9","number":"NaN",'
        '"vector":["Infinity","-Infinity",1e+16],"bytes":"AP8=","decimal":1000,'
        '"day":"2024-01-02","flag":true,"row":{"a":null,"b":[1]},"map":{"k":null}}\n'
    )


@pytest.mark.parametrize(
    ("difference", "text"),
    [
        (datetime.timedelta(0), "0 00:00:00"),
        (datetime.timedelta(days=3, microseconds=40), "3 00:00:00.000040"),
        (-datetime.timedelta(hours=25, seconds=61), "-1 01:01:01"),
    ],
)
def test_time_differences_are_intervals_of_sql(difference, text):
    text = f"INTERVAL '{text}' DAY TO SECOND"
    assert encode_csv({"x": [difference]})[0].decode() == f"x\n{text}\n"
    assert json.loads(encode_json({"x": [difference]})[0]) == {"x": text}


def test_csv_tells_null_from_an_empty_text():
    columns = {"key": ["a", "", None, "b"], "x": [1, None, 2, 3]}
    assert encode_csv(columns)[0] == b'key,x\na,1\n"",\n,2\nb,3\n'


def test_csv_has_no_empty_lines():
    assert encode_csv({"x": pa.array([None, "a"])})[0] == b'x\n""\na\n'


def test_csv_quotes_and_escapes_what_would_be_read_otherwise():
    texts = ['a,"b"', "C:\\new", "C:\\new,", " a", "a\t", "a\nb"]
    lines = encode_csv({"x": texts})[0].decode().split("\n", 1)[1]
    assert lines == ('"a,\\"b\\""\nC:\\new\n"C:\\\\new,"\n" a"\n"a\t"\n"a\nb"\n')


def test_csv_has_lists_as_json():
    data, _ = encode_csv({"x": np.array([[0.5, np.nan]]), "y": [{"a": "b"}]})
    assert data == b'x,y\n"[0.5,\\"NaN\\"]","{\\"a\\":\\"b\\"}"\n'


def test_json_and_csv_give_the_shortest_digits_of_doubles():
    number = 0.1 + 0.2
    assert json.loads(encode_json({"x": [number]})[0])["x"] == number
    assert float(encode_csv({"x": [number]})[0].split()[1]) == number


def test_sparse_vectors_are_written_out():
    vectors = encode_sparse(np.array([1, 0]), np.array([2]), np.array([0.5]), width=3)
    both = pa.concat_arrays([vectors, pa.nulls(1, vectors.type)])
    assert python_values(both) == [[0.0, 0.0, 0.5], [0.0, 0.0, 0.0], None]


def test_vectors_that_are_null_are_none():
    dense = encode_vectors(np.array([[0.5, 1.0], [2.0, 3.0]]))
    children = [dense.field(name.name) for name in dense.type]
    mask = pa.array([False, True])
    vectors = pa.StructArray.from_arrays(children, fields=list(dense.type), mask=mask)
    assert python_values(vectors) == [[0.5, 1.0], None]


@pytest.mark.parametrize("encode", [encode_json, encode_parquet])
def test_columns_of_different_lengths_are_refused(encode):
    with pytest.raises(DataError, match=r"columns must have one length"):
        encode({"x": [1], "y": [1, 2]})


def test_pickles_need_nothing_beside_python():
    """Instants have a time zone of Python's, and no array is one of NumPy."""
    instant = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)
    part = {
        "key": pa.array([[instant]], pa.list_(pa.timestamp("us", "Europe/Berlin"))),
        "prediction": np.array([[0.5]], "float32"),
    }
    data, _ = encode_pickle(part)
    start = data.index(b"\x80\x04")
    ((key, value),) = pickle.loads(data[start:])
    assert (repr(key), value) == (repr([instant]), [0.5])


def test_a_class_follows_from_its_probabilities():
    """Another column that begins with the same word does not."""
    part = {
        "key": ["a"],
        "prediction": [1.0],
        "probability": np.array([[0.25, 0.75]]),
        "prediction_by_hand": [0.0],
        "probability_by_hand": [1.0],
    }
    data, _ = encode_pickle(part)
    ((_, value),) = pickle.loads(data[data.index(b"\x80\x04") :])
    assert list(value) == ["probability", "prediction_by_hand", "probability_by_hand"]
