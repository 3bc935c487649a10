"""Times without zone that Spark wrote to ORC, as bigint with an attribute."""

import json
from datetime import datetime

import pyarrow as pa

from tests.unit.bridge.table_files import load_one, open_path
from tests.unit.bridge.table_samples import TABLES

FOUND = json.loads((TABLES / "files.json").read_text())["times_orc"]
PATH = TABLES / "times_orc"
TIMES = [time and datetime.fromisoformat(time) for _, time in FOUND]


def test_keys_are_the_times_that_spark_reads():
    batch = load_one(PATH, features="id", key="time", require_labels=False)
    assert batch.keys.tolist() == TIMES


def test_keys_keep_the_type_that_parquet_has():
    source = open_path(PATH, features="id", key="time", require_labels=False)
    (partition,) = source.partitions
    keys = partition.stored_keys(partition.load().keys)
    assert keys.type == pa.timestamp("us")
    assert keys.to_pylist() == TIMES


def test_times_in_arrays_and_structs_are_times():
    for column, wrapped in (("several", list), ("nested", lambda t: {"time": t[0]})):
        batch = load_one(PATH, features="id", key=column, require_labels=False)
        assert batch.keys.tolist() == [wrapped([time]) for time in TIMES]
