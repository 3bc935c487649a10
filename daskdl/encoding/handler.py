"""From an update to a message and back: DL4J's gradient-sharing encoder.

:class:`EncodingHandler` keeps what was trained but not sent, the residual;
:func:`decode_add`, :func:`decode_subtract` and :func:`merge` are what a receiver needs.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.checks import check_one_of, check_positive
from daskdl.encoding.algorithms import (
    AdaptiveThresholdAlgorithm,
    LastEncoding,
    ThresholdAlgorithm,
    ThresholdState,
)
from daskdl.encoding.finite import check_finite
from daskdl.encoding.magnitude import magnitude
from daskdl.encoding.message import check_dense, check_message
from daskdl.encoding.residual import (
    ResidualClippingPostProcessor,
    ResidualPostProcessor,
)
from daskdl.encoding.wire import unpacked
from daskdl.errors import ShapeError
from daskdl.kernels.threshold import (
    HEADER_INTS,
    Scratch,
    bitmap_decode_add,
    bitmap_encode,
    difference_encode,
    double,
    threshold_decode_add,
    threshold_encode,
)

_FLOAT32 = np.finfo(np.float32)
ROUNDINGS = ("nearest", "down")
# How many updates of the first one's size are to gather before an element is sent. With
# fewer, most messages of the first epochs are bitmaps; see design 0012.
_GATHERED = 3.0
# How much a threshold may rise at once where updates outgrow it: a warm-up is followed,
# and a single minibatch out of the ordinary does not spoil it.
_MOST_RISE = 2.0
# As long as what any message has around it on the wire: a shorter one costs nothing.
# The share of a small vector would be less than one element.
_FREE_INTS = 64


class EncodingHandler:
    """Turns the updates of one worker into messages; keeps the rest.

    Parameters
    ----------
    size : int
        Length of the update vector, less than 2**31.
    algorithm : ThresholdAlgorithm, optional
        Chooses the threshold of each message.
    post_processor : ResidualPostProcessor, optional
        Changes the residual after each message.
    rounding : {'down', 'nearest'}
        Whether an element is sent once it has reached the threshold, as in DL4J, or
        half of it. Both send a whole one.
    dtype : {'float32', 'float64'}
        Type of the residual and of the updates.
    observe : callable, optional
        Called before each encoding with the residual of shape (size,), which is its
        own, and with the threshold.

    Notes
    -----
    DL4J's state machine: the first message is a bitmap; one with few codes is followed
    by threshold messages, until one would be as long as a bitmap. Where we differ: the
    elements that reach the threshold are counted before anything is taken off, so no
    quantum is lost in the change to a bitmap, and a vector of fewer than 32 elements,
    too short for any threshold message, goes on sending bitmaps.
    """

    def __init__(
        self,
        size: int,
        *,
        algorithm: ThresholdAlgorithm | None = None,
        post_processor: ResidualPostProcessor | None = None,
        rounding: str = "down",
        dtype: DTypeLike = np.float32,
        observe: Callable[[FloatArray, float], None] | None = None,
    ) -> None:
        who = "EncodingHandler"
        check_positive(who, "size", size)
        check_one_of(who, "rounding", rounding, ROUNDINGS)
        check_one_of(who, "dtype", np.dtype(dtype).name, ("float32", "float64"))
        if size > np.iinfo(np.int32).max:
            # The header and the positions are int32.
            raise ShapeError(f"{who}: size must be < 2**31, got {size}.")
        self._algorithm = algorithm or AdaptiveThresholdAlgorithm()
        self._post_processor = post_processor or ResidualClippingPostProcessor()
        # How many times what an element must have reached is sent of it.
        self._quantum = 2.0 if rounding == "nearest" else 1.0
        self._residual: FloatArray = np.zeros(size, dtype)
        # A threshold message is sent only while it is shorter than a bitmap.
        self._boundary = max(size // 16 - HEADER_INTS - 1, 0)
        self._scratch = Scratch.for_messages_from(self._residual, self._boundary)
        self._is_bitmap_mode = True
        self._last: LastEncoding | None = None
        self._state = ThresholdState()
        self._observe = observe

    @property
    def residual(self) -> FloatArray:
        """The unsent part of updates, of shape (size,); may be written through."""
        return self._residual

    @property
    def threshold(self) -> float:
        """The threshold of the last message, or of the first one to come."""
        if self._last is not None:
            return self._last.threshold
        return self._algorithm.next_threshold(self._state, None)[0]

    @property
    def state(self) -> ThresholdState:
        """The state of the algorithm; see :meth:`ThresholdAlgorithm.reduce`."""
        return self._state

    @property
    def reads_first_threshold(self) -> bool:
        """Whether the first threshold is yet to be read off an update."""
        is_known = self._last is not None or not math.isnan(self._state.threshold)
        return self._algorithm.first_share is not None and not is_known

    def start_from(self, state: ThresholdState) -> None:
        """Go on from a state of the algorithm, before any message."""
        self._state = state

    def threshold_for(self, update: FloatArray, *, sampled: bool = False) -> float:
        """Return the threshold that an update asks for; NaN where it is all zeros.

        Parameters
        ----------
        update : ndarray of shape (size,)
            Not changed.
        sampled : bool
            Whether a sample of its numbers is looked at.
        """
        share = self._algorithm.first_share
        if share is None:
            return math.nan
        reached = _GATHERED * magnitude(update, share, sampled=sampled)
        return self._quantum * reached

    def encode(
        self, update: FloatArray, iteration: int, epoch: int
    ) -> NDArray[np.int32] | None:
        """Add an update to the residual and take a message out of it.

        Parameters
        ----------
        update : ndarray of shape (size,), dtype of the handler, contiguous
            What the updater made of the gradient. Not changed.
        iteration, epoch : int
            The network's counters. No algorithm here looks at the epoch.

        Returns
        -------
        message : ndarray of shape (length,), int32, or None
            ``None`` when fewer than two elements are to be sent. The length is at most
            ``size // 16 + 5``.

        Raises
        ------
        ShapeError
            When the update has another shape or dtype.
        """
        self._check(update)
        self.follow(update)
        message = self._take_message(update)
        if message is not None:
            tau = self.threshold
            self._post_processor.process(self._residual, iteration=iteration, tau=tau)
        return message

    def encode_difference(
        self, base: FloatArray, params: FloatArray
    ) -> NDArray[np.int32] | None:
        """Take a message out of what parameters lack of a base, and off the base.

        As :meth:`encode` does, with ``base - params`` for the residual, which stands
        nowhere: the handler's own is only written to where the message is a bitmap.
        What is left is not processed.

        Parameters
        ----------
        base : ndarray of shape (size,), dtype of the handler, contiguous
            What all members know. Loses what the message carries, by the subtraction
            with which they decode it.
        params : ndarray of shape (size,), dtype of the handler, contiguous
            Not changed.

        Returns
        -------
        message : ndarray of shape (length,), int32, or None
            As of :meth:`encode`.

        Raises
        ------
        DivergedError
            When what would be sent is not finite.
        """
        tau = self._next_threshold()
        if math.isnan(tau):
            return None
        if self._observe is not None:
            self._observe(base - params, tau)
        if not self._is_bitmap_mode:
            message, count = difference_encode(
                base,
                params,
                tau / self._quantum,
                quantum=self._quantum,
                boundary=self._boundary,
                scratch=self._scratch,
            )
            if not _needs_bitmap(message, count):
                self._note_sparse(tau, message)
                return message
        array_namespace(base).subtract(base, params, out=self._residual)
        check_finite(self._residual)
        bitmap = self._bitmap(tau)
        decode_subtract(bitmap, base)
        return bitmap

    def state_dict(self) -> dict[str, Any]:
        """Return all that a restarted worker needs to go on with the same messages."""
        last = self._last
        return {
            "residual": self._residual.copy(),
            "is_bitmap_mode": self._is_bitmap_mode,
            "last_threshold": None if last is None else last.threshold,
            "last_sparsity": None if last is None else last.sparsity,
            "threshold": self._state.threshold,
            "sparsity": self._state.sparsity,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the result of :meth:`state_dict`; without a residual that is zero.

        Raises
        ------
        ShapeError
            When the residual has another shape or dtype.
        """
        residual = state.get("residual")
        if residual is None:
            self._residual.fill(0)
        else:
            self._check(residual)
            self._residual[:] = residual
        self._is_bitmap_mode = state["is_bitmap_mode"]
        self._state = ThresholdState(
            threshold=state["threshold"], sparsity=state["sparsity"]
        )
        self._last = None
        if state["last_threshold"] is not None:
            self._last = LastEncoding(
                threshold=state["last_threshold"], sparsity=state["last_sparsity"]
            )

    def follow(self, update: FloatArray) -> None:
        """Read the first threshold off an update, and rise where updates outgrow it.

        An element gives one quantum a message: where many give more each time, the
        residual grows faster than it can be sent. `update` is of shape (size,).
        """
        last, state = self._last, self._state
        known = state.threshold if last is None else last.threshold
        is_first = math.isnan(known)
        asked = self.threshold_for(update, sampled=not is_first)
        if not is_first and not asked > known:
            return
        if last is None:
            self._state = replace(state, threshold=_risen(known, asked))
        else:
            self._last = replace(last, threshold=_risen(known, asked))

    def _take_message(self, update: FloatArray) -> NDArray[np.int32] | None:
        tau = self._next_threshold()
        if math.isnan(tau):
            return None
        if self._observe is not None:
            self._observe(self._residual + update, tau)
        if self._is_bitmap_mode:
            return self._bitmap(tau, update)
        message, count = threshold_encode(
            self._residual,
            tau / self._quantum,
            update=update,
            boundary=self._boundary,
            truncate=False,
            scratch=self._scratch,
        )
        if _needs_bitmap(message, count):
            return self._bitmap(tau)
        self._note_sparse(tau, message)
        if message is not None and self._quantum != 1:
            double(message, self._residual)
        return message

    def _next_threshold(self) -> float:
        """Return the threshold of the next message, NaN if there is to be none."""
        chosen, self._state = self._algorithm.next_threshold(self._state, self._last)
        if math.isnan(chosen):
            return chosen
        # The header is a float32: a threshold that decays for thousands of iterations
        # must not become 0, which every element reaches.
        least = self._quantum * float(_FLOAT32.tiny)
        return min(max(chosen, least), float(_FLOAT32.max))

    def _bitmap(
        self, tau: float, update: FloatArray | None = None
    ) -> NDArray[np.int32]:
        """Return a bitmap of the residual, and see whether the next one is one, too.

        After one in the place of positions it is; else if there were many codes.
        """
        words, reached = self._residual.size // 16, tau / self._quantum
        message, count = bitmap_encode(self._residual, reached, update=update)
        stays = words < 2 or count >= (words + 5) // 2
        self._is_bitmap_mode = not self._is_bitmap_mode or stays
        self._note(tau, None, n_ints=message.size, n_sent=count)
        if self._quantum != 1:
            double(message, self._residual)
        return message

    def _note_sparse(self, tau: float, message: NDArray[np.int32] | None) -> None:
        n_ints = 0 if message is None else message.size
        sparsity = n_ints / self._residual.size
        self._note(tau, sparsity, n_ints=n_ints, n_sent=n_ints)

    def _note(
        self, tau: float, sparsity: float | None, *, n_ints: int, n_sent: int
    ) -> None:
        """Remember a message; one that costs nothing is never too dense.

        Where the first threshold is given, DL4J's rules hold.
        """
        share = self._algorithm.first_share
        if share is not None and n_ints <= _FREE_INTS:
            sparsity = min(n_sent / self._residual.size, share)
        self._last = LastEncoding(threshold=tau, sparsity=sparsity)

    def _check(self, vector: FloatArray) -> None:
        expected = self._residual
        if vector.shape != expected.shape or vector.dtype != expected.dtype:
            raise ShapeError(
                f"EncodingHandler: update must have shape {expected.shape} and dtype "
                f"{expected.dtype}, got {vector.shape} and {vector.dtype}."
            )


def _needs_bitmap(message: NDArray[np.int32] | None, count: int) -> bool:
    """Return whether positions would be longer than a bitmap, or numbers are none."""
    return message is None and (count >= 2 or count < 0)


def _risen(known: float, asked: float) -> float:
    return asked if math.isnan(known) else min(asked, _MOST_RISE * known)


def decode_add(message: NDArray[Any], target: FloatArray) -> None:
    """Decode a message, and add it to a vector.

    Parameters
    ----------
    message : ndarray
        An int32 message, one that was packed (uint8), or a dense float update of the
        shape of `target`.
    target : ndarray of shape (n,), float32 or float64, contiguous
        Changed; not at all if the message is refused.

    Raises
    ------
    ShapeError
        When the message is none of these kinds of array.
    StaleMessageError
        When it is damaged or was made for another length.
    """
    _decode(message, target, 1)


def decode_subtract(message: NDArray[Any], target: FloatArray) -> None:
    """Decode a message, and subtract it from a vector; see :func:`decode_add`."""
    _decode(message, target, -1)


def merge(messages: Iterable[NDArray[Any]], size: int) -> NDArray[np.float32]:
    """Return the sum of messages as one dense update.

    What a slow peer gets instead of its queue: messages add up, so the sum loses
    nothing.

    Parameters
    ----------
    messages : iterable of ndarray
        As for :func:`decode_add`, in the order in which they were sent.
    size : int
        Length of the vector.

    Returns
    -------
    update : ndarray of shape (size,), float32
        Newly allocated.

    Raises
    ------
    ShapeError, StaleMessageError
        As :func:`decode_add`.
    """
    update = np.zeros(size, np.float32)
    for message in messages:
        decode_add(message, update)
    return update


def _decode(message: NDArray[Any], target: FloatArray, sign: int) -> None:
    message = unpacked(message, target.size)
    if message.dtype.kind == "f":
        check_dense(message, target.size)
        update = message.astype(target.dtype, copy=False)
        target += update if sign > 0 else -update
    elif check_message(message, target.size).is_bitmap:
        bitmap_decode_add(message, target, sign=sign)
    else:
        threshold_decode_add(message, target, sign=sign)
