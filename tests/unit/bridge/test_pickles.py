"""Pickles: what is read, and that nothing which one names is ever run."""

import array
import collections
import copyreg
import datetime
import decimal
import os
import pickle
import pickletools
import re
import struct
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.readers import pickles
from daskdl_bridge.readers.pickled_classes import LabeledPoint
from daskdl_bridge.readers.pickles import load_pickle
from tests.unit.bridge import spark_classes
from tests.unit.bridge.spark_classes import spark_class

PROTOCOLS = [2, 3, 4, 5]

VALUES = [
    *(None, True, False, 0, 255, 65535, -1, 1 << 31, -(1 << 63), (1 << 63) - 1),
    *(0.5, float("inf"), "", "Zürich", "x" * 300, b"", b"\xff\0", b"x" * 300),
    *((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [1], [1.5, 2.5, 3], [[1], [2]]),
    *({}, {"a": 1}, {"a": 1, "b": [2.5]}, [("a", 1), ("a", 2)]),
]

ARRAYS = [
    *(np.arange(6, dtype=code) for code in "bhiqBHIQefd"),
    np.array([True, False]),
    np.arange(6.0).reshape(2, 3),
    np.arange(6.0).reshape(2, 3).T,
    np.arange(6.0)[::2],
    np.arange(6, dtype=">f4"),
    np.zeros(0),
]


def loaded(data: bytes) -> Any:
    return load_pickle(data, "x")


def refusal(data: bytes) -> str:
    """Return the message, nothing if it is read; any other error is none."""
    try:
        loaded(data)
    except DataError as error:
        return str(error)
    return ""


REFUSAL = re.compile(r"|x: a pickle must .* its byte \d+.*", re.DOTALL)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_are_those_that_were_pickled(value, protocol):
    found = loaded(pickle.dumps(value, protocol))
    assert found == value
    assert type(found) is type(value)


EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30), "IST")
TIMES = [
    datetime.date(1, 1, 1),
    datetime.date(9999, 12, 31),
    datetime.datetime(2024, 2, 29, 12, 30, 59, 999999),  # noqa: DTZ001
    datetime.datetime(2024, 10, 27, 2, 30, fold=1),  # noqa: DTZ001
    datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc),
    datetime.datetime(2024, 1, 1, tzinfo=EAST),
    datetime.timedelta(days=-3, seconds=7, microseconds=11),
    decimal.Decimal("-12.250"),
    decimal.Decimal("1E+3"),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("value", TIMES, ids=repr)
def test_times_and_decimals_are_those_that_were_pickled(value, protocol):
    found = loaded(pickle.dumps([value, (value,)], protocol))
    assert found == [value, (value,)]
    assert str(found[0]) == str(value)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ordered_dicts_are_dicts(protocol):
    value = collections.OrderedDict([("b", 1), ("a", [0.5])])
    found = loaded(pickle.dumps([value, value], protocol))
    assert [list(one.items()) for one in found] == [[("b", 1), ("a", [0.5])]] * 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_named_tuples_of_spark_are_dicts(protocol, monkeypatch):
    """As `pyspark.serializers` pickles them by the names of their fields."""
    spark_classes.provide(monkeypatch)
    restore = spark_class("serializers", "_restore")
    point = Calling(restore, "Point", ("x", "y"), (1, [0.5]))
    assert loaded(pickle.dumps(point, protocol)) == {"x": 1, "y": [0.5]}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("value", [b"", b"a\xff"])
def test_byte_arrays_are_bytes(value, protocol):
    assert loaded(pickle.dumps(bytearray(value), protocol)) == value


def test_long_lists_and_repeated_values_are_those_that_were_pickled():
    row = {"name": "a", "numbers": (1.0, 2.0)}
    value = [[float(i) for i in range(3000)], [{**row, "i": i} for i in range(3000)]]
    assert loaded(pickle.dumps(value)) == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("value", ARRAYS, ids=lambda one: f"{one.dtype}{one.shape}")
def test_arrays_are_those_that_were_pickled(value, protocol):
    found = loaded(pickle.dumps(value, protocol))
    np.testing.assert_array_equal(found.array, value)
    assert found.array.dtype == value.dtype.newbyteorder("=")
    assert found.array.flags.c_contiguous


@pytest.mark.parametrize("name", [b"numpy.core.", b"numpy._core."])
def test_arrays_are_read_by_the_names_of_both_versions_of_numpy(name):
    data = pickle.dumps(np.arange(3.0), 2).replace(b"numpy._core.", name)
    assert loaded(data).array.tolist() == [0, 1, 2]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("value", [np.float32(0.5), np.int64(-3), np.bool_(1)])
def test_scalars_are_numbers(value, protocol):
    found = loaded(pickle.dumps(value, protocol))
    assert type(found) is type(value.item())
    assert found == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_arrays_of_python_are_those_that_were_pickled(code, protocol):
    value = array.array(code, [1, 2, 3])
    found = loaded(pickle.dumps(value, protocol)).array
    assert found.tolist() == [1, 2, 3]
    assert found.itemsize == value.itemsize


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("module", ["ml.linalg", "mllib.linalg"])
def test_vectors_of_spark_are_read(module, protocol, monkeypatch):
    spark_classes.provide(monkeypatch)
    dense = spark_class(module, "DenseVector")(1.0, 2.5)
    sparse = spark_class(module, "SparseVector")(9, [2, 7], [0.5, 1.5])
    first, second = loaded(pickle.dumps([dense, sparse], protocol))
    assert (first.values.tolist(), first.indices) == ([1, 2.5], None)
    assert (second.size, second.indices.tolist()) == (9, [2, 7])
    assert second.values.tolist() == [0.5, 1.5]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_labelled_points_and_rows_of_spark_are_read(protocol, monkeypatch):
    spark_classes.provide(monkeypatch)
    vector = spark_class("mllib.linalg", "DenseVector")(1.0, 2.5)
    point = spark_class("mllib.regression", "LabeledPoint")(1.0, vector)
    row = spark_classes.Row(label=1, features=vector)
    first, second = loaded(pickle.dumps([point, row], protocol))
    assert isinstance(first, LabeledPoint)
    assert (first.label, first.features.values.tolist()) == (1, [1, 2.5])
    assert (second["label"], second["features"]) == (1, first.features)


class Calling:
    """Has a pickle call something."""

    def __init__(self, called: Any, *arguments: Any) -> None:
        self.reduced = called, arguments

    def __reduce__(self) -> Any:
        return self.reduced


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("called", "of"),
    [
        (os.mkdir, lambda path: (path,)),
        (os.system, lambda path: (f"mkdir {path}",)),
        (eval, lambda path: (f"__import__('os').mkdir({path!r})",)),
        (exec, lambda path: (f"__import__('os').mkdir({path!r})",)),
        (__import__, lambda _: ("antigravity",)),
        (getattr, lambda path: (Calling(os.mkdir, path), "__class__")),
        (map, lambda path: (os.mkdir, [path])),
        (copyreg._reconstructor, lambda _: (Calling, object, None)),
        (np.savetxt, lambda path: (path, [1])),
        (pickle.loads, lambda path: (pickle.dumps(Calling(os.mkdir, path)),)),
    ],
)
def test_nothing_else_is_called(called, of, protocol, tmp_path):
    path = tmp_path / "made"
    data = pickle.dumps(Calling(called, *of(str(path))), protocol)
    with pytest.raises(DataError, match=r"got '[\w.]+' before its byte \d+. Nothing"):
        loaded(data)
    assert not path.exists()


def test_arrays_of_objects_are_refused_with_what_they_hold(tmp_path):
    path = tmp_path / "made"
    value = np.array([Calling(os.mkdir, str(path))], object)
    with pytest.raises(DataError, match="a dtype of other things"):
        loaded(pickle.dumps(value))
    assert not path.exists()


@pytest.mark.parametrize("dtype", ["O", "M8[s]", "U3", "V8", "f8,i4"])
def test_arrays_of_other_things_than_numbers_are_refused(dtype):
    with pytest.raises(DataError, match="must be whole, it is not"):
        loaded(pickle.dumps(np.zeros(1, dtype)))


def name(module: str, of: str) -> bytes:
    return f"c{module}\n{of}\n".encode()


DTYPE = name("numpy", "dtype")
DATE, TIME = name("datetime", "date"), name("datetime", "datetime")
SHAPED = name("numpy._core.numeric", "_frombuffer")
FLOATS = DTYPE + b"\x8c\x02f8\x85R"


@pytest.mark.parametrize(
    "body",
    [
        # Whole classes of instructions: those that make objects of named classes, and
        # those that ask the program around.
        b"(ios\nmkdir\n.",
        b"(" + DTYPE + b"\x8c\x02f8o.",
        DTYPE + b")\x81.",
        DTYPE + b")}\x92.",
        *(b"\x82\x01.", b"\x83\x01\0.", b"\x84\x01\0\0\0."),
        *(b"Pos\n.", b"NQ.", b"\x97.", b"\x98."),
        # Text forms, and what only cycles and sets need.
        *(b"I1\n.", b"F1\n.", b"S'a'\n.", b"N2.", b"N0.", b"N(1.", b"\x8f.", b"(\x91."),
        # Names that lead on from one on the list.
        b"\x8c\x05numpy\x8c\x0edtype.__init__\x93.",
        b"\x8c\x0anumpy.core\x8c\x10multiarray.empty\x93.",
        # State for what has none, and calls of what is no name.
        DTYPE + b"}b.",
        DTYPE + b")b.",
        *(b"N)R.", b"\x8c\x01a)R.", b"])R.", DTYPE + b"]R."),
        name("numpy", "ndarray") + b"(K\x01tR.",
        name("array", "array") + name("array", "array") + b"]\x86R.",
        # What is within itself, or grows once it was counted.
        *(b"]q\0h\0a.", b"}q\0X\1\0\0\0ah\0s.", b"(]q\0h\0h\0K\1at."),
        # Days and times that there are none of, and digits that are none.
        DATE + b"C\4\x07\xe8\x0d\1\x85R.",
        DATE + b"C\4\x07\xe8\2\x1e\x85R.",
        DATE + b"C\4\0\0\1\1\x85R.",
        *(DATE + one + b"\x85R." for one in (b"C\3abc", b"\x8c\4abcd", b"K\1")),
        TIME + b"C\x0a\x07\xe8\1\1\x18\0\0\0\0\0\x85R.",
        TIME + b"C\x0a\x07\xe8\1\1\0\0\0\xff\xff\xff\x85R.",
        TIME + b"C\x0a\x07\xe8\1\1\0\0\0\0\0\0N\x86R.b.",
        TIME + b"C\x0a\x07\xe8\1\1\0\0\0\0\0\0K\1\x86R.",
        name("datetime", "timedelta") + b"J\xff\xff\xff\x7f\x85R.",
        name("datetime", "timedelta") + b"G" + bytes(8) + b"\x85R.",
        name("datetime", "timezone") + b"K\1\x85R.",
        name("decimal", "Decimal") + b"\x8c\3abc\x85R.",
        name("decimal", "Decimal") + b"K\1\x85R.",
        name("decimal", "Decimal") + b"X\0\1\0\0" + b"1" * 256 + b"\x85R.",
        name("collections", "OrderedDict") + b"]\x85R.",
        name("pyspark.serializers", "_restore") + b"K\1))\x87R.",
        name("pyspark.serializers", "_restore") + b"\x8c\1P\x8c\1x\x85)\x87R.",
        # False claims.
        *(b"B\xff\xff\xff\xffa.", b"\x8e" + b"\xff" * 8 + b".", b"\x96" + b"\x7f" * 8),
        *(
            b"X\xff\xff\xff\x7fa.",
            b"\x95" + b"\xff" * 8 + b"N.",
            b"\x8b\xff\xff\xff\x7f",
        ),
        *(
            b"j\xff\xff\xff\xff.",
            b"h\0.",
            b"Nq\0q\0.",
            b"\x8a\xff" + b"\1" * 255 + b".",
        ),
        SHAPED + b"(C\x08" + bytes(8) + FLOATS + b"J\xff\xff\xff\x7f\x85\x8c\1CtR.",
        SHAPED + b"(C\0" + FLOATS + b"J\xff\xff\xff\x7fK\0\x86\x8c\1CtR.",
        SHAPED + b"(C\0" + FLOATS + b"J\xff\xff\xff\xff\x85\x8c\1CtR.",
        # Damage.
        *(
            b"",
            b".",
            b"N",
            b"NN.",
            b"N.N",
            b"(N.",
            b"a.",
            b"e.",
            b"u.",
            b"\x87.",
            b"G\0.",
        ),
        *(
            b"t.",
            b"\x93.",
            b"R.",
            b"b.",
            b"q\0.",
            b"\xff.",
            b"X\1\0\0\0\xff.",
            b"cos\n",
        ),
        *(b"NNa.", b"N(Ne.", b"}NNs.", b"}(\x8c\1au."),
    ],
)
def test_hostile_and_damaged_pickles_are_refused_in_little_memory(body):
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"^x: a pickle must .* its byte \d+"):
            loaded(b"\x80\x04" + body)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_an_index_of_the_memo_takes_no_memory():
    tracemalloc.start()
    try:
        assert loaded(b"\x80\x04Nr\xff\xff\xff\xff.") is None
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [list, tuple, dict])
def test_lists_that_hold_each_other_many_times_are_refused(kind):
    value: Any = ["a", "b"]
    for _ in range(30):
        items = [value] * 10
        value = (
            dict(zip("abcdefghij", items, strict=True)) if kind is dict else kind(items)
        )
    with pytest.raises(DataError, match="got the same objects too many times"):
        loaded(pickle.dumps(value))


def test_long_values_that_stand_many_times_are_refused():
    text = "x" * 10_000
    with pytest.raises(DataError, match="got the same objects too many times"):
        loaded(pickle.dumps([text] * 10_000))
    values = np.arange(10_000.0)
    with pytest.raises(DataError, match="got the same objects too many times"):
        loaded(pickle.dumps([values] * 10_000))


def test_indices_of_vectors_that_stand_many_times_are_counted(monkeypatch):
    spark_classes.provide(monkeypatch)
    vector = spark_class("ml.linalg", "SparseVector")(9, list(range(9)) * 1000, [])
    with pytest.raises(DataError, match="got the same objects too many times"):
        loaded(pickle.dumps([vector] * 10_000))


def test_there_is_a_most_of_containers(monkeypatch):
    monkeypatch.setattr(pickles, "_MOST_CONTAINERS", 100)
    with pytest.raises(DataError, match="got more than 100 containers"):
        loaded(pickle.dumps([[] for _ in range(100)]))


def test_deep_lists_are_read():
    data = b"\x80\x04" + b"]" * 50_000 + b"a" * 49_999 + b"."
    assert len(loaded(data)) == 1


@pytest.mark.parametrize(
    "data",
    [b"]" * 50_000 + b"a" * 49_999, b")" + b"\x85" * 50_000],
    ids=["list", "tuple"],
)
def test_deep_values_are_refused_where_classes_are_allowed(data):
    with pytest.raises(DataError, match="x: a pickle that may name your own classes"):
        load_pickle(b"\x80\x04" + data + b".", "x", ["shapes.Point"])


@pytest.mark.parametrize("digits", ["1E-39", "1E-9999999"])
def test_decimals_that_pyarrow_cannot_hold_are_refused(digits):
    """It takes the first for zero, and ends the process at the second."""
    with pytest.raises(CorruptFileError, match="of more than 38 digits behind the"):
        loaded(pickle.dumps(decimal.Decimal(digits)))


def test_newer_protocols_are_refused():
    with pytest.raises(DataError, match="got protocol 6"):
        loaded(b"\x80\x06N.")


def test_numbers_of_an_array_may_overflow():
    data = (
        name("array", "array") + b"X\1\0\0\0f]G" + struct.pack(">d", 1e300) + b"a\x86R."
    )
    assert loaded(b"\x80\x02" + data).array.tolist() == [float("inf")]


def test_dicts_must_have_texts_for_keys():
    with pytest.raises(DataError, match="got a dict whose keys are no texts"):
        loaded(pickle.dumps({1: 2}))


def test_elements_of_booleans_may_be_any_byte():
    data = SHAPED + b"(C\x02\x02\x00" + DTYPE + b"\x8c\x02b1\x85RK\2\x85\x8c\1CtR."
    assert loaded(b"\x80\x04" + data).array.tolist() == [True, False]


WHOLE = pickle.dumps(
    [
        ("a", 1, [1.0, 2.0], np.arange(3.0)),
        {"a": array.array("f", [1]), "b": np.float32(1), "c": np.arange(4)[::2]},
    ]
)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)),
        min_size=1,
        max_size=5,
    )
)
def test_damaged_pickles_are_read_or_refused(places):
    data = bytearray(WHOLE)
    for place, byte in places:
        data[place] = byte
    assert REFUSAL.fullmatch(refusal(bytes(data)))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pickles_that_are_cut_short_are_refused(protocol):
    data = pickle.dumps(["a", 1 << 40, 0.5, b"abc", np.arange(3.0)], protocol)
    for end in range(len(data)):
        with pytest.raises(CorruptFileError, match="x: a pickle must be whole"):
            loaded(data[:end])


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_random_instructions_are_read_or_refused(data):
    codes = [ord(one.code) for one in pickletools.opcodes]
    body = bytes(codes[byte % len(codes)] for byte in data)
    assert REFUSAL.fullmatch(refusal(body + b"."))
