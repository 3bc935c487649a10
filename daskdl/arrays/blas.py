"""Which of its kernels OpenBLAS is to use, where it does not know the processor.

A wheel of NumPy brings kernels for many processors and chooses when it is loaded.
OpenBLAS 0.3.31 takes AMD's Zen 5 for a Haswell: products then run without AVX-512, at
about two thirds of their speed. The choice is an environment variable, so it can be
made before NumPy is imported only.
"""

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["WIDE_CORES", "cpu_flags", "has_wide_registers", "kernel_choice"]

_CPU_INFO = Path("/proc/cpuinfo")
_VARIABLE = "OPENBLAS_CORETYPE"
# What the kernels need that OpenBLAS has for SkylakeX.
_WIDE = frozenset({"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"})

WIDE_CORES = frozenset({"SkylakeX", "Cooperlake", "SapphireRapids"})
"""What OpenBLAS calls the processors whose kernels use AVX-512."""


def kernel_choice(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what to put into the environment of a process before it imports NumPy.

    Parameters
    ----------
    environ : mapping of str to str
        What somebody has chosen there stays.

    Returns
    -------
    dict of str to str
        Empty unless the processor is one of AMD's with AVX-512: OpenBLAS knows those of
        Intel.
    """
    vendor, flags = cpu_flags()
    is_misjudged = vendor == "AuthenticAMD" and flags >= _WIDE
    return {_VARIABLE: "SkylakeX"} if is_misjudged and _VARIABLE not in environ else {}


def has_wide_registers() -> bool:
    """Return whether the processor can do what `WIDE_CORES` need."""
    return cpu_flags()[1] >= _WIDE


def cpu_flags() -> tuple[str, frozenset[str]]:
    """Return who made the processor, and its abilities; nothing but on Linux."""
    try:
        lines = _CPU_INFO.read_text().splitlines()
    except OSError:
        return "", frozenset()
    entries = (line.partition(":")[::2] for line in reversed(lines))
    found = {name.strip(): value.strip() for name, value in entries}
    return found.get("vendor_id", ""), frozenset(found.get("flags", "").split())
