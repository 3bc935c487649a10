"""The vector units whose code this machine can run."""

from llvmlite import binding

from daskdl.kernels.tiles.machine import PLAIN_UNIT, VECTOR_UNITS


def _runs(feature):
    """Return whether a CPU has a unit, or wider ones that LLVM makes it of."""
    features = binding.get_host_cpu_features()
    return bool(features.get(feature) or features.get("avx512f"))


EVERY_UNIT = [*VECTOR_UNITS.values(), PLAIN_UNIT]
HOST_UNITS = [unit for name, unit in VECTOR_UNITS.items() if _runs(name)]
HOST_UNITS.append(PLAIN_UNIT)


def name_of(unit):
    return unit.name
