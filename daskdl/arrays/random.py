"""Independent streams of random numbers, always drawn on the host.

Streams are named, not counted: what one consumer draws changes no other, and CPU and
GPU start from the same weights.
"""

import hashlib

import numpy as np


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator that belongs to a seed and a name.

    Parameters
    ----------
    seed : int
        The seed of the network or the run; DL4J's may be negative.
    *names : str or int
        What the numbers are for, e.g. ``"dropout", 0, 17``.

    Returns
    -------
    numpy.random.Generator
        A PCG64 at its beginning: the same arguments give the same numbers in every
        process, on every platform.
    """
    # repr keeps 1 and "1" apart, and ("ab", "c") from ("a", "bc").
    name = repr((int(seed), *(n if isinstance(n, str) else int(n) for n in names)))
    entropy = int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")
    # default_rng may change its bit generator in a later NumPy; this may not.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


class IterationStream(np.random.Generator):
    """The random numbers of one iteration of training, which know which one it is.

    What draws them may be on a schedule; the numbers reach every layer, however deep
    in others it lies, and so does the moment.

    Parameters
    ----------
    numbers : numpy.random.Generator
        A fresh stream; its numbers become those of this one.
    iteration, epoch : int
        Iterations and epochs done before this one.
    """

    def __init__(
        self, numbers: np.random.Generator, iteration: int, epoch: int
    ) -> None:
        super().__init__(numbers.bit_generator)
        self.moment = (iteration, epoch)


def moment_of(numbers: np.random.Generator) -> tuple[int, int]:
    """Return iteration and epoch of a stream; the first ones if it knows none."""
    return numbers.moment if isinstance(numbers, IterationStream) else (0, 0)
