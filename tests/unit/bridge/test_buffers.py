"""Arrow's numbers as NumPy's."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from daskdl_bridge.readers.buffers import as_arrow, as_numpy

COLUMNS = {
    "int8": pa.array([1, -2, 3], pa.int8()),
    "uint64": pa.array([1, 2, 1 << 63], pa.uint64()),
    "float16": pa.array(np.array([1.5, 2, 3], np.float16)),
    "float32": pa.array([1.5, 2, 3], pa.float32()),
    "float64": pa.array([1.5, float("nan"), 3]),
    "bool": pa.array([True, False, True, True] * 5),
    "text": pa.array(["a", "b"]),
    "null among integers": pa.array([1, None, 3]),
    "date": pa.array([1, 2], pa.date32()),
    "empty": pa.array([], pa.float64()),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("start", [0, 1])
def test_they_are_what_arrow_makes_of_them(name, start):
    column = COLUMNS[name].slice(start)
    arrows = column.to_numpy(zero_copy_only=False)
    found = as_numpy(column)
    assert found.dtype == arrows.dtype
    np.testing.assert_array_equal(found, arrows)


def test_numbers_are_views():
    column = pa.array([1.0, 2.0, 3.0])
    assert np.shares_memory(as_numpy(column), as_numpy(column.slice(1)))


@pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 19,
    reason="pyarrow 18 imports pandas when it reads a table",
)
def test_rows_are_read_without_pandas(tmp_path):
    """Which Arrow imports for each of its own conversions, where it is installed."""
    table = pa.table({"x": [[1.0, 2.0]], "label": [1], "key": [1]})
    path = tmp_path / "part.parquet"
    pa.parquet.write_table(table, path)
    program = (
        "import sys\n"
        "from daskdl.data.sources.source import SourceOptions, open_source\n"
        "options = SourceOptions(features='x', label='label', n_classes=2)\n"
        f"(partition,) = open_source({str(path)!r}, options).partitions\n"
        "partition.load()\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


NUMBERS = {
    "int8": np.array([1, -2, 3], np.int8),
    "uint64": np.array([1, 2, 1 << 63], np.uint64),
    "float32": np.array([1.5, np.nan, 3], np.float32),
    "float64, each second": np.arange(6.0)[::2],
    "bool": np.array([True, False, True]),
    "other order of bytes": np.arange(3).astype(">i4"),
    "text": np.array(["a", "b"]),
    "empty": np.empty(0),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_columns_are_what_arrow_makes_of_numbers(name):
    try:
        expected = pa.array(NUMBERS[name])
    except pa.ArrowNotImplementedError as error:
        with pytest.raises(type(error)):
            as_arrow(NUMBERS[name])
        return
    found = as_arrow(NUMBERS[name])
    assert found.type == expected.type
    assert found.equals(expected) or str(found) == str(expected)


def test_predictions_are_encoded_without_pandas():
    program = (
        "import sys\n"
        "import numpy as np\n"
        "from daskdl_bridge.writers.parquet import encode_parquet\n"
        "columns = {'id': np.arange(3), 'probability': np.eye(3), 'x': np.ones(3)}\n"
        "assert encode_parquet(columns)[1] == 3\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
