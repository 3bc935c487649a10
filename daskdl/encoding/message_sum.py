"""Sums of messages, subtracted from a vector at once or folded into one message."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.encoding.handler import decode_add, merge
from daskdl.encoding.wire import pack, unpacked
from daskdl.kernels.threshold import HEADER_INTS, THRESHOLD, subtract_and_clear

# Of so many elements one entry: going through all of a vector, in order, is then as
# fast as going to the entries, and a dense update as short.
_ELEMENTS_AN_ENTRY = 16


class MessageSum:
    """Adds messages up, and subtracts their sum from a vector at once.

    While only few entries came, the subtraction looks at these alone: an iteration of
    gradient sharing then goes once through all parameters, in the encoder, and not
    three times. Whether it does changes no bit.

    Parameters
    ----------
    like : ndarray of shape (n,), float32 or float64
        The vector that will be subtracted from; only its shape and dtype are looked at.
    """

    def __init__(self, like: FloatArray) -> None:
        self._total: FloatArray = array_namespace(like).zeros_like(like)
        self._sparse: list[NDArray[np.int32]] = []
        self._room = like.size // _ELEMENTS_AN_ENTRY
        self._is_dense = False

    def add(self, message: NDArray[Any]) -> None:
        """Decode a message and add it to the sum.

        Parameters
        ----------
        message : ndarray of shape (length,)
            Packed (uint8), an int32 message or a dense float update. Not changed, but
            kept until the sum is subtracted.

        Raises
        ------
        ShapeError, StaleMessageError
            As :func:`~daskdl.encoding.handler.decode_add`; the sum is as it was then.
        """
        message = unpacked(message, self._total.size)
        decode_add(message, self._total)
        self._room -= message.size
        if self._is_dense or not _is_sparse(message) or self._room < 0:
            self._is_dense = True
            self._sparse.clear()
        else:
            self._sparse.append(message)

    def subtract_from(self, target: FloatArray) -> None:
        """Subtract the sum, and begin anew.

        Parameters
        ----------
        target : ndarray of shape (n,), dtype of the sum, contiguous
            Changed; not even looked at if nothing was added.
        """
        messages = None if self._is_dense else self._sparse
        subtract_and_clear(self._total, target, messages)
        self._sparse.clear()
        self._is_dense = False
        self._room = target.size // _ELEMENTS_AN_ENTRY


def fold(messages: Sequence[NDArray[Any]], size: int) -> NDArray[Any]:
    """Return one message that is the sum of several.

    Parameters
    ----------
    messages : sequence of ndarray of shape (length,)
        Packed, int32 or dense, at least one, in the order in which they were sent.
    size : int
        Length of the vector.

    Returns
    -------
    message : ndarray
        Packed, if all are threshold messages of one threshold and have few entries;
        else the dense float32 update of :func:`~daskdl.encoding.handler.merge`.

    Raises
    ------
    ShapeError, StaleMessageError
        As :func:`~daskdl.encoding.handler.decode_add`.
    """
    found = [unpacked(message, size) for message in messages]
    n_entries = sum(message.size - HEADER_INTS for message in found)
    if n_entries * _ELEMENTS_AN_ENTRY > size or not all(map(_is_sparse, found)):
        return merge(found, size)
    # Without the count; the bits of the threshold are in the third int.
    header = found[0][1:HEADER_INTS]
    if any((message[1:HEADER_INTS] != header).any() for message in found[1:]):
        return merge(found, size)
    entries = [message[HEADER_INTS:] for message in found]
    return pack(np.concatenate([np.array([n_entries], np.int32), header, *entries]))


def _is_sparse(message: NDArray[Any]) -> bool:
    return message.dtype == np.int32 and int(message[3]) == THRESHOLD
