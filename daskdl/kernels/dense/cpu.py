"""What a dense layer does to its products, compiled for the CPU: one pass, in place."""

# mypy: disable-error-code="no-untyped-def"

from daskdl.kernels.jit import jit


@jit
def add_bias(rows, bias):
    """Add the bias to each row."""
    for r in range(rows.shape[0]):
        row = rows[r]
        for c in range(row.size):
            row[c] += bias[c]


@jit
def add_bias_and_rectify(rows, bias):
    """Add the bias to each row, and write 0 for what is below; NaN stays."""
    zero = rows.dtype.type(0)
    for r in range(rows.shape[0]):
        row = rows[r]
        for c in range(row.size):
            value = row[c] + bias[c]
            row[c] = zero if value <= zero else value
