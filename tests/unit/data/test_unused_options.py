"""Options that mean nothing for the data are refused, not forgotten."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr

from daskdl.data.dataset import DataSet
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.data.sources.text_options import TEXT_OPTIONS
from daskdl.data.sources.unused_options import UnusedOptionError
from daskdl.errors import DataError, OptionError

OTHERS = {
    "header": True,
    "delimiter": ";",
    "quote": "'",
    "escape": '"',
    "char_to_escape_quote_escaping": "\\",
    "null_value": "NA",
    "empty_value": "x",
    "comment": "#",
    "encoding": "UTF-16",
    "multi_line": True,
    "ignore_leading_white_space": True,
    "ignore_trailing_white_space": True,
}


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"features": [1.0], "label": [1.0]}), path)
    return str(path)


def test_every_option_of_text_is_tried():
    assert tuple(OTHERS) == TEXT_OPTIONS


@pytest.mark.parametrize("option", ["allow", "element_class"])
def test_options_of_sequence_files_are_refused_for_parquet(parquet, option):
    with pytest.raises(UnusedOptionError, match=rf"for parquet files, got {option}="):
        open_source(parquet, SourceOptions(**{option: "shapes.Point"}))


@pytest.mark.parametrize("option", OTHERS)
def test_options_of_text_are_refused_for_parquet(parquet, option):
    with pytest.raises(
        UnusedOptionError,
        match=rf"options .* for parquet files, got {option}=",
    ):
        open_source(parquet, SourceOptions(**{option: OTHERS[option]}))


def test_options_of_csv_are_refused_for_json(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"features": 1, "label": 1}\n')
    with pytest.raises(UnusedOptionError, match=r"json files knows 'encoding', 'multi"):
        open_source(str(path), SourceOptions(delimiter=";"))
    assert open_source(str(path), SourceOptions(encoding="latin-1")).partitions


@pytest.mark.parametrize(("option", "value"), [("pattern", "(.)"), ("row_tag", "x")])
def test_options_of_other_forms_are_refused_for_parquet(parquet, option, value):
    with pytest.raises(UnusedOptionError, match=rf"parquet files, got {option}="):
        open_source(parquet, SourceOptions(**{option: value}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": "("}, r"pattern must be a regular expression, got '\('"),
        ({"pattern": "a"}, "pattern must have at least one group .*, got 0 in 'a'"),
        ({"pattern": 3}, "pattern must be"),
        ({"label_from": "(a)(b)"}, r"label_from must have 1 group in .*, got 2 in"),
        ({"label_from": "a"}, "label_from must have 1 group in round brackets, got 0"),
        ({"row_tag": "<a>"}, "row_tag must be the name of a tag, got '<a>'"),
        ({"row_tag": ""}, "row_tag must be the name of a tag, got ''"),
    ],
)
def test_options_of_forms_that_cannot_be_right_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        SourceOptions(**options)


@pytest.mark.parametrize("option", ["delimiter", "sample_dim"])
def test_they_are_refused_for_data_in_memory(option):
    arrays = (np.zeros((2, 3)), np.zeros((2, 1)))
    with pytest.raises(UnusedOptionError, match=rf"for data in memory, got {option}="):
        open_source(arrays, SourceOptions(**{option: "x"}))


def test_they_are_refused_for_dask_collections():
    da = pytest.importorskip("dask.array")
    options = SourceOptions(delimiter=";", require_labels=False)
    with pytest.raises(UnusedOptionError, match=r"for Dask collections, got delimiter"):
        open_source(da.zeros((4, 2), chunks=2), options)


def test_they_are_refused_for_labelled_arrays():
    ds = xr.Dataset({"x": (("sample", "f"), np.zeros((2, 2)))})
    options = SourceOptions(features="x", require_labels=False, encoding="UTF-16")
    with pytest.raises(UnusedOptionError, match=r"for labelled arrays, got encoding="):
        open_source(ds, options)


def test_the_dimension_of_labelled_arrays_is_refused_for_files(parquet):
    with pytest.raises(UnusedOptionError, match=r"got sample_dim='time'"):
        open_source(parquet, SourceOptions(sample_dim="time"))


@pytest.mark.parametrize(
    ("option", "value"),
    [("features", "x"), ("key", "id"), ("delimiter", ";"), ("header", False)],
)
def test_options_come_too_late_for_a_source_that_is_open(parquet, option, value):
    source = open_source(parquet)
    with pytest.raises(OptionError, match=rf"{option} must be given where"):
        open_source(source, SourceOptions(**{option: value}))


def test_options_that_a_source_was_opened_with_are_no_others(parquet):
    options = SourceOptions(features="features", label="label", key="label")
    source = open_source(parquet, options)
    assert open_source(source, options) is source
    assert open_source(source, SourceOptions(features={"in": "features"})) is source


def test_what_networks_fill_in_is_no_option_of_the_user(parquet):
    source = open_source(parquet)
    filled = SourceOptions(n_features=1, n_classes=2, dtype="float64")
    assert open_source(source, filled) is source


def test_labels_that_are_named_name_classes():
    names = ["cat", "dog"]
    data = DataSet(np.zeros((2, 3)), np.eye(2), label_names=names)
    assert open_source(data).class_names == ("cat", "dog")
    assert open_source([data, data]).class_names == ("cat", "dog")


def test_names_with_two_numbers_are_refused():
    one = DataSet(np.zeros((2, 3)), np.eye(2), label_names=["cat", "dog"])
    other = DataSet(np.zeros((2, 3)), np.eye(2), label_names=["dog", "cat"])
    with pytest.raises(
        DataError, match=r"DataSet 1: class 0 must be 'cat', as in DataSet 0, got 'dog'"
    ):
        open_source([one, other])


@pytest.mark.parametrize("paths", [["a.zarr", "b.zarr"], ["a.nc", "b.csv"]])
def test_several_stores_of_labelled_arrays_are_refused(paths):
    with pytest.raises(OptionError, match=r"must be given by itself, got several"):
        open_source(paths)


def test_a_form_that_nobody_reads_is_named(tmp_path):
    (tmp_path / "x.h5").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"x\.h5: the name must end in one of"):
        open_source(str(tmp_path / "x.h5"))
