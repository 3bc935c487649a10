"""Named arrays in one file, in the safetensors format, read and written as a stream.

A file is the length of the header in eight bytes, the header (JSON: type, shape and
place of each array, and texts), and the numbers, row by row and little-endian. Memory
stays bounded by a piece of the numbers: the package `safetensors` maps local files or
holds all of a file at once, and tells the texts of local files only.

References
----------
https://github.com/huggingface/safetensors, section Format.
"""

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.checks import some
from daskdl.errors import FormatError

__all__ = ["StoredTensor", "TensorFile", "checksum", "is_tensor_file", "write_tensors"]

_LENGTH_BYTES = 8
# Numbers begin where a float64 may.
_ALIGNMENT = 8
# The format allows 100 MB; a smaller header takes less memory when it is hostile.
MOST_HEADER_BYTES = 64 << 20
# Of numbers at once in memory; a multiple of each item size.
_PIECE_BYTES = 8 << 20
_TEXTS = "__metadata__"
_KEYS = {"dtype", "shape", "data_offsets"}
_DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8")}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


@dataclass(frozen=True)
class StoredTensor:
    """Dtype, shape and offset of an array in a file.

    Parameters
    ----------
    dtype : dtype
        Little-endian float32 or float64.
    shape : tuple of int
        Row-major.
    start, stop : int
        Bytes from the beginning of the file.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


def write_tensors(
    stream: BinaryIO, tensors: Mapping[str, FloatArray], texts: Mapping[str, str]
) -> None:
    """Write arrays, one behind the other in the order of the mapping.

    Parameters
    ----------
    stream : binary stream
        Written forward.
    tensors : mapping of str to ndarray of any shape, float32 or float64
        C-contiguous, on the host.
    texts : mapping of str to str
        Written beside them.

    Raises
    ------
    FormatError
        If names, shapes and texts take more than 64 MiB.
    """
    header: dict[str, Any] = {_TEXTS: dict(texts)}
    offset = 0
    for name, array in tensors.items():
        stop = offset + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype.newbyteorder("<")],
            "shape": list(array.shape),
            "data_offsets": [offset, stop],
        }
        offset = stop
    content = json.dumps(header, separators=(",", ":")).encode()
    content += b" " * (-len(content) % _ALIGNMENT)
    if len(content) > MOST_HEADER_BYTES:
        raise FormatError(
            f"safetensors: a header must take at most {MOST_HEADER_BYTES} bytes, got "
            f"{len(content)}. A normalizer of so many columns needs a file of its own."
        )
    stream.write(len(content).to_bytes(_LENGTH_BYTES, "little"))
    stream.write(content)
    for array in tensors.values():
        for piece in _pieces(array):
            stream.write(piece)


def checksum(array: FloatArray) -> int:
    """Return the CRC-32 of an array's numbers, of any shape, as they are written."""
    crc = 0
    for piece in _pieces(array):
        crc = zlib.crc32(piece, crc)
    return crc


def is_tensor_file(stream: BinaryIO) -> bool:
    """Tell whether an open file begins as this format does.

    Parameters
    ----------
    stream : binary stream
        At its beginning; left anywhere.
    """
    beginning = stream.read(_LENGTH_BYTES + 1)
    length = int.from_bytes(beginning[:_LENGTH_BYTES], "little")
    return beginning[_LENGTH_BYTES:] == b"{" and length <= MOST_HEADER_BYTES


class TensorFile:
    """An open file of arrays, whose header was checked from end to end.

    Parameters
    ----------
    stream : binary stream, seekable
        At its beginning. Stays open; must not be closed before the last read.

    Attributes
    ----------
    texts : dict of str to str
        What was written beside the arrays.
    tensors : dict of str to StoredTensor
        In the order in which they lie in the file.

    Raises
    ------
    FormatError
        If the file is no such file or cut off, if an array is not of float32 or
        float64, or if the arrays overlap or leave gaps.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        size = stream.seek(0, 2)
        stream.seek(0)
        length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
        self._begin = _LENGTH_BYTES + length
        if length > MOST_HEADER_BYTES or self._begin > size:
            raise _wrong(
                "the header",
                f"must lie in the file and have at most {MOST_HEADER_BYTES} bytes, got "
                f"{length} bytes at offset {_LENGTH_BYTES} of {size}",
            )
        header = self._parsed(stream.read(length))
        self.texts = self._texts(header.pop(_TEXTS, {}))
        found = {name: self._tensor(name, item) for name, item in header.items()}
        by_place = sorted(found.items(), key=lambda item: item[1].start)
        self.tensors = dict(by_place)
        self._check_no_gaps(size)

    def read_into(self, name: str, view: FloatArray) -> int:
        """Read an array into one of the same shape and type.

        Parameters
        ----------
        name : str
            One of :attr:`tensors`.
        view : ndarray
            C-contiguous; overwritten.

        Returns
        -------
        crc : int
            As :func:`checksum` returns it.

        Raises
        ------
        FormatError
            If the file became shorter.
        """
        tensor = self.tensors[name]
        numbers = view.reshape(-1)
        self._stream.seek(tensor.start)
        crc = done = 0
        for start in range(tensor.start, tensor.stop, _PIECE_BYTES):
            wanted = min(_PIECE_BYTES, tensor.stop - start)
            piece = self._exactly(wanted, name, start)
            crc = zlib.crc32(piece, crc)
            values = np.frombuffer(piece, tensor.dtype)
            numbers[done : done + values.size] = values
            done += values.size
        return crc

    def _exactly(self, n_bytes: int, name: str, offset: int) -> bytes:
        """Return so many bytes, however few the store gives at a time."""
        pieces: list[bytes] = []
        while n_bytes:
            piece = self._stream.read(n_bytes)
            if not piece:
                raise _wrong(
                    f"tensor {name!r}",
                    f"must have {n_bytes} more bytes behind offset {offset}, got none",
                )
            pieces.append(piece)
            n_bytes -= len(piece)
        return b"".join(pieces)

    def _parsed(self, content: bytes) -> dict[str, Any]:
        try:
            header = json.loads(content, object_pairs_hook=_without_repeats)
        except RecursionError:
            raise _wrong("the header", "must not be nested that deep") from None
        except ValueError as error:
            raise _wrong("the header", f"must be JSON, got {error}") from None
        if not isinstance(header, dict):
            raise _wrong(
                "the header", f"must be a JSON object, got {type(header).__name__}"
            )
        return header

    def _texts(self, texts: Any) -> dict[str, str]:
        if not isinstance(texts, dict) or not all(
            isinstance(text, str) for text in texts.values()
        ):
            raise _wrong(_TEXTS, "must hold texts only")
        return texts

    def _tensor(self, name: str, item: Any) -> StoredTensor:
        who = f"tensor {name!r}"
        if not isinstance(item, dict) or item.keys() != _KEYS:
            raise _wrong(who, f"must have the keys {sorted(_KEYS)}, got {item!r}")
        if not isinstance(item["dtype"], str) or item["dtype"] not in _DTYPES:
            raise _wrong(
                who, f"dtype must be one of {', '.join(_DTYPES)}, got {item['dtype']!r}"
            )
        dtype = _DTYPES[item["dtype"]]
        shape, offsets = _counts(item["shape"]), _counts(item["data_offsets"])
        if shape is None or offsets is None or len(offsets) != 2:
            raise _wrong(
                who,
                "shape and data_offsets must be lists of whole numbers, got "
                f"{item['shape']!r} and {item['data_offsets']!r}",
            )
        n_bytes = math.prod(shape) * dtype.itemsize
        if offsets[1] - offsets[0] != n_bytes:
            raise _wrong(
                who,
                f"must have {n_bytes} bytes for the shape {list(shape)}, got "
                f"data_offsets {list(offsets)}",
            )
        return StoredTensor(
            dtype, shape, self._begin + offsets[0], self._begin + offsets[1]
        )

    def _check_no_gaps(self, size: int) -> None:
        end = self._begin
        for name, tensor in self.tensors.items():
            if tensor.start != end:
                raise _wrong(
                    f"tensor {name!r}",
                    f"must begin at offset {end}, where the one before it ends, got "
                    f"{tensor.start}",
                )
            end = tensor.stop
        if end != size:
            raise _wrong(
                f"the file with {some(self.tensors)}",
                f"must have {end} bytes, got {size}",
            )


def _pieces(array: FloatArray) -> Iterator[bytes]:
    """Yield the numbers of an array as they are written, some at a time."""
    numbers = array.reshape(-1)
    n = _PIECE_BYTES // array.itemsize
    for start in range(0, numbers.size, n):
        piece = numbers[start : start + n]
        yield piece.astype(piece.dtype.newbyteorder("<"), copy=False).tobytes()


def _counts(values: Any) -> tuple[int, ...] | None:
    """Return a list of whole numbers from 0 on as a tuple; None for all else."""
    if not isinstance(values, list):
        return None
    good = all(type(value) is int and value >= 0 for value in values)
    return tuple(values) if good else None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError(f"a key twice among {some(name for name, _ in pairs)}")
    return values


def _wrong(part: str, text: str) -> FormatError:
    # A hostile header can be long.
    shown = text if len(text) <= 500 else f"{text[:500]} ..."
    return FormatError(f"{part}: {shown}.")
