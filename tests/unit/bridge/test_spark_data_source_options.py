"""Options of the data source, as texts."""

from types import SimpleNamespace

import pytest

from daskdl.errors import OptionError
from daskdl_bridge.spark.data_source import register
from daskdl_bridge.spark.data_source_options import read_options, write_options


def test_texts_become_what_sources_take():
    read = read_options(
        {
            "path": "there",
            "features": '["a", "b"]',
            "label": "y: 1",
            "delimiter": "|",
            "header": "true",
            "n_classes": "3",
            "feature_shape": "[1, 28, 28]",
            "storage_options": '{"timeout_s": 5}',
            "require_success": "false",
        }
    )
    assert read.paths == "there"
    assert read.dtype is None
    options = read.options
    assert options.features == ("a", "b")
    assert options.label == "y: 1"
    assert options.delimiter == "|"
    assert options.header is True
    assert options.n_classes == 3
    assert options.feature_shape == (1, 28, 28)
    assert options.storage_options == {"timeout_s": 5}
    assert not options.require_success


def test_several_paths_come_as_json():
    assert read_options({"paths": '["one", "two"]'}).paths == ("one", "two")


def test_inputs_are_a_mapping():
    given = {"features": "{left: a, right: [b, c]}", "label": "{out: y}"}
    options = read_options({"path": "x", **given}).options
    assert options.features == {"left": "a", "right": ("b", "c")}
    assert options.label == {"out": "y"}


def test_tasks_are_told_whole_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"batch_size": "8"}
    assert write_options({"path": "out", **given}).url == f"{tmp_path}/out"
    assert write_options({"path": "hdfs:///out", **given}).url == "hdfs:///out"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "must be given a path, got none"),
        ({"path": "x", "fetures": "a"}, "got 'fetures'. Did you mean 'features'"),
        ({"path": "x", "train": "a"}, "got 'train'"),
        ({"path": "x", "linesep": ";"}, "got 'linesep'. Lines end at a line feed"),
        ({"path": "x", "batch_size": "2"}, "got 'batch_size'"),
        ({"path": "x", "n_classes": "many"}, r"format\('daskdl'\): n_classes"),
        ({"path": "x", "n_classes": "1"}, "n_classes must be >= 2"),
        ({"path": "x", "header": "perhaps"}, "header"),
        ({"path": "x", "dtype": "int8"}, "dtype must be one of"),
        ({"path": "x", "feature_shape": "[1"}, "feature_shape"),
        ({"path": "x", "handle_invalid": "keep"}, "'error' or 'skip', got 'keep'"),
    ],
)
def test_a_reader_refuses(given, message):
    with pytest.raises(OptionError, match=message):
        read_options(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch_size": "2"}, "must be given a path, got none"),
        ({"path": "x"}, "batch_size must be a whole number.*got None"),
        ({"path": "x", "batch_size": "0"}, "got '0'"),
        ({"path": "x", "batch_size": "-1"}, "got '-1'"),
        ({"path": "x", "batch_size": "2", "key": "id"}, "no place for keys, got 'id'"),
        ({"path": "x", "batch_size": "2", "format": "csv"}, "got 'format'"),
    ],
)
def test_a_writer_refuses(given, message):
    with pytest.raises(OptionError, match=message):
        write_options(given)


def test_spark_3_is_told_what_to_use():
    with pytest.raises(OptionError, match=r"got Spark 3\.5\.9\. .*export_datasets"):
        register(SimpleNamespace(version="3.5.9"))
