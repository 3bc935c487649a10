"""A step from one vector towards another compiled for the CPU: one pass over memory."""

# mypy: disable-error-code="no-untyped-def"

from daskdl.kernels.jit import jit


@jit
def add_share(base, vector, origin, weight, out):
    """Write the base and a share of what the vector is from its origin."""
    for i in range(out.size):
        out[i] = base[i] + (vector[i] - origin[i]) * weight
