"""Files of which some lack a column: null with merge_schema, refused without."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from daskdl.errors import ColumnError, DataError, OptionError
from tests.unit.bridge.table_files import open_path, write_orc, write_parquet
from tests.unit.bridge.table_samples import TABLES

FOUND = json.loads((TABLES / "files.json").read_text())["grown"]
COLUMNS = ["id", "x", "name", "extra"]
WRITERS = {"parquet": write_parquet, "orc": write_orc}
NO_ROWS = pa.array([], pa.float64())
PREDICT = {"require_labels": False}


def path_of(form):
    return str(TABLES / "grown" / form)


def keys_of(path, column, **options):
    source = open_path(path, features="x", key=column, **options, **PREDICT)
    found = {}
    for partition in source.partitions:
        batch = partition.load()
        found |= dict(
            zip(batch.features[:, 0].tolist(), batch.keys.tolist(), strict=True)
        )
        assert partition.stored_keys(batch.keys).type == partition.columns.key_types[0]
    return found


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("form", FOUND)
def test_keys_are_those_that_spark_reads(form, column):
    told = {row[1]: row[COLUMNS.index(column)] for row in FOUND[form]}
    assert keys_of(path_of(form), column, merge_schema=True) == told


def test_json_leaves_null_fields_out_so_that_it_needs_no_option():
    told = {row[1]: row[2] for row in FOUND["json"]}
    assert keys_of(path_of("json"), "name") == told


@pytest.mark.parametrize("form", WRITERS)
def test_feature_that_a_file_lacks_is_refused_with_the_file(form, tmp_path):
    WRITERS[form](tmp_path / f"a.{form}", {"x": [1.0], "y": [2.0]})
    WRITERS[form](tmp_path / f"b.{form}", {"x": [1.0]})
    options = {"merge_schema": True, **PREDICT}
    with pytest.raises(ColumnError, match=rf"b\.{form}: column 'y' must hold a value"):
        open_path(tmp_path, features=("x", "y"), **options)
    with pytest.raises(ColumnError, match=rf"b\.{form}: column 'y' must hold a value"):
        open_path(tmp_path, features="x", label="y", merge_schema=True)


def test_feature_that_a_json_file_lacks_is_refused_with_the_file():
    source = open_path(path_of("json"), features="id", merge_schema=True, **PREDICT)
    lacking = [
        one for one in source.partitions if b'"id"' not in Path(one.name).read_bytes()
    ]
    with pytest.raises(DataError, match=r"json: column 'id' must hold a value in"):
        lacking[0].load()
    assert len(lacking) == 1


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("first", ["a", "b"])
def test_without_the_option_it_is_hinted_at(form, first, tmp_path):
    second = "b" if first == "a" else "a"
    WRITERS[form](tmp_path / f"{first}.{form}", {"x": [1.0], "k": [2]})
    WRITERS[form](tmp_path / f"{second}.{form}", {"x": [1.0]})
    message = rf"{second}\.{form}: column 'k' must exist.* with merge_schema it is null"
    with pytest.raises(ColumnError, match=message):
        open_path(tmp_path, features="x", key="k", **PREDICT)


@pytest.mark.parametrize("form", WRITERS)
def test_column_that_no_file_has_is_refused(form, tmp_path):
    WRITERS[form](tmp_path / f"a.{form}", {"x": [1.0], "key": [2]})
    with pytest.raises(ColumnError, match=r"column 'kez' must .* Did you mean 'key'\?"):
        open_path(tmp_path, features="x", key="kez", merge_schema=True, **PREDICT)


@pytest.mark.parametrize("form", WRITERS)
def test_column_of_another_case_is_not_taken_for_null(form, tmp_path):
    """Spark takes both for one column."""
    WRITERS[form](tmp_path / f"a.{form}", {"x": [1.0], "key": [2]})
    WRITERS[form](tmp_path / f"b.{form}", {"x": [1.0], "Key": [2]})
    with pytest.raises(ColumnError, match=r"'key' must be spelt alike .* got 'Key'"):
        open_path(tmp_path, features="x", key="key", merge_schema=True, **PREDICT)


@pytest.mark.parametrize("form", WRITERS)
def test_file_without_rows_may_lack_features(form, tmp_path):
    WRITERS[form](tmp_path / f"a.{form}", {"x": [1.0], "y": [2.0]})
    WRITERS[form](tmp_path / f"b.{form}", {"x": NO_ROWS})
    source = open_path(tmp_path, features=("x", "y"), merge_schema=True, **PREDICT)
    assert [one.load().num_examples for one in source.partitions] == [1, 0]


def test_patterns_match_columns_of_all_files(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"f1": NO_ROWS})
    write_parquet(tmp_path / "b.parquet", {"f1": [1.0], "f2": [2.0]})
    source = open_path(tmp_path, features="f*", merge_schema=True, **PREDICT)
    assert source.partitions[1].load().features.tolist() == [[1.0, 2.0]]


def test_csv_has_no_such_option(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(OptionError, match="merge_schema=True"):
        open_path(tmp_path, features="x", merge_schema=True, **PREDICT)
