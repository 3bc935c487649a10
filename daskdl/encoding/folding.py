"""Several messages as one: for a peer that is slow to take them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.encoding.handler import merge
from daskdl.encoding.wire import pack, unpacked
from daskdl.kernels.threshold import HEADER_INTS, THRESHOLD

# Of so many elements one entry: a dense update is then as short, and going through all
# of a vector, in order, as fast as going to the entries.
_ELEMENTS_AN_ENTRY = 16


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
