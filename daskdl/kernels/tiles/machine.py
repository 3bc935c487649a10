"""What the vector unit of this CPU is like."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike


@dataclass(frozen=True)
class VectorUnit:
    """A kind of vector registers.

    Parameters
    ----------
    name : str
        What the instructions are called.
    width : int
        Bytes of a register.
    registers : int
        How many there are.
    masks : bool
        Whether part of a register can be loaded and stored at no cost. Elsewhere what
        is left over of a row is worked off in narrower registers.
    fuses : bool
        Whether a product and a sum are one instruction.
    """

    name: str
    width: int
    registers: int
    masks: bool
    fuses: bool

    def lanes(self, dtype: DTypeLike) -> int:
        """Return how many numbers a register holds."""
        return self.width // np.dtype(dtype).itemsize


# The first one whose features the CPU has is taken.
VECTOR_UNITS = {
    "avx512f": VectorUnit("AVX-512", 64, 32, masks=True, fuses=True),
    "avx2": VectorUnit("AVX2", 32, 16, masks=True, fuses=True),
    "neon": VectorUnit("NEON", 16, 32, masks=False, fuses=True),
}
# Four floats can be had anywhere: LLVM makes of them what there is.
PLAIN_UNIT = VectorUnit("plain", 16, 16, masks=False, fuses=False)


@functools.cache
def vector_unit() -> VectorUnit:
    """Return the widest vector unit of this CPU."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    for feature, unit in VECTOR_UNITS.items():
        # AVX2 came a little before fused multiply-add.
        if features.get(feature) and (feature != "avx2" or features.get("fma")):
            return unit
    return PLAIN_UNIT
