"""Windows as rows, and back, compiled for the CPU.

Both follow a table of the position under each cell of each window, -1 in the padding,
so that one loop nest does for series, images and volumes.
"""

# mypy: disable-error-code="no-untyped-def"

from daskdl.kernels.jit import jit


@jit
def gather(x, positions, rows):
    """Write windows as rows, channel by channel and cell by cell.

    `x` is (batch, positions, channels), `positions` (windows, cells), `rows` (windows,
    batch, channels, cells).
    """
    zero = rows.dtype.type(0)
    windows, cells = positions.shape
    for w in range(windows):
        for b in range(x.shape[0]):
            row = rows[w, b]
            for k in range(cells):
                position = positions[w, k]
                if position < 0:
                    for c in range(row.shape[0]):
                        row[c, k] = zero
                    continue
                values = x[b, position]
                for c in range(values.size):
                    row[c, k] = values[c]


@jit
def scatter_add(rows, positions, x):
    """Overwrite `x` with the sums of what lies on each position; see :func:`gather`."""
    zero = x.dtype.type(0)
    flat = x.reshape(-1)
    for i in range(flat.size):
        flat[i] = zero
    windows, cells = positions.shape
    for w in range(windows):
        for b in range(x.shape[0]):
            row = rows[w, b]
            for k in range(cells):
                position = positions[w, k]
                if position < 0:
                    continue
                target = x[b, position]
                for c in range(target.size):
                    target[c] += row[c, k]
