"""Part files that end too early are refused, wherever they end."""

import shutil

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from daskdl.errors import CorruptFileError
from daskdl_bridge.readers.error_location import naming_damaged_file
from tests.unit.bridge.sample_forms import first_file
from tests.unit.bridge.table_files import open_path

CSV = {"features": tuple(f"p{i:02d}" for i in range(64))}
FORMS = {
    "parquet_vector_mixed": {},
    "parquet_array_zstd": {},
    "parquet_columns": CSV,
    "orc": {},
    "csv_gzip": CSV,
}
LINES = {
    "csv_header": CSV,
    "csv_noheader": {
        "features": tuple(f"_c{i}" for i in range(1, 65)),
        "label": "_c0",
    },
    "json": {},
    "libsvm": {"n_features": 64},
}


def truncated_copy(form, tmp_path, share):
    """Copy the first part file, cut after that share of its bytes."""
    original = first_file(form)
    target = tmp_path / original.name
    shutil.copyfile(original, target)
    data = target.read_bytes()
    target.write_bytes(data[: int(share * len(data))])
    return target


@pytest.mark.parametrize("share", [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.999])
@pytest.mark.parametrize("form", FORMS)
def test_truncated_file_is_corrupt(form, tmp_path, share):
    path = truncated_copy(form, tmp_path, share)
    with pytest.raises(CorruptFileError, match=path.name):
        open_path(path, **FORMS[form]).partitions[0].load()


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.75, 0.9, 0.999])
@pytest.mark.parametrize("form", LINES)
def test_file_of_lines_that_ends_inside_a_line_is_corrupt(form, tmp_path, share):
    path = truncated_copy(form, tmp_path, share)
    assert not path.read_bytes().endswith(b"\n")
    with pytest.raises(CorruptFileError, match=path.name):
        open_path(path, **LINES[form]).partitions[0].load()


ORC_ABORTS = pytest.mark.skipif(
    pa.__version__.startswith("18."),
    reason="pyarrow 18 ends the process at damaged ORC data, 19 raises",
)


@pytest.mark.parametrize(
    "form", ["parquet_vector_dense", pytest.param("orc", marks=ORC_ABORTS)]
)
def test_overwritten_data_is_corrupt(form, tmp_path):
    """The footers are whole, so only loading can find out."""
    path = truncated_copy(form, tmp_path, 1.0)
    data = bytearray(path.read_bytes())
    middle = len(data) // 4
    data[4 : 2 * middle] = b"\xa5" * (2 * middle - 4)
    path.write_bytes(data)
    partition = open_path(path).partitions[0]
    with pytest.raises(CorruptFileError, match=path.name):
        partition.load()


def test_empty_parquet_file_is_corrupt(tmp_path):
    path = truncated_copy("parquet_array", tmp_path, 0.0)
    with pytest.raises(CorruptFileError, match=r"cut short or damaged"):
        open_path(path)


def test_file_that_went_away_is_said_to_be_gone(tmp_path):
    path = truncated_copy("parquet_array", tmp_path, 1.0)
    partition = open_path(path).partitions[0]
    path.unlink()
    with pytest.raises(FileNotFoundError, match=path.name):
        partition.load()


def test_a_bit_that_flipped_in_a_page_is_refused(tmp_path):
    """Snappy's copies would decode; the checksum that Spark wrote tells."""
    original = first_file("parquet_vector_sparse")
    path = tmp_path / original.name
    data = bytearray(original.read_bytes())
    data[1324] ^= 0x10
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match=path.name):
        open_path(path).partitions[0].load()


@pytest.mark.parametrize("error", ["two\n lines\n", UnicodeDecodeError])
def test_damage_is_told_in_one_line(error):
    cause = (
        UnicodeDecodeError("utf-8", b"e\xec", 1, 2, "invalid continuation byte")
        if error is UnicodeDecodeError
        else pa.ArrowInvalid(error)
    )
    with (
        pytest.raises(CorruptFileError, match=r"^x: must be a whole ORC") as caught,
        naming_damaged_file("x", "ORC"),
    ):
        raise cause
    assert "\n" not in str(caught.value)


def test_a_damaged_column_name_is_damage_of_the_file(tmp_path):
    path = tmp_path / "x.orc"
    orc.write_table(pa.table({"features": [1.0]}), path, compression="uncompressed")
    path.write_bytes(path.read_bytes().replace(b"features", b"feat\xf5res"))
    with pytest.raises(CorruptFileError, match=r"x\.orc: must be a whole ORC file"):
        open_path(str(path))
