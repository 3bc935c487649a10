"""Objects and tuples that Spark wrote: of Python's classes, and of the user's own."""

import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import CorruptFileError, DataError, OptionError
from daskdl_bridge.readers.pickles import load_pickle
from daskdl_bridge.source import PathSources
from tests.unit.bridge import spark_objects
from tests.unit.bridge.spark_objects import TUPLES, Point, Reading
from tests.unit.bridge.table_files import open_path
from tests.unit.bridge.test_pickle_rows import pickled, write

SAMPLES = Path(__file__).parents[2] / "data" / "spark_objects"
ROWS = range(6)
CLASSES = {"n_classes": 2, "require_labels": True}
POINT = f"{Point.__module__}.Point"
READING = f"{Reading.__module__}.Reading"


def sample(name: str) -> str:
    return str(SAMPLES / name)


def loaded(name: str, **options: Any) -> Any:
    """Return features, labels and stored keys of all parts of a sample."""
    options = {"require_labels": False, "dtype": "float64", **options}
    source = open_path(sample(name), **options)
    parts = [(one, one.load()) for one in pickle.loads(pickle.dumps(source.partitions))]
    keys = [key for one, part in parts for key in _keys(one, part)]
    features = np.concatenate([part.features for _, part in parts])
    return features.tolist(), [part.labels for _, part in parts], keys


def _keys(partition: Any, part: Any) -> list[Any]:
    if part.keys is None:
        return []
    return partition.stored_keys(part.keys).to_pylist()


@pytest.mark.parametrize("column", range(5))
def test_dates_times_and_decimals_are_keys(column):
    features, _, keys = loaded("times", features="_c5", key=f"_c{column}")
    rows = [spark_objects.times(row) for row in ROWS]
    assert keys == [row[column] for row in rows]
    assert features == [row[5] for row in rows]


def test_ordered_dicts_are_rows():
    features, labels, _ = loaded("ordered", features="x", label="label", **CLASSES)
    assert features == [[row, 0.5] for row in ROWS]
    assert np.concatenate(labels).argmax(axis=1).tolist() == [r % 2 for r in ROWS]


def test_labelled_points_with_keys_are_rows():
    features, labels, keys = loaded("labelled", key="key", **CLASSES)
    assert features == [[row + 0.5, 1.0] for row in ROWS]
    assert np.concatenate(labels).argmax(axis=1).tolist() == [r % 2 for r in ROWS]
    assert keys == [f"k{row}" for row in ROWS]


@pytest.mark.parametrize("name", TUPLES)
def test_tuples_are_arrays_of_the_class_that_is_named(name):
    element, made = TUPLES[name]
    _, _, keys = loaded(name, features="key", key="value", element_class=element)
    assert keys == [list(made(row)) for row in ROWS]


@pytest.mark.parametrize("element", ["DoubleWritable", "org.apache.hadoop.io.Double"])
def test_tuples_are_features(element):
    features, _, keys = loaded(
        "doubles", features="value", key="key", element_class=element
    )
    assert features == [[row + 0.5, 2.0] for row in ROWS]
    assert keys == list(ROWS)


def test_tuples_without_a_class_are_refused_with_the_option():
    with pytest.raises(DataError, match=r"Say what is in it, such as element_class='D"):
        open_path(sample("doubles"), features="value", require_labels=False)


def test_tuples_of_another_class_are_refused():
    with pytest.raises(CorruptFileError, match=r"value must be a whole .* 2 elements"):
        loaded("ints", features="value", element_class="DoubleWritable")


def test_a_class_that_no_array_is_of_is_refused():
    message = r"element_class must be one of .* Did you mean 'DoubleWritable'"
    with pytest.raises(OptionError, match=message):
        loaded("doubles", features="value", element_class="doubleWritable")


def test_named_tuples_have_their_fields_if_their_class_is_allowed():
    options = {"features": "x", "label": "label", "allow": POINT}
    features, labels, _ = loaded("point", **options, **CLASSES)
    assert features == [[row + 0.5, 1.0] for row in ROWS]
    assert np.concatenate(labels).argmax(axis=1).tolist() == [r % 2 for r in ROWS]


def test_named_tuples_that_spark_pickled_by_their_fields_need_no_class():
    features, _, keys = loaded("patched_point", features="x", key="label")
    assert features == [[row + 0.5, 1.0] for row in ROWS]
    assert keys == [row % 2 for row in ROWS]


def test_data_classes_have_their_fields_if_they_are_allowed():
    features, _, keys = loaded("reading", features="values", key="at", allow=[READING])
    assert features == [[row + 0.5] for row in ROWS]
    assert keys == [spark_objects.reading(row).at for row in ROWS]


@pytest.mark.parametrize("allow", [(), [READING]])
def test_what_is_not_allowed_is_refused_with_its_name(allow):
    message = rf"got '{POINT}' before its byte .* name your own classes in allow"
    with pytest.raises(DataError, match=message):
        open_path(sample("point"), features="x", allow=allow)


def test_what_is_not_allowed_is_not_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, Point.__module__)
    with pytest.raises(DataError):
        PathSources().look(sample("point"), SourceOptions(allow=("other.Thing",)))
    assert Point.__module__ not in sys.modules


class Plain:
    """Attributes in a dict."""

    def __init__(self, x: Any) -> None:
        self.x = x


class Slotted:
    """Attributes in slots, and a state of its own form."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def _asdict(self) -> dict[str, Any]:
        return {"x": self.x}


class Stateful:
    """Says what its state is."""

    def __setstate__(self, state: Any) -> None:
        self.x = state["y"]

    def __getstate__(self) -> Any:
        return {"y": self.x}


class Keyworded:
    """Made with arguments by name."""

    def __new__(cls, *, x: Any) -> Any:
        made = super().__new__(cls)
        made.x = x
        return made

    def __getnewargs_ex__(self) -> Any:
        return (), {"x": self.x}

    def __getstate__(self) -> None:
        return None


class Broken(Plain):
    """Cannot be brought back."""

    def __setstate__(self, state: Any) -> None:
        raise RuntimeError("not today")


def stateful(x: Any) -> Stateful:
    made = Stateful()
    made.x = x
    return made


def keyworded(x: Any) -> Any:
    return Keyworded(x=x)


def read(value: Any, *names: str, protocol: int = 5) -> Any:
    allow = [f"{__name__}.{name}" for name in names]
    return load_pickle(pickle.dumps(value, protocol), "x", allow)


# By older protocols arguments with names take functools.partial, and that getattr.
MADE = [(made, p) for made in (Plain, Slotted, stateful) for p in (2, 3, 4, 5)]
MADE += [(keyworded, 4), (keyworded, 5)]


@pytest.mark.parametrize(("made", "protocol"), MADE)
def test_objects_are_what_is_in_them(made, protocol):
    one = made([1, "a"])
    found = read([one, (one,)], type(one).__name__, protocol=protocol)
    assert found == [{"x": [1, "a"]}, ({"x": [1, "a"]},)]


def test_objects_get_arrays_of_numpy_and_give_them_back():
    found = read(Plain(np.arange(4.0)[::2]), "Plain")["x"]
    assert found.array.tolist() == [0.0, 2.0]


def test_objects_within_objects_are_read():
    assert read(Plain(Plain({"y": Plain(1)})), "Plain") == {"x": {"x": {"y": {"x": 1}}}}


def test_single_numbers_of_numpy_within_objects_are_numbers():
    assert type(read(Plain(np.float32(0.5)), "Plain")["x"]) is float


def test_what_the_users_code_raises_is_told_as_such():
    message = r"^x: what allow names must take what the .* RuntimeError\('not today'\)"
    with pytest.raises(DataError, match=message):
        read(Broken(1), "Broken")


@pytest.mark.parametrize("name", ["no_such_module.Thing", f"{__name__}.NoSuchThing"])
def test_what_is_allowed_must_be_there(name):
    module, _, last = name.rpartition(".")
    data = f"\x80\x02c{module}\n{last}\n)R.".encode("latin1")
    message = rf"^x: what allow names must be found on every worker, {re.escape(name)}"
    with pytest.raises(DataError, match=message):
        load_pickle(data, "x", [name])


def test_an_object_that_is_named_many_times_counts_as_what_it_was_made_of():
    one = Plain("x" * 10_000)
    with pytest.raises(DataError, match="the same objects too many times"):
        read([one] * 1000, "Plain")


@pytest.mark.parametrize("value", [{1, 2}, 2j])
def test_what_is_allowed_but_no_example_is_refused(value, tmp_path):
    name = type(value).__name__
    path = write(tmp_path / "x.seq", pickled([Plain(value)], protocol=3))
    allow = (f"builtins.{name}", f"{__name__}.Plain")
    with pytest.raises(DataError, match=rf"column 'x' must .* got a {name}"):
        PathSources().look(path, SourceOptions(allow=allow))


@pytest.mark.parametrize("allow", [["Point"], [3], 3, "a-b.c", [""], {"a.b": 1}])
def test_allow_takes_names_with_their_modules(allow):
    with pytest.raises(OptionError, match=r"allow must hold names of classes"):
        SourceOptions(allow=allow)


@pytest.mark.parametrize("given", ["", 3, ["Text"]])
def test_the_element_class_is_a_name(given):
    with pytest.raises(OptionError, match=r"element_class must be the name of a class"):
        SourceOptions(element_class=given)


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("times", {"element_class": "Text"}, r"for pickle files, got element_class"),
        ("doubles", {"allow": "a.B"}, r"for pairs of .*IntWritable and .* got allow"),
    ],
)
def test_an_option_of_the_other_form_is_refused(name, option, message):
    with pytest.raises(OptionError, match=message):
        PathSources().look(sample(name), SourceOptions(**option))


def test_arrays_of_an_element_class_have_its_type():
    options = SourceOptions(element_class="LongWritable")
    types = PathSources().look(sample("longs"), options).columns
    assert types == {"key": "int32", "value": str(pa.list_(pa.int64()))}
