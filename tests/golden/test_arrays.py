"""Every array that the real DL4J wrote: its values, and its bytes again."""

import functools
import io

import numpy as np
import pytest

from daskdl.dl4j.arrays.nd4j import read_array, read_stored, write_array
from daskdl.errors import FormatError
from tests.golden.case_names import case_names

# DL4J M2.1 could not make them: it has no such compressor.
FAILED = {"compressed_float16", "compressed_int8"}
# DL4J writes them and cannot read them again.
NOT_READ_BY_DL4J = {"empty_float_rank0", "empty_long_rank0"}
# DL4J writes the head of text and not the text.
TEXT = "utf8"
# DL4J reads other numbers than it wrote; we read the right ones, and write them plain.
NOOP = "compressed_noop"
NUMPY = "nd4j_written_npy"
TWO = "two_in_a_row"
NAMES = [
    name for name in case_names("arrays") if name not in FAILED | {TEXT, NUMPY, TWO}
]
STORED_AS_FLOAT32 = ("half_", "bfloat16_")


@functools.cache
def expected_arrays(golden):
    return dict(np.load(golden / "arrays" / "expected.npz"))


def raw(golden, name):
    return (golden / "arrays" / f"{name}.bin").read_bytes()


def written(array, layout=None):
    stream = io.BytesIO()
    write_array(stream, array, layout)
    return stream.getvalue()


def test_every_case_of_the_manifest_is_tried(manifest):
    cases = [case for case in manifest["cases"] if case["kind"] == "arrays"]
    assert {case["name"] for case in cases} == {*NAMES, *FAILED, TEXT, NUMPY, TWO}
    assert {c["name"] for c in cases if c.get("failed_in_dl4j")} == FAILED


@pytest.mark.parametrize("name", NAMES)
def test_values_dtype_and_shape(golden, name):
    stream = io.BytesIO(raw(golden, name))
    array = read_array(stream, name=name)
    assert stream.read() == b""
    if name in NOT_READ_BY_DL4J:
        assert array.shape == (0,)
        return
    expected = expected_arrays(golden)[name]
    same_dtype = not name.startswith(STORED_AS_FLOAT32)
    np.testing.assert_array_equal(array, expected, strict=same_dtype)
    np.testing.assert_array_equal(np.signbit(array), np.signbit(expected))


@pytest.mark.parametrize("name", [name for name in NAMES if name != NOOP])
def test_bytes(golden, name):
    stored = read_stored(io.BytesIO(raw(golden, name)))
    assert written(stored.values, stored.layout) == raw(golden, name)


def test_what_is_not_compressed_is_written_plain(golden):
    array = read_array(io.BytesIO(raw(golden, NOOP)))
    np.testing.assert_array_equal(read_array(io.BytesIO(written(array))), array)


def test_text_is_refused(golden):
    with pytest.raises(FormatError, match=r"^utf8: .* text \(UTF8\), .* at offset 80"):
        read_array(io.BytesIO(raw(golden, TEXT)), name=TEXT)


def test_two_in_a_row(golden):
    stream, again = io.BytesIO(raw(golden, TWO)), b""
    for k in range(2):
        stored = read_stored(stream)
        expected = expected_arrays(golden)[f"{TWO}.{k}"]
        np.testing.assert_array_equal(stored.values, expected, strict=True)
        again += written(stored.values, stored.layout)
    assert again == raw(golden, TWO)


def test_numpys_own_format(golden):
    """What DL4J writes as npy is NumPy's business: it reads and writes the same."""
    content = (golden / "arrays" / "nd4j_written.npy").read_bytes()
    array = np.load(io.BytesIO(content))
    np.testing.assert_array_equal(array, expected_arrays(golden)[NUMPY], strict=True)
    stream = io.BytesIO()
    np.save(stream, array)
    assert stream.getvalue() == content
