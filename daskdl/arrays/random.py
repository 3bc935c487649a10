"""Independent streams of random numbers, always drawn on the host.

Streams are named, not counted: what one consumer draws changes no other, and CPU and
GPU start from the same weights.
"""

import hashlib

import numpy as np

from daskdl.errors import OptionError


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator that belongs to a seed and a name.

    Parameters
    ----------
    seed : int
        The seed of the network or the run, at least 0.
    *names : str or int
        What the numbers are for, e.g. ``"dropout", 0, 17``.

    Returns
    -------
    numpy.random.Generator
        A PCG64 at its beginning: the same arguments give the same numbers in every
        process, on every platform.

    Raises
    ------
    OptionError
        If `seed` is negative.
    """
    if seed < 0:
        raise OptionError(f"stream: seed must be >= 0, got {seed!r}.")
    # repr keeps 1 and "1" apart, and ("ab", "c") from ("a", "bc").
    name = repr((int(seed), *(n if isinstance(n, str) else int(n) for n in names)))
    entropy = int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")
    # default_rng may change its bit generator in a later NumPy; this may not.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
