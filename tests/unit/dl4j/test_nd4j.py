"""Arrays that the real DL4J 1.0.0-M2.1 wrote, hand-made older ones, damaged ones."""

import gzip
import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from daskdl.dl4j.arrays.layout import ArrayLayout
from daskdl.dl4j.arrays.nd4j import read_array, read_stored, write_array
from daskdl.errors import CorruptFileError, DataError
from tests.unit.dl4j.golden import array_bytes, array_names, expected_arrays

UNREADABLE = ("utf8", "two_in_a_row")
READABLE = [name for name in array_names() if name not in UNREADABLE]
# What NumPy alone does not know: bfloat16 (read as float32), compressed buffers, the
# strides of permuted arrays, Nd4j.empty, the order of arrays of rank 2 with a 1.
SPECIAL = ("bfloat16", "compressed", "empty_float_rank0", "empty_long_rank0")
SPECIAL_ENDS = ("_permute", "1x4_f", "4x1_f", "1x1_f")
PLAIN = [
    name
    for name in READABLE
    if not name.startswith(SPECIAL) and not name.endswith(SPECIAL_ENDS)
]
# DL4J cannot read its own; we write the numbers plain.
NOT_WRITTEN = "compressed_noop"


def text(value):
    return struct.pack(">H", len(value)) + value.encode()


def buffer(values, type_name, dtype, *, mode="MIXED_DATA_TYPES", count=None):
    raw = np.asarray(values, dtype).tobytes()
    count = len(values) if count is None else count
    width = ">q" if mode in ("MIXED_DATA_TYPES", "LONG_SHAPE") else ">i"
    return text(mode) + struct.pack(width, count) + text(type_name) + raw


def stored(shape_info, values=(), **options):
    return io.BytesIO(
        buffer(shape_info, "LONG", ">i8") + buffer(values, "FLOAT", ">f4", **options)
    )


def written(array, layout=None):
    stream = io.BytesIO()
    write_array(stream, array, layout)
    return stream.getvalue()


@pytest.mark.parametrize("name", READABLE)
def test_reads_what_dl4j_wrote(name):
    """Values, shape and end of every golden array; the sign of 0 and NaN too."""
    stream = io.BytesIO(array_bytes(name))
    array = read_array(stream, name=name)
    expected = expected_arrays().get(name)
    if expected is None:  # Nd4j.empty(type)
        expected = np.empty(0, array.dtype)
    np.testing.assert_array_equal(array, expected, strict=array.dtype.itemsize > 2)
    np.testing.assert_array_equal(np.signbit(array), np.signbit(expected))
    assert stream.read() == b""


@pytest.mark.parametrize("name", PLAIN)
def test_writes_what_dl4j_wrote(name):
    raw = array_bytes(name)
    assert written(read_array(io.BytesIO(raw))) == raw


@pytest.mark.parametrize("name", [name for name in READABLE if name != NOT_WRITTEN])
def test_writes_what_dl4j_wrote_with_the_layout(name):
    stored = read_stored(io.BytesIO(array_bytes(name)))
    assert written(stored.values, stored.layout) == array_bytes(name)


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_array_has_no_special_layout(name):
    stored = read_stored(io.BytesIO(array_bytes(name)))
    is_1d_in_f = stored.layout.order == "F" and stored.values.ndim == 1
    assert stored.special_layout is None or is_1d_in_f


def test_a_compressed_buffer_that_dl4j_cannot_read_is_written_plain():
    array = read_array(io.BytesIO(array_bytes(NOT_WRITTEN)))
    assert len(written(array)) == 96 + 33 + array.nbytes


def bfloat16(name="bfloat16_2x3_c"):
    return read_stored(io.BytesIO(array_bytes(name)))


def test_bfloat16_is_not_written_where_it_would_round():
    stored = bfloat16()
    assert read_stored(
        io.BytesIO(written(stored.values / 3, stored.layout))
    ).layout == ArrayLayout("FLOAT")


def test_a_part_of_an_array_keeps_its_type():
    stored = bfloat16("bfloat16_2x3x4_f")
    part = read_stored(io.BytesIO(written(stored.values[:1, ::2], stored.layout)))
    np.testing.assert_array_equal(part.values, stored.values[:1, ::2])
    assert part.layout == ArrayLayout("BFLOAT16", "F")


@pytest.mark.parametrize(
    ("array", "layout"),
    [
        (np.zeros((2, 3)), ArrayLayout("FLOAT")),
        (np.zeros((2, 3)), ArrayLayout("DOUBLE", strides=(1, 2, 8))),
        (np.zeros((2, 3, 4)), ArrayLayout("DOUBLE", strides=(1, 1, 1))),
        (np.zeros((0, 3)), ArrayLayout("DOUBLE", strides=(1, 1))),
        (np.zeros(3), ArrayLayout("DOUBLE", is_null=True)),
    ],
)
def test_a_layout_that_does_not_fit_is_not_followed(array, layout):
    assert not layout.fits(array)
    assert written(array, layout) == written(array)


def test_large_arrays_are_written_in_pieces(rng):
    array = rng.normal(size=5_000_000).astype(np.float32)
    back = read_array(io.BytesIO(written(array)))
    np.testing.assert_array_equal(back, array)


def test_reads_two_arrays_in_a_row():
    stream = io.BytesIO(array_bytes("two_in_a_row"))
    for k in range(2):
        expected = expected_arrays()[f"two_in_a_row.{k}"]
        np.testing.assert_array_equal(read_array(stream), expected)


def test_bfloat16_comes_as_float32():
    array = read_array(io.BytesIO(array_bytes("bfloat16_2x3_c")))
    assert array.dtype == np.float32


def test_text_is_refused():
    with pytest.raises(
        DataError, match=r"^a\.bin: an array must hold numbers, got text"
    ):
        read_array(io.BytesIO(array_bytes("utf8")), name="a.bin")


@pytest.mark.parametrize("mode", ["JAVACPP", "HEAP", "DIRECT"])
def test_reads_the_generation_with_int_counts(mode):
    raw = buffer([2, 2, 3, 3, 1, 0, 1, 99], "INT", ">i4", mode=mode)
    raw += buffer(range(6), "DOUBLE", ">f8", mode=mode)
    expected = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(read_array(io.BytesIO(raw)), expected)


def test_reads_the_generation_of_the_first_betas():
    raw = buffer([2, 1, 3, 1, 1, 0, -1, 102], "LONG", ">i8", mode="LONG_SHAPE")
    raw += buffer(range(3), "FLOAT", ">f4", mode="LONG_SHAPE")
    np.testing.assert_array_equal(read_array(io.BytesIO(raw)), [[0.0, 1.0, 2.0]])


@given(
    npst.arrays(
        npst.boolean_dtypes()
        | npst.integer_dtypes()
        | npst.unsigned_integer_dtypes()
        | npst.floating_dtypes(sizes=(16, 32, 64)),
        npst.array_shapes(min_dims=0, max_dims=5, min_side=1, max_side=4),
    ),
    st.sampled_from(["C", "F"]),
)
def test_reading_what_was_written_is_identity(array, order):
    array = array.copy(order=order)
    back = read_array(io.BytesIO(written(array)))
    native = array.astype(array.dtype.newbyteorder("="))
    assert back.dtype == native.dtype
    assert back.tobytes() == native.tobytes()
    assert back.shape == array.shape


def test_a_dtype_that_nd4j_lacks_is_refused():
    with pytest.raises(
        DataError, match=r"^write_array: dtype must .* got complex128\."
    ):
        write_array(io.BytesIO(), np.zeros(2, complex))


@pytest.mark.parametrize("n_bytes", [0, 1, 10, 30, 100, 150])
def test_a_cut_off_stream_is_named_with_its_offset(n_bytes):
    raw = array_bytes("float_2x3_c")[:n_bytes]
    with pytest.raises(CorruptFileError, match=r"^part\.bin: .* at offset \d+, got"):
        read_array(io.BytesIO(raw), name="part.bin")


# Each asks for something impossible, some of it larger than any memory.
IMPOSSIBLE = {
    "rank 1000": (
        stored([1000, *range(7)]),
        "rank 1000 must have 2004 numbers of shape, got 8",
    ),
    "negative rank": (stored([-2, 0, 0, 0]), "rank -2 must have 0 numbers of shape"),
    "negative size": (
        stored([2, -2, 3, 3, 1, 8192, 1, 99]),
        r"must not be negative, got \[-2, 3\]",
    ),
    "stride that NumPy cannot hold, beyond the end": (
        stored([2, 2, 1, 2**62, 2**62, 8192, 0, 99], [1, 2]),
        "must stay within 2 elements, got element 4611686018427387904",
    ),
    "negative stride": (
        stored([1, 3, -1, 8192, 1, 99], [1, 2, 3]),
        r"must not be negative, got \[3\] and \[-1\]",
    ),
    "huge shape": (
        stored([2, 2**40, 2**40, 2**40, 1, 8192, 1, 99]),
        "at most 576460752303423488 elements",
    ),
    "empty but huge": (
        stored([3, 0, 2**40, 2**40, 0, 0, 0, 8200, 0, 99]),
        "at most 576460752303423488 elements",
    ),
    "shape without elements": (
        stored([2, 2**20, 2**20, 2**20, 1, 8192, 1, 99]),
        "must have 1099511627776 elements, got 0",
    ),
    "elements without shape": (
        stored([1, 0, 0, 8192, 0, 99], [1.0]),
        "must have 0 elements, got 1",
    ),
    "strides beyond the end": (
        stored([2, 2, 2, 7, 1, 8192, 0, 99], [1, 2, 3, 4]),
        "must stay within 4 elements, got element 8",
    ),
    "negative count": (
        stored([1, 3, 1, 8192, 1, 99], [1, 2, 3], count=-3),
        "must not be negative, got -3",
    ),
    "huge count": (
        stored([1, 3, 1, 8192, 1, 99], [1, 2, 3], count=2**50),
        "4503599627370496 bytes must follow at offset .*, got 12 before the end",
    ),
    "long shape": (
        io.BytesIO(buffer([], "LONG", ">i8", count=2**40)),
        "must take 4 to 68 numbers, got 1099511627776",
    ),
    "unknown mode": (io.BytesIO(text("PK") + b"zip"), "must start with one of DIRECT"),
    "name that is no text": (io.BytesIO(b"\x00\x02\xff\xfe"), "text must be UTF-8"),
    "shape of floats": (
        io.BytesIO(buffer([1.0], "FLOAT", ">f4")),
        "must be LONG or INT, got 'FLOAT'",
    ),
    "unknown type": (
        io.BytesIO(
            buffer([1, 3, 1, 0, 1, 99], "LONG", ">i8") + buffer([1], "COMPLEX", ">c8")
        ),
        "of a known type, got 'COMPLEX'",
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_header_is_refused_before_allocating(case):
    stream, message = IMPOSSIBLE[case]
    stream.seek(0)
    with pytest.raises(CorruptFileError, match=rf"^part\.bin: .*{message}"):
        read_array(stream, name="part.bin")


def test_a_name_of_thousands_of_characters_is_shown_in_part():
    """Found by fuzzing: a length that is damaged makes a name of all that follows."""
    stream = io.BytesIO(buffer([1.0], "x" * 60_000, ">f4"))
    with pytest.raises(CorruptFileError, match="LONG or INT, got 'xxx") as caught:
        read_array(stream, name="part.bin")
    assert len(str(caught.value)) < 1000


def compressed(algorithm, raw, *, n_elements, n_original, ordinal=1):
    head = buffer([1, 3, 1, 8192, 1, 99], "LONG", ">i8") + text("MIXED_DATA_TYPES")
    head += struct.pack(">q", len(raw)) + text("COMPRESSED") + text(algorithm)
    head += struct.pack(">qqqi", len(raw), n_original, n_elements, ordinal)
    return io.BytesIO(head + raw)


def test_what_gzip_holds_is_not_trusted_either():
    inner = buffer([1.0, 2.0, 3.0], "FLOAT", ">f4", count=2**40)
    stream = compressed("GZIP", gzip.compress(inner), n_elements=3, n_original=12)
    with pytest.raises(
        CorruptFileError, match=r"^a\.bin \(inflated\): 4398046511104 b"
    ):
        read_array(stream, name="a.bin")


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (
            compressed("GZIP", b"no gzip", n_elements=3, n_original=12),
            "must be valid gzip",
        ),
        (
            compressed("LZ4", b"\0" * 12, n_elements=3, n_original=12),
            "must be GZIP or NOOP, got 'LZ4'",
        ),
        (
            compressed("NOOP", b"\0" * 12, n_elements=2**40, n_original=2**42),
            "4398046511104 bytes must follow",
        ),
        (
            compressed("NOOP", b"\0" * 8, n_elements=3, n_original=12),
            "12 bytes must follow at offset .* got 8",
        ),
        (
            compressed("NOOP", b"\0" * 12, n_elements=-3, n_original=-12),
            "got -3 elements of type FLOAT in -12 bytes",
        ),
        (
            compressed("NOOP", b"\0" * 12, n_elements=3, n_original=12, ordinal=99),
            "got 3 elements of type UNKNOWN in 12 bytes",
        ),
    ],
)
def test_a_damaged_compressed_buffer_is_refused(stream, message):
    with pytest.raises(CorruptFileError, match=message):
        read_array(stream, name="part.bin")


def test_a_stride_along_one_element_may_be_anything():
    """Found by fuzzing: NumPy refused it with an OverflowError."""
    stream = stored([2, 1, 2, 2**62, 1, 8192, 0, 99], [1, 2, 3])
    np.testing.assert_array_equal(read_array(stream), [[1.0, 2.0]])


@pytest.mark.parametrize("name", ["int_2x3_f", "bool_5_c", "compressed_gzip"])
def test_a_stream_that_was_cut_off_anywhere_is_corrupt(name):
    raw = array_bytes(name)
    for n_bytes in range(len(raw)):
        with pytest.raises(CorruptFileError, match=r"^part\.bin: "):
            read_array(io.BytesIO(raw[:n_bytes]), name="part.bin")


@given(st.binary(max_size=300))
def test_garbage_is_refused_as_corrupt(raw):
    with pytest.raises(CorruptFileError):
        read_array(io.BytesIO(raw))


@given(st.integers(0, 152), st.integers(1, 255))
def test_one_flipped_byte_never_gives_another_kind_of_error(position, change):
    raw = bytearray(array_bytes("float_2x3_c"))
    raw[position] ^= change
    try:
        array = read_array(io.BytesIO(bytes(raw)))
    except DataError:
        return
    assert array.size <= 6
