"""``daskdl inspect`` of data: all that `fit` reads, with columns as they are read."""

import bz2
import gzip
import json

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
import xarray as xr
from fsspec.implementations.memory import MemoryFileSystem

from daskdl.cli.main import main
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import OptionError

CSV = "\ufeffid;x;name\n1;2.5;a\n2;;b\n"
OTHER_CSV = "id,x\n1,2.5\n"
JSON = '{"id": 1, "x": [1.5, 2]}\n{"id": 2, "name": "b"}\n'
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}


@pytest.fixture
def inspected(runner):
    """A function that returns text and facts of ``inspect --json``."""

    def inspect(*words):
        result = runner.invoke(main, ["inspect", *map(str, words), "--json"])
        assert result.exit_code == 0, result.stderr
        return result.stderr, json.loads(result.stdout)

    return inspect


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("x.csv", OTHER_CSV, {"id": "number", "x": "number"}),
        ("x.json", JSON, {"id": "int64", "x": "list<item: double>", "name": "string"}),
        ("x.jsonl", JSON, {"id": "int64", "x": "list<item: double>", "name": "string"}),
        ("x.libsvm", "1 2:3\n", {"label": "double", "features": "vector"}),
    ],
)
def test_columns_of_text_are_told_however_it_is_packed(
    inspected, tmp_path, pack, name, content, columns
):
    path = tmp_path / f"{name}{pack}"
    path.write_bytes(PACK[pack](content.encode()))
    assert inspected(path)[1]["columns"] == columns


def test_columns_of_parquet_are_told(inspected, tmp_path):
    vector = dict.fromkeys(("type", "size", "indices", "values"), 1)
    pq.write_table(pa.table({"v": [vector], "n": ["a"]}), tmp_path / "a.parquet")
    facts = inspected(tmp_path)[1]
    assert (facts["columns"], facts["rows"]) == ({"v": "vector", "n": "string"}, 1)


def test_columns_of_orc_are_told(inspected, tmp_path):
    orc.write_table(pa.table({"a": [1]}), tmp_path / "part-0.orc")
    facts = inspected(tmp_path)[1]
    assert (facts["columns"], facts["rows"]) == ({"a": "int64"}, 1)


def test_a_column_that_only_another_file_has_is_told(inspected, tmp_path):
    (tmp_path / "1.json").write_text('{"a": 1}\n')
    (tmp_path / "2.json").write_text('{"b": "x"}\n')
    assert inspected(tmp_path)[1]["columns"] == {"a": "int64", "b": "string"}


@pytest.mark.parametrize("ending", ["zarr", "nc"])
def test_variables_of_labelled_arrays_are_told(inspected, tmp_path, ending):
    pytest.importorskip({"zarr": "zarr", "nc": "h5netcdf"}[ending])
    ds = xr.Dataset({"x": (("sample", "f"), np.zeros((4, 2), np.float32))})
    path = tmp_path / f"a.{ending}"
    if ending == "zarr":
        ds.to_zarr(path, zarr_format=2, consolidated=True)
    else:
        ds.to_netcdf(path, engine="h5netcdf")
    assert inspected(path)[1]["columns"] == {"x": "float32 (sample: 4, f: 2)"}


@pytest.fixture
def partitioned(tmp_path):
    """Two files of one name below directories of dates."""
    for day in ("2024-01-31", "2024-02-29"):
        place = tmp_path / "data" / f"day={day}"
        place.mkdir(parents=True)
        pq.write_table(pa.table({"x": [1.0]}), place / "part-00000.parquet")
    (tmp_path / "data" / "_SUCCESS").touch()
    return tmp_path / "data"


def test_columns_of_directories_are_told_with_their_type(inspected, partitioned):
    text, facts = inspected(partitioned)
    assert facts["columns"] == {"x": "double", "day": "date32[day]"}
    assert facts["partition_columns"] == ["day"]
    assert "  day  date32[day], a directory\n" in text


@pytest.mark.parametrize("path", ["", "/day=*", "/day=*/part-*", "/{day=2024-0*}"])
def test_files_are_named_below_the_source(inspected, partitioned, path):
    text, facts = inspected(f"{partitioned}{path}")
    assert "  day=2024-01-31/part-00000.parquet  1 rows\n" in text
    assert facts["rows"] == 2


def test_files_of_one_partition_are_named_with_its_directory(inspected, partitioned):
    text, _ = inspected(f"{partitioned}/day=2024-0[1]*")
    assert "\n  day=2024-01-31/part-00000.parquet  1 rows" in text


def test_files_of_a_job_are_named_below_the_source(inspected, job_path, tmp_path):
    for name in ("train", "test"):
        below = tmp_path / name / "k=1"
        below.mkdir()
        (tmp_path / name / "part-00000.parquet").rename(below / "part-00000.parquet")
    text, _ = inspected(job_path)
    assert "  k=1/part-00000.parquet  40 rows" in text


def test_data_that_say_nothing_of_features_are_no_mistake(inspected, tmp_path):
    pq.write_table(pa.table({"name": ["a"], "x": [1.0]}), tmp_path / "a.parquet")
    text, _ = inspected(tmp_path / "a.parquet")
    assert "must" not in text


def test_a_wrong_delimiter_is_told(inspected, tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    text, facts = inspected(path)
    assert list(facts["columns"]) == ["id;x;name"]
    assert "on the command line --option delimiter=';'" in text


def test_options_say_how_data_are_stored(inspected, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(CSV)
    words = (path, "--format", "csv", "--option", "delimiter=;")
    columns = {"id": "number", "x": "number", "name": "text"}
    assert inspected(*words)[1]["columns"] == columns
    words = (*words, "--option", "header=false")
    assert inspected(*words)[1]["columns"] == dict.fromkeys(
        ("_c0", "_c1", "_c2"), "text"
    )


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        (b"", ["--option", "delimiter=;"], "must meet data, got a job"),
        (b"", ["--format", "csv"], "must meet data, got a job"),
        (None, ["--option", "delimiter=;"], "options must mean something for parquet"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    runner, job_path, tmp_path, content, words, message
):
    path = job_path if content is not None else tmp_path / "train"
    result = runner.invoke(main, ["inspect", str(path), *words])
    assert (result.exit_code, message in result.stderr) == (2, True)


@pytest.mark.parametrize("name", ["x.csv.gz", "x.json.snappy", "x.csv", "x.libsvm.zst"])
def test_damaged_text_is_bad_input(runner, tmp_path, name):
    (tmp_path / name).write_bytes(b"a\xff\xfe\x00")
    result = runner.invoke(main, ["inspect", str(tmp_path / name)])
    assert result.exit_code == 2
    assert "must be a whole" in result.stderr


def test_a_foreign_codec_is_named(runner, tmp_path):
    (tmp_path / "part-00000.csv.lzo").write_bytes(b"x")
    result = runner.invoke(main, ["inspect", str(tmp_path), "--format", "csv"])
    assert "must be plain, or end in one of" in result.stderr


class Locked(MemoryFileSystem):
    """A store that opens with a password only."""

    protocol = "locked"

    def __init__(self, password=None, **options):
        super().__init__(**options)
        if password != "sesame":
            raise OptionError("locked: password must be right, got another.")

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("locked:", "memory:"))


@pytest.fixture
def locked_csv():
    fsspec.register_implementation("locked", Locked, clobber=True)
    with fsspec.open("memory://shelf/x.csv", "w") as out:
        out.write(OTHER_CSV)
    return "locked://shelf/x.csv"


def test_options_of_the_store_open_it_at_the_first_look(inspected, locked_csv):
    found = inspected(locked_csv, "--option", "storage_options={password: sesame}")
    assert found[1]["columns"] == {"id": "number", "x": "number"}


@pytest.mark.parametrize("url", ["nosuch://x/y", "delta:///x", "locked://shelf/x.csv"])
@pytest.mark.usefixtures("locked_csv")
def test_what_fit_refuses_is_refused_in_the_same_words(runner, url):
    options = SourceOptions(require_labels=False)
    with pytest.raises(OptionError) as refused:
        open_source(url, options)
    result = runner.invoke(main, ["inspect", url])
    assert (result.exit_code, f"error: {refused.value}\n" in result.stderr) == (2, True)
