"""Look-ups of rows compiled for the CPU: each number is read once, each row a loop.

The checks of the numbers, too, are one pass without temporaries.
"""

# mypy: disable-error-code="no-untyped-def"

from daskdl.kernels.jit import jit


@jit
def row_numbers(x, n_in, indices):
    """Write numbers as indices; return where the first is that is none, or -1.

    `n_in` has the type of `x`.
    """
    zero = x.dtype.type(0)
    found = x.size
    for i in range(x.size):
        value = x[i]
        # What is in no range, like a NaN, has no whole number to compare with.
        is_inside = (value >= zero) & (value < n_in)
        index = int(value if is_inside else zero)
        indices[i] = index
        is_row = is_inside & (x.dtype.type(index) == value)
        found = found if is_row | (found < i) else i
    return -1 if found == x.size else found


@jit
def gather(indices, weight, out):
    """Copy the rows of those numbers."""
    for i in range(indices.size):
        row, target = weight[indices[i]], out[i]
        for c in range(target.size):
            target[c] = row[c]


@jit
def scatter_add(grad_out, indices, grad_weight):
    """Add each row to that of its number, in order."""
    zero = grad_weight.dtype.type(0)
    flat = grad_weight.reshape(-1)
    for i in range(flat.size):
        flat[i] = zero
    for i in range(indices.size):
        row, target = grad_out[i], grad_weight[indices[i]]
        for c in range(row.size):
            target[c] += row[c]
