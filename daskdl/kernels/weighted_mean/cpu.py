"""A step from one vector towards another compiled for the CPU: one pass over memory.

Each has its vector for what it overwrites: LLVM takes many elements at a time where it
can see that none of them is one that it still reads.
"""

# mypy: disable-error-code="no-untyped-def"

from daskdl.kernels.jit import jit


@jit
def add_share(base, vector, origin, weight, out):
    """Write the base and a share of what the vector is from its origin."""
    for i in range(out.size):
        out[i] = base[i] + (vector[i] - origin[i]) * weight


@jit
def add_share_to(base, vector, origin, weight):
    """Write to the base."""
    for i in range(base.size):
        base[i] = base[i] + (vector[i] - origin[i]) * weight


@jit
def move_towards(origin, vector, weight):
    """Write to the origin, which is the base."""
    for i in range(origin.size):
        origin[i] = origin[i] + (vector[i] - origin[i]) * weight


@jit
def draw_towards(origin, vector, weight):
    """Write to the vector, where the origin is the base."""
    for i in range(vector.size):
        vector[i] = origin[i] + (vector[i] - origin[i]) * weight
