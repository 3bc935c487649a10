"""The file of arrays: what is not what the header promises is refused."""

import contextlib
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.errors import FormatError
from daskdl.formats import tensor_file
from daskdl.formats.tensor_file import (
    TensorFile,
    checksum,
    is_tensor_file,
    write_tensors,
)


def stored(tensors, texts=None):
    stream = io.BytesIO()
    write_tensors(stream, tensors, texts or {})
    stream.seek(0)
    return stream


def with_header(header, data=b""):
    content = header if isinstance(header, bytes) else json.dumps(header).encode()
    return io.BytesIO(len(content).to_bytes(8, "little") + content + data)


def entry(shape=(2,), offsets=(0, 8), dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3, 4)])
def test_arrays_come_back_bit_for_bit(rng, shape, dtype):
    array = np.asarray(rng.standard_normal(shape), dtype)
    file = TensorFile(stored({"a": array}))
    view = np.empty_like(array)
    file.read_into("a", view)
    assert view.tobytes() == array.tobytes()


def test_long_arrays_go_in_pieces(rng, monkeypatch):
    monkeypatch.setattr(tensor_file, "_PIECE_BYTES", 16)
    array = rng.standard_normal((5, 3))
    view = np.empty_like(array)
    crc = TensorFile(stored({"a": array})).read_into("a", view)
    np.testing.assert_array_equal(view, array)
    assert crc == checksum(array)


def test_a_store_may_give_less_than_asked(rng):
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 3) if self.tell() > 100 else size)

    array = rng.standard_normal(40)
    file = TensorFile(Slow(stored({"a": array}).getvalue()))
    view = np.empty_like(array)
    file.read_into("a", view)
    np.testing.assert_array_equal(view, array)


def test_a_file_that_became_shorter_is_refused(rng):
    stream = stored({"a": rng.standard_normal(4)})
    file = TensorFile(stream)
    stream.truncate(len(stream.getvalue()) - 4)
    with pytest.raises(FormatError, match=r"^tensor 'a': must have 4 more bytes"):
        file.read_into("a", np.empty(4))


def test_texts_come_back():
    file = TensorFile(stored({}, {"a": "ä\n", "b": ""}))
    assert file.texts == {"a": "ä\n", "b": ""}


def test_a_header_that_no_program_would_take_is_not_written(monkeypatch):
    monkeypatch.setattr(tensor_file, "MOST_HEADER_BYTES", 100)
    with pytest.raises(FormatError, match="a header must take at most 100 bytes, got"):
        stored({}, {"a": "x" * 100})


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (
            io.BytesIO(b""),
            "the header: must lie in the file .* 0 bytes at offset 8 of 0",
        ),
        (
            io.BytesIO(b"\xff" * 8),
            "the header: must .* at most 67108864 bytes, got 18446744073709551615",
        ),
        (
            io.BytesIO(b"\x09" + b"\0" * 7 + b"{}"),
            "the header: must .* got 9 bytes at offset 8 of 10",
        ),
        (with_header(b"{"), "the header: must be JSON"),
        (with_header(b"\xff\xfe"), "the header: must be JSON"),
        (with_header(b"1" * 5000), "the header: must be"),
        (with_header(b"[" * 100_000), "the header: must not be nested that deep"),
        (with_header([]), "the header: must be a JSON object, got list"),
        (
            with_header(b'{"a": 1, "a": 2}'),
            "the header: must be JSON, got a key twice among 'a'",
        ),
        (with_header({"__metadata__": {"a": 1}}), "__metadata__: must hold texts only"),
        (with_header({"__metadata__": []}), "__metadata__: must hold texts only"),
        (with_header({"a": 1}), r"tensor 'a': must have the keys \['data_offsets'"),
        (with_header({"a": {**entry(), "x": 1}}), "tensor 'a': must have the keys"),
        (
            with_header({"a": entry(dtype="I64")}),
            "tensor 'a': dtype must be one of F32, F64, got 'I64'",
        ),
        (
            with_header({"a": entry(dtype=[])}),
            r"tensor 'a': dtype must be one of F32, F64, got \[\]",
        ),
        (
            with_header({"a": entry(shape=2)}),
            "tensor 'a': shape and data_offsets must be lists",
        ),
        (
            with_header({"a": entry(shape=(-2,))}),
            "tensor 'a': shape and data_offsets must be lists",
        ),
        (
            with_header({"a": entry(shape=(True, 2))}),
            "tensor 'a': shape and data_offsets must be lists",
        ),
        (
            with_header({"a": entry(offsets=(0, 8, 9))}),
            "tensor 'a': shape and data_offsets must be lists",
        ),
        (
            with_header({"a": entry(offsets=(8, 0))}),
            "tensor 'a': must have 8 bytes for the shape",
        ),
        (
            with_header({"a": entry(shape=(2**40, 2**40))}),
            "tensor 'a': must have 4835703278458516",
        ),
        (with_header({"a": entry()}), "the file with 'a': must have .* bytes, got"),
        (
            with_header({"a": entry(offsets=(4, 12))}, b"x" * 12),
            "tensor 'a': must begin at offset",
        ),
        (
            with_header({"a": entry(), "b": entry(offsets=(4, 12))}, b"x" * 12),
            "tensor 'b': must begin at offset .*, where the one before it ends",
        ),
        (
            with_header({"a": entry()}, b"x" * 9),
            "the file with 'a': must have .* bytes, got",
        ),
    ],
)
def test_a_wrong_header_is_refused(stream, message):
    with pytest.raises(FormatError, match=f"^{message}"):
        TensorFile(stream)


def test_messages_stay_short():
    with pytest.raises(FormatError) as caught:
        TensorFile(with_header({"a": ["x" * 10_000]}))
    assert len(str(caught.value)) < 600


@given(st.binary(max_size=64), st.booleans())
def test_any_bytes_are_read_or_refused(content, is_framed):
    stream = with_header(content) if is_framed else io.BytesIO(content)
    with contextlib.suppress(FormatError):
        TensorFile(stream)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x02" + b"\0" * 7 + b"{}", True),
        (b"\x02" + b"\0" * 7 + b"[]", False),
        (b"\xff" * 8 + b"{}", False),
        (b"", False),
    ],
)
def test_files_are_told_by_their_beginning(content, expected):
    assert is_tensor_file(io.BytesIO(content)) is expected
