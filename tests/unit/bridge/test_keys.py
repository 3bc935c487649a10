"""The type of keys, settled over all files."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pytest

from daskdl.errors import ColumnError
from daskdl_bridge.readers.error_location import ErrorLocation
from daskdl_bridge.readers.keys import as_instants, as_stored
from tests.unit.bridge.table_files import open_path, write_parquet, write_text

LOCATION = ErrorLocation("a.parquet", "id", first_row=100)
TIME = pa.timestamp("us")


def opened(directory, *arrays):
    for number, keys in enumerate(arrays):
        columns = {"features": np.zeros(len(keys)), "id": keys}
        write_parquet(directory / f"{number}.parquet", columns)
    return open_path(str(directory), key="id", require_labels=False)


def key_types(source):
    found = []
    for partition in source.partitions:
        partition = pickle.loads(pickle.dumps(partition))
        found.append(partition.stored_keys(partition.load().keys).type)
    return found


@pytest.mark.parametrize(
    ("first", "second", "settled"),
    [
        (pa.array([1], pa.int32()), pa.array([2**40]), pa.int64()),
        (pa.nulls(1), pa.array(["a"]), pa.string()),
        (pa.array(["a"]), pa.nulls(1), pa.string()),
        (pa.array(["a"]).dictionary_encode(), pa.array(["b"]), pa.string()),
        (pa.array([0.5], pa.float32()), pa.array([0.1]), pa.float64()),
        (
            pa.array([{"a": 1}], pa.struct([("a", pa.int32())])),
            pa.array([{"a": 1}], pa.struct([("a", pa.int64())])),
            pa.struct([("a", pa.int64())]),
        ),
    ],
    ids=str,
)
def test_types_that_differ_are_widened(first, second, settled, tmp_path):
    assert key_types(opened(tmp_path, first, second)) == [settled, settled]


def test_types_that_no_type_holds_are_refused_at_once(tmp_path):
    message = (
        r"1\.parquet: column 'id' must have one type in all files to be the key, or to "
        r"be kept, got int64 after string\. Write"
    )
    with pytest.raises(ColumnError, match=message):
        opened(tmp_path, pa.array(["a"]), pa.array([1]))


def test_keys_of_orc_have_the_type_of_the_file(tmp_path):
    keys = pa.array([None, None], pa.decimal128(12, 2))
    orc.write_table(pa.table({"features": [1.0, 2.0], "id": keys}), tmp_path / "x.orc")
    source = open_path(str(tmp_path / "x.orc"), key="id", require_labels=False)
    assert key_types(source) == [pa.decimal128(12, 2)]


def test_the_label_of_libsvm_can_be_the_key(tmp_path):
    path = write_text(tmp_path / "x.libsvm", "1 1:0.5\n0 1:1.5\n")
    source = open_path(path, format="libsvm", key="label", require_labels=False)
    assert key_types(source) == [pa.float64()]


def test_without_a_key_there_is_none(tmp_path):
    path = write_parquet(tmp_path / "x.parquet", {"features": [1.0]})
    (partition,) = open_path(path, require_labels=False).partitions
    assert partition.stored_keys(None) is None


def test_no_keys_fit_every_type():
    assert as_stored(np.zeros(0), pa.string(), LOCATION).type == pa.string()


def test_times_of_any_zone_stay_the_same_instants():
    keys = np.array(["2024-01-02T00:00"], "M8[us]")
    stored = as_stored(keys, pa.timestamp("us", "Asia/Tokyo"), LOCATION)
    assert stored.cast(pa.int64()).to_pylist() == [1704153600000000]


@pytest.mark.parametrize(
    ("keys", "key_type", "got"),
    [
        (np.array([1, "a"], object), pa.int64(), "'a' in row 101"),
        (np.array([1, 2**40]), pa.int32(), r".*1099511627776\)? in row 101"),
        (np.array([2**70, 1], object), pa.int64(), f"{2**70} in row 100"),
        (np.array([2**60 + 1]), pa.float64(), r".*\)? in row 100"),
    ],
    ids=str,
)
def test_a_key_that_does_not_fit_is_refused(keys, key_type, got):
    message = rf"a.parquet: column 'id' must hold {key_type}, .* got {got}\. Write"
    with pytest.raises(ColumnError, match=message):
        as_stored(keys, key_type, LOCATION)


def test_only_nanoseconds_without_a_zone_are_taken_for_int96():
    plain = pa.struct([("a", pa.timestamp("us")), ("b", pa.int64())])
    assert as_instants(plain) == plain


@pytest.mark.parametrize("kind", [TIME, pa.struct([("t", TIME)])], ids=str)
def test_timestamps_of_orc_are_no_keys(tmp_path, kind):
    """Whoever wrote them had a time zone, which pyarrow does not tell."""
    column = pa.nulls(2, kind)
    table = pa.table({"features": [1.0, 2.0], "id": column})
    orc.write_table(table, tmp_path / "x.orc")
    with pytest.raises(ColumnError, match="'id' must not hold timestamps of ORC to be"):
        open_path(str(tmp_path), key="id", require_labels=False)
    open_path(str(tmp_path), require_labels=False)
