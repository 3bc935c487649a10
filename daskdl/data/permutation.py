"""Random permutations of any size that are computed, not stored.

Whoever knows the seed and the size can tell where one element goes, and what comes to
one place, without a table: parts of data that are billions of examples long are
shuffled or split by processes that never see each other.

References
----------
Luby and Rackoff, "How to construct pseudorandom permutations from pseudorandom
functions", 1988: a Feistel network. Black and Rogaway, "Ciphers with arbitrary finite
domains", 2002: sizes that are no power of two, by walking on until a number is in range
(their cycle-walking cipher). The round function is the finaliser of SplitMix64 (Steele,
Lea and Flood, 2014), which is no cipher: nobody attacks an order of examples.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.random import stream

__all__ = ["Permutation"]

_Numbers = NDArray[np.int64]
_Bits = NDArray[np.uint64]

# Four would do for large sizes; a few elements need more until all orders are alike.
_N_ROUNDS = 12


@dataclass(frozen=True)
class Permutation:
    """A random order of `size` elements.

    Parameters
    ----------
    size : int
        At least 0.
    keys : tuple of int
        From 0 to 2**64 - 1, one a round.
    """

    size: int
    keys: tuple[int, ...]

    @classmethod
    def drawn(cls, size: int, seed: int, *names: str | int) -> "Permutation":
        """Draw a permutation that a seed and a name decide; see `stream`."""
        rng = stream(seed, *names)
        keys = rng.integers(0, 2**64, _N_ROUNDS, np.uint64, endpoint=False)
        return cls(size, tuple(keys.tolist()))

    def places(self, elements: _Numbers) -> _Numbers:
        """Return where elements go.

        Parameters
        ----------
        elements : ndarray of shape (n,), int64
            From 0 to `size` - 1.

        Returns
        -------
        ndarray of shape (n,), int64
            From 0 to `size` - 1; different ones for different elements.
        """
        return self._walked(elements, self.keys, is_inverse=False)

    def elements(self, places: _Numbers) -> _Numbers:
        """Return what comes to places: the inverse of `places`."""
        return self._walked(places, self.keys[::-1], is_inverse=True)

    def _walked(
        self, numbers: _Numbers, keys: tuple[int, ...], *, is_inverse: bool
    ) -> _Numbers:
        # Two halves of as many bits: the range is at most four times the size, so that
        # a walk takes four steps on average at worst.
        half = np.uint64(max(1, (max(self.size - 1, 0).bit_length() + 1) // 2))
        found = numbers.astype(np.uint64)
        outside = np.arange(len(found))
        while len(outside):
            walked = _network(found[outside], keys, half, is_inverse=is_inverse)
            found[outside] = walked
            outside = outside[walked >= self.size]
        return found.astype(np.int64)


def _network(
    numbers: _Bits,
    keys: tuple[int, ...],
    half: np.uint64,
    *,
    is_inverse: bool,
) -> _Bits:
    mask = np.uint64((1 << int(half)) - 1)
    left, right = numbers >> half, numbers & mask
    if is_inverse:
        left, right = right, left
    for key in keys:
        left, right = right, left ^ (_mixed(right ^ np.uint64(key)) & mask)
    if is_inverse:
        left, right = right, left
    joined: _Bits = (left << half) | right
    return joined


def _mixed(z: _Bits) -> _Bits:
    """Return 64 bits that depend on all 64 of each number."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: _Bits = z ^ (z >> np.uint64(31))
    return mixed
