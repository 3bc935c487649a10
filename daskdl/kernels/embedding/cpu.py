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
def gather_sums(indices, weight, divisor, out):
    """Write the sum of the rows of each example's numbers over `divisor`."""
    zero = out.dtype.type(0)
    for b in range(indices.shape[0]):
        sums = out[b]
        for c in range(sums.size):
            sums[c] = zero
        # Memory is asked for four rows at one time: they are far apart.
        in_fours = indices.shape[1] // 4 * 4
        for k in range(0, in_fours, 4):
            first, second = weight[indices[b, k]], weight[indices[b, k + 1]]
            third, fourth = weight[indices[b, k + 2]], weight[indices[b, k + 3]]
            for c in range(sums.size):
                sums[c] = sums[c] + first[c] + second[c] + third[c] + fourth[c]
        for k in range(in_fours, indices.shape[1]):
            row = weight[indices[b, k]]
            for c in range(sums.size):
                sums[c] += row[c]
        for c in range(sums.size):
            sums[c] /= divisor


@jit
def scatter_add(grad_out, indices, grad_weight):
    """Add each row to those of its numbers, in order."""
    zero = grad_weight.dtype.type(0)
    flat = grad_weight.reshape(-1)
    for i in range(flat.size):
        flat[i] = zero
    for b in range(indices.shape[0]):
        row = grad_out[b]
        for k in range(indices.shape[1]):
            target = grad_weight[indices[b, k]]
            for c in range(row.size):
                target[c] += row[c]
