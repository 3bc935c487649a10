"""A vector that is worked on in main memory, wherever it lives."""

from collections.abc import Generator
from contextlib import contextmanager

from daskdl.arrays.namespace import FloatArray, to_device, to_host


class HostVector:
    """Lends a vector to code that works on NumPy's arrays.

    Parameters
    ----------
    vector : ndarray of NumPy or CuPy, shape (n,)
        Written through.

    Attributes
    ----------
    host : ndarray of NumPy, shape (n,)
        The vector itself if it lies in main memory, else a copy that is right while it
        is :meth:`lent`. Always the same array.
    """

    def __init__(self, vector: FloatArray) -> None:
        self._vector = vector
        self.host = to_host(vector)

    @contextmanager
    def lent(self) -> Generator[None, None, None]:
        """Copy the vector to the host, and its new values back at the end."""
        if self.host is self._vector:
            yield
            return
        self.host[...] = to_host(self._vector)
        try:
            yield
        finally:
            self._vector[...] = to_device(self.host, self._vector)
