"""Independent streams of random numbers, always drawn on the host.

Streams are named, not counted: what one consumer draws changes no other, and CPU and
GPU start from the same weights.
"""

import hashlib

import numpy as np

from daskdl.arrays.team import Cut


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
    cut : Cut, optional
        Which examples of the minibatch they are for. The numbers are those of the whole
        minibatch all the same: what draws some for each example draws them for all.
    """

    def __init__(
        self,
        numbers: np.random.Generator,
        iteration: int,
        epoch: int,
        cut: Cut | None = None,
    ) -> None:
        super().__init__(numbers.bit_generator)
        self.moment = (iteration, epoch)
        self.cut = cut


def numbers_of(
    seed: int, rng_stream: int, iteration: int, epoch: int, cut: Cut | None = None
) -> IterationStream:
    """Return what an iteration of training draws from.

    Parameters
    ----------
    seed : int
        Of the network.
    rng_stream : int
        Number of the worker: each draws its own dropout.
    iteration, epoch, cut
        As of :class:`IterationStream`.
    """
    numbers = stream(seed, "dropout", rng_stream, iteration)
    return IterationStream(numbers, iteration, epoch, cut)


def moment_of(numbers: np.random.Generator) -> tuple[int, int]:
    """Return iteration and epoch of a stream; the first ones if it knows none."""
    return numbers.moment if isinstance(numbers, IterationStream) else (0, 0)


def cut_of(numbers: np.random.Generator) -> Cut | None:
    """Return which examples a stream is for; None for all of them."""
    return numbers.cut if isinstance(numbers, IterationStream) else None
