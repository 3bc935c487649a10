"""Options, finding the opener, and data in memory."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from daskdl.data import sinks
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sinks import open_sink
from daskdl.data.sources import source
from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.entry_points import entry_points
from daskdl.errors import ColumnError, DataError, OptionError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ""}, r"features must be a column name or several, got ''"),
        ({"features": ()}, r"features must be a column name or several, got \(\)"),
        (
            {"features": ["a", 1]},
            r"features must be a column name or several, got \['a",
        ),
        ({"label": {}}, "label must not be an empty dict"),
        ({"label": {"out": 5}}, "label must be a column name or several, got 5"),
        (
            {"dtype": "float16"},
            "dtype must be one of 'float32', 'float64', got 'float16",
        ),
        ({"n_classes": 1}, "n_classes must be >= 2, got 1"),
        ({"n_features": 0}, "n_features must be > 0, got 0"),
        ({"feature_shape": (1, 0)}, "each size in feature_shape must be > 0, got 0"),
        ({"delimiter": ""}, "delimiter must be one character or several, .* got ''"),
        ({"delimiter": "a\n"}, r"delimiter must be .* no line end, got 'a\\n'"),
        ({"delimiter": "\\"}, r"delimiter must hold a backslash as"),
        ({"delimiter": 5}, "delimiter must be "),
        ({"quote": "''"}, "quote must be one character, and no line end, got"),
        ({"escape": "\n"}, "escape must be one character, and no line end, got"),
        ({"comment": "//"}, "comment must be one character, and no line end, got '//'"),
        ({"null_value": -999}, "null_value must be .* got"),
        ({"encoding": "utf-9"}, "encoding must be a known encoding of text, got 'utf-"),
        ({"encoding": "base64"}, "encoding must be a known encoding of text, got"),
        ({"label": {"out": "y"}, "features": "x"}, "features must be a dict of input"),
        (
            {"features": {"a": "x"}, "feature_shape": (2, 2)},
            "feature_shape is for one input, but features names 1 inputs",
        ),
        (
            {"n_features": 5, "feature_shape": (2, 2)},
            r"must hold n_features=5 numbers, got \(2, 2\) with 4",
        ),
    ],
)
def test_options_that_cannot_be_right_are_refused(options, message):
    with pytest.raises(OptionError, match=f"^SourceOptions: .*{message}"):
        SourceOptions(**options)


def test_lists_of_columns_as_yaml_gives_them_become_tuples():
    options = SourceOptions(features=["a", "b"], feature_shape=[1, 2])
    assert (options.features, options.feature_shape) == (("a", "b"), (1, 2))


def test_an_open_source_stays_what_it_is():
    source = Source("mine", ())
    assert open_source(source) is source


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (5, "a?n? ?builtins.int"),
        ([1, "a"], r"a builtins.list of 'int', 'str'"),
        ({}, "builtins.dict"),
    ],
)
def test_unknown_data_is_described(data, got, monkeypatch):
    # The openers of this package only: another may take a list of anything.
    known = entry_points("daskdl.sources")
    own = [e for e in known if e.value.startswith("daskdl.")]
    monkeypatch.setattr(source, "entry_points", lambda group: own)
    with pytest.raises(
        OptionError, match=rf"^open_source: data must be .* got {got}\.$"
    ):
        open_source(data)


def test_the_opener_of_paths_is_asked_last(monkeypatch):
    asked = []

    def entry_point(name):
        def accepts(data):
            asked.append(name)
            return name == "path"

        opener = SimpleNamespace(
            accepts=accepts, open=lambda data, options: Source(name, ())
        )
        return SimpleNamespace(name=name, load=lambda: opener)

    entries = [entry_point(name) for name in ("path", "zarrs", "memory")]
    monkeypatch.setattr(source, "entry_points", lambda group: entries)
    assert open_source("somewhere").name == "path"
    assert asked == ["memory", "zarrs", "path"]


def test_a_sink_is_opened_by_the_first_that_accepts_the_url(monkeypatch):
    class Opener:
        def accepts(self, url):
            return url.startswith("mem://")

        def open(self, url, *, format, overwrite, storage_options):
            return url, format, overwrite, storage_options

    entry = SimpleNamespace(name="mine", load=lambda: Opener)
    monkeypatch.setattr(sinks, "entry_points", lambda group: [entry])
    assert open_sink("mem://a", overwrite=True) == ("mem://a", "parquet", True, {})
    with pytest.raises(OptionError, match=r"url must name a place .* got 'ftp://b'"):
        open_sink("ftp://b")


def rows(n, width=2):
    return np.arange(1.0 * n * width).reshape(n, width)


def only(data, **options):
    (partition,) = open_source(data, SourceOptions(**options)).partitions
    return partition


def test_a_list_of_data_sets_is_a_list_of_minibatches():
    batches = [DataSet(rows(n), rows(n, 1)) for n in (3, 1)]
    source = open_source(batches)
    assert source.minibatches
    assert source.in_memory
    assert [(p.name, p.rows) for p in source.partitions] == [
        ("DataSet 0", 3),
        ("DataSet 1", 1),
    ]


@pytest.mark.parametrize(
    "data",
    [
        DataSet(rows(3), rows(3, 1)),
        MultiDataSet([rows(3)], [rows(3, 1)]),
        (rows(3), rows(3, 1)),
    ],
)
def test_one_data_set_or_a_pair_is_still_to_be_cut(data):
    source = open_source(data)
    assert not source.minibatches
    assert source.partitions[0].rows == 3
    assert source.partitions[0].load().num_examples == 3


def test_a_partition_can_be_pickled():
    loaded = pickle.loads(pickle.dumps(only((rows(3), rows(3, 1))))).load()
    np.testing.assert_array_equal(loaded.features, rows(3))


def test_arrays_keep_their_dtype():
    assert only((rows(3), rows(3, 1))).load().features.dtype == np.float64


def test_a_single_array_is_for_prediction():
    assert only(rows(3), require_labels=False).load().labels is None


def test_class_numbers_become_one_hot_rows():
    labels = only((rows(3), np.array([2, 0, 1])), n_classes=3).load().labels
    np.testing.assert_array_equal(labels, np.eye(3)[[2, 0, 1]])


def test_features_are_shaped():
    assert only((rows(3, 4), rows(3)), feature_shape=(2, 2)).load().features.shape == (
        3,
        2,
        2,
    )


def test_a_wrong_width_is_named():
    partition = only(DataSet(rows(3), rows(3)), n_features=5)
    with pytest.raises(
        ColumnError, match=r"^DataSet: column 'features' must hold 5 numb"
    ):
        partition.load()


def test_a_wrong_class_is_named():
    partition = only((rows(2), np.array([0, 3])), n_classes=3)
    with pytest.raises(DataError, match=r"^arrays: column 'labels' .* got 3 in row 1"):
        partition.load()


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ([], {}, "data must hold at least one DataSet or path, got an empty list"),
        (
            [DataSet(rows(1), rows(1)), MultiDataSet([rows(1)], [rows(1)])],
            {},
            "all DataSet or all MultiDataSet, got both in a list of 2",
        ),
        ([DataSet(rows(1))], {}, "^DataSet 0: labels must be there, got None"),
        (MultiDataSet([rows(1)]), {}, "^MultiDataSet: labels must be there, got None"),
        (
            DataSet(rows(1), rows(1)),
            {"key": "id"},
            "key must be None for data in memory",
        ),
        (
            MultiDataSet([rows(1)], [rows(1)]),
            {"n_classes": 3},
            "n_classes is for a single input and output, got 3 with a MultiDataSet",
        ),
    ],
)
def test_what_memory_cannot_serve_is_refused(data, options, message):
    with pytest.raises((DataError, OptionError), match=message):
        open_source(data, SourceOptions(**options))
