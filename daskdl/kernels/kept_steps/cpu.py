"""Steps moved to the front and back, compiled for the CPU: each is copied once."""

# mypy: disable-error-code="no-untyped-def"

from daskdl.kernels.jit import jit


@jit
def gather_steps(series, mask, out):
    """Write the kept steps of each series one behind the other, then zeros."""
    zero = out.dtype.type(0)
    for b in range(series.shape[0]):
        n_kept = 0
        for step in range(series.shape[1]):
            if mask[b, step] != zero:
                source, target = series[b, step], out[b, n_kept]
                for i in range(target.size):
                    target[i] = source[i]
                n_kept += 1
        for step in range(n_kept, series.shape[1]):
            rest = out[b, step]
            for i in range(rest.size):
                rest[i] = zero


@jit
def scatter_steps(gathered, mask, out):
    """Write the steps in front where the mask keeps one, and zeros elsewhere."""
    zero = out.dtype.type(0)
    for b in range(gathered.shape[0]):
        n_kept = 0
        for step in range(gathered.shape[1]):
            target = out[b, step]
            if mask[b, step] != zero:
                source = gathered[b, n_kept]
                for i in range(target.size):
                    target[i] = source[i]
                n_kept += 1
            else:
                for i in range(target.size):
                    target[i] = zero
