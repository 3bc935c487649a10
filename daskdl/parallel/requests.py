"""What callers ask of a network that several of them share, and the answers."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.batches import Arrays
from daskdl.nn.network import Network

__all__ = ["Answered", "Kind", "Request", "answered"]

Kind: TypeAlias = tuple[tuple[tuple[int, ...], str] | None, ...]
"""Shape of an example and dtype of each array, or None where a mask is left out."""


class Request:
    """The features of one caller, who waits for what the network makes of them.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        That answers; another one that takes its place meanwhile may take other arrays.
    features, features_mask
        As of :meth:`~daskdl.nn.network.Network.output`.

    Attributes
    ----------
    arrays : Arrays
        In canonical form.
    rows : int
        How many examples there are.

    Raises
    ------
    ShapeError, DataError
        If arrays do not fit. Whether their numbers are finite is looked at with those
        of all whom it is joined with: NumPy lets other threads run meanwhile, and to
        get one's turn again takes longer than to look.
    """

    def __init__(
        self, network: Network[Any], features: Any, features_mask: Any
    ) -> None:
        self.network = network
        self.arrays = network.inference.fitting(features, features_mask)
        self.rows = self.arrays.num_examples
        self._kind = _kind_of(self.arrays)
        self._outputs: list[FloatArray] = []
        self._error: BaseException | None = None
        self._neighbours: Answered | None = None
        # A bare lock: an Event makes two of them, and a list.
        self._may_go_on = threading.Lock()
        self._may_go_on.acquire()

    def goes_with(self, other: "Request") -> bool:
        """Whether both can be rows of one minibatch."""
        return (
            self.network is other.network
            and self._kind is not None
            and self._kind == other._kind
        )

    def wait(self) -> list[FloatArray]:
        """Wait for the answer; as :meth:`result`."""
        self._may_go_on.acquire()
        if self._neighbours is not None:
            self._neighbours.wake_one()
        return self.result()

    def result(self) -> list[FloatArray]:
        """Return the outputs, one an output of the network, or raise what came."""
        if self._error is not None:
            raise self._error
        return self._outputs

    def compute(self) -> None:
        """Answer it by a pass of its own."""
        try:
            self._outputs = _outputs_of(self.network, self.arrays)
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            self.fail(error)

    def take(self, outputs: list[FloatArray]) -> None:
        """Answer it with the outputs."""
        self._outputs = outputs

    def fail(self, error: BaseException) -> None:
        """Answer it with an error."""
        self._error = error

    def wake(self, neighbours: "Answered") -> None:
        """Let the caller go on, who wakes the next of the neighbours."""
        self._neighbours = neighbours
        self._may_go_on.release()


class Answered:
    """Requests that are answered, and callers that are still asleep.

    To wake a thread takes 20 to 40 microseconds, and dozens that wake at one time wait
    for each other before they can go on, since Python runs for one at a time. So each
    wakes the next, while the network is at its next pass already: 64 callers of LeNet
    had a fifth more answers by that, on one core and on two.

    Parameters
    ----------
    requests : sequence of Request
    """

    def __init__(self, requests: Sequence[Request] = ()) -> None:
        # Several threads take from it, each another one.
        self._asleep = deque(requests)

    def wake_one(self) -> bool:
        """Wake one caller; return whether there was any."""
        try:
            request = self._asleep.popleft()
        except IndexError:
            return False
        request.wake(self)
        return True

    def wake_all(self) -> None:
        """Wake those that nobody has woken: one who was interrupted wakes nobody."""
        while self.wake_one():
            pass


def answered(requests: Sequence[Request], at_work: Callable[[], object]) -> Answered:
    """Answer requests that go with each other, in one pass if it can be done.

    Where the pass fails, or makes another number of rows, each has a pass of its own,
    so that nobody gets the error, or the rows, of somebody else.

    Parameters
    ----------
    requests : sequence of Request
        At least one.
    at_work : callable
        Called when the thread comes to where others may run beside it.
    """
    if len(requests) == 1 or not _joined(requests, at_work):
        at_work()
        for request in requests:
            request.compute()
    return Answered(requests)


def _joined(requests: Sequence[Request], at_work: Callable[[], object]) -> bool:
    """Answer requests in one pass; return whether it could be done."""
    ends = list(accumulate(request.rows for request in requests))
    try:
        arrays = _side_by_side([request.arrays for request in requests])
        results = _outputs_of(requests[0].network, arrays, at_work)
        if any(len(array) != ends[-1] for array in results):
            return False
        for request, end in zip(requests, ends, strict=True):
            rows = slice(end - request.rows, end)
            # Copies: one row must not keep those of all the others in memory.
            request.take([array[rows].copy() for array in results])
    except BaseException:  # noqa: BLE001 - a pass of its own says whose it is
        return False
    return True


def _outputs_of(
    network: Network[Any], arrays: Arrays, at_work: Callable[[], object] = bool
) -> list[FloatArray]:
    with network.normalizing("own"):
        network.inference.check(arrays)
        at_work()
        return network.inference.outputs(arrays)


def _kind_of(arrays: Arrays) -> Kind | None:
    """Return what arrays must have in common to be joined.

    None for those that cannot be, since inputs have different numbers of examples.
    """
    each = (*arrays.features, *arrays.features_masks)
    n_rows = arrays.num_examples
    if any(array is not None and len(array) != n_rows for array in each):
        return None
    return tuple(
        None if array is None else (array.shape[1:], array.dtype.str) for array in each
    )


def _side_by_side(several: Sequence[Arrays]) -> Arrays:
    """Return the arrays of requests of one kind with their rows behind one another."""
    features = zip(*(arrays.features for arrays in several), strict=True)
    masks = zip(*(arrays.features_masks for arrays in several), strict=True)
    return Arrays(
        [_rows_of(each) for each in features],
        [],
        [None if each[0] is None else _rows_of(each) for each in masks],
        [],
    )


def _rows_of(arrays: Sequence[Any]) -> Any:
    """Return arrays of one kind, (rows, ...) each, as one that is only read.

    NumPy's ``concatenate`` lets others run behind each of them: with 64 callers, 32
    rows of 3 KB took 0.8 to 1.2 ms to be copied. Bytes are joined in one go.
    """
    whole: list[Any] = [np.ascontiguousarray(array) for array in arrays]
    first = whole[0]
    return np.frombuffer(b"".join(whole), first.dtype).reshape(-1, *first.shape[1:])
