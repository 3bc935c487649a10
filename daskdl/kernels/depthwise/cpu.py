"""Depthwise convolution compiled for the CPU: sums of products of whole rows.

Each image is copied to scratch with zeros around, with every channel as often as it has
kernels, and sorted such that what a cell of the kernel meets in a row of windows is one
run of numbers (:mod:`~daskdl.kernels.depthwise.halo`). Series, images and volumes of
any stride, padding and dilation are then one loop nest::

    for image of the batch:                       # its scratch stays in a near cache
        for row of windows:
            for strip of the row:                 # stays in the first-level cache
                for three cells of the kernel:
                    for i over the strip: products of three cells at once

A row of few channels is too short for a loop of vectors. So a strip is several windows,
and the weights of a cell are repeated to that length.
"""

# mypy: disable-error-code="no-untyped-def"

from daskdl.kernels.jit import jit

# Windows whose products are summed in the type of the arrays, before the sums join
# those in float64: enough that joining costs nothing, few enough to lose no digits.
_SUMMED = 1024


@jit(reorders=True)
def depthwise_forward(
    x, rows, stretches, starts, cells, n_in, multiplier, room, weight, bias, out
):
    """Write the sums of products of each window, and the bias.

    `x` is (batch, places * n_in) and `out` (batch, rows of windows, windows * n_out);
    `weight` is (cells, width) and `bias` (width,), repeated to strips. `room` is
    scratch of (places of the halo * n_out,) that holds zeros. The tables are those of
    the halo.
    """
    width, channels = bias.size, n_in * multiplier
    for b in range(x.shape[0]):
        _enter(x[b], rows, stretches, n_in, multiplier, room)
        for row in range(starts.size):
            results = out[b, row]
            for s in range(0, results.size, width):
                result = results[s : s + width]
                for i in range(result.size):
                    result[i] = bias[i]
                here = room[starts[row] * channels + s :]
                _add_cells(here, cells, channels, weight, result)


@jit(reorders=True)
def sum_products(
    grad_out, x, rows, stretches, starts, cells, n_in, multiplier, room, some, total
):
    """Write for each cell the sums of what it read times what came of it.

    `some` is scratch like `total`, (cells, width) in float64: strips whose repeats of
    a channel are still to be joined. Both hold zeros.
    """
    width, channels, n = total.shape[1], n_in * multiplier, cells.size
    windows = grad_out.shape[1] * grad_out.shape[2] // channels
    images = max(1, _SUMMED // max(1, windows))
    for b in range(x.shape[0]):
        _enter(x[b], rows, stretches, n_in, multiplier, room)
        run = grad_out.shape[2]
        for s in range(0, run, width):
            for k in range(n):
                shift = cells[k] * channels + s
                _add_products_of_rows(
                    room, starts, channels, shift, grad_out[b], s, some[k]
                )
        if (b + 1) % images == 0 or b + 1 == x.shape[0]:
            _join(some, total)


@jit(reorders=True)
def depthwise_backward(
    grad_out, rows, stretches, starts, cells, n_in, multiplier, room, weight, grad_x
):
    """Write the gradient in the input; arguments as of :func:`depthwise_forward`."""
    width, channels = weight.shape[1], n_in * multiplier
    for b in range(grad_x.shape[0]):
        _clear(room)
        for row in range(starts.size):
            grads = grad_out[b, row]
            for s in range(0, grads.size, width):
                grad = grads[s : s + width]
                for k in range(cells.size):
                    start = (starts[row] + cells[k]) * channels + s
                    _add_products(grad, weight[k], room[start : start + grad.size])
        _leave(room, rows, stretches, n_in, multiplier, grad_x[b])


@jit(reorders=True)
def _add_cells(here, cells, channels, weight, result):
    """Add what the cells of the kernel meet times their weights."""
    size, whole = result.size, cells.size - cells.size % 3
    for k in range(0, whole, 3):
        a, b, c = cells[k] * channels, cells[k + 1] * channels, cells[k + 2] * channels
        first, second, third = (
            here[a : a + size],
            here[b : b + size],
            here[c : c + size],
        )
        of_first, of_second, of_third = weight[k], weight[k + 1], weight[k + 2]
        for i in range(size):
            result[i] += (
                first[i] * of_first[i]
                + second[i] * of_second[i]
                + third[i] * of_third[i]
            )
    for k in range(whole, cells.size):
        a = cells[k] * channels
        _add_products(here[a : a + size], weight[k], result)


@jit(reorders=True)
def _add_products_of_rows(room, starts, channels, shift, grads, s, sums):
    """Add what a cell meets times the gradients, row by row, to the sums of a strip."""
    size = min(sums.size, grads.shape[1] - s)
    whole = starts.size - starts.size % 3
    for row in range(0, whole, 3):
        a, b = starts[row] * channels + shift, starts[row + 1] * channels + shift
        c = starts[row + 2] * channels + shift
        first, second, third = (
            room[a : a + size],
            room[b : b + size],
            room[c : c + size],
        )
        of_first, of_second = grads[row][s : s + size], grads[row + 1][s : s + size]
        of_third = grads[row + 2][s : s + size]
        for i in range(size):
            sums[i] += (
                first[i] * of_first[i]
                + second[i] * of_second[i]
                + third[i] * of_third[i]
            )
    for row in range(whole, starts.size):
        a = starts[row] * channels + shift
        _add_products(room[a : a + size], grads[row][s : s + size], sums)


@jit(reorders=True)
def _add_products(first, second, sums):
    """Add products along the first, the shortest of the three."""
    for i in range(first.size):
        sums[i] += first[i] * second[i]


@jit(reorders=True)
def _join(some, total):
    """Add the sums to those in float64, and begin anew."""
    zero = some.dtype.type(0)
    for k in range(total.shape[0]):
        for i in range(total.shape[1]):
            total[k, i] += some[k, i]
            some[k, i] = zero


@jit
def _clear(array):
    zero = array.dtype.type(0)
    for i in range(array.size):
        array[i] = zero


@jit
def _enter(image, rows, stretches, n, multiplier, room):
    """Copy an image between its zeros, every channel as often as it has kernels."""
    for r in range(rows.shape[0]):
        for t in range(stretches.shape[0]):
            there = (rows[r, 0] + stretches[t, 0]) * n
            here = (rows[r, 1] + stretches[t, 1]) * n * multiplier
            size = stretches[t, 2] * n
            values = image[there : there + size]
            target = room[here : here + size * multiplier]
            if multiplier == 1:
                for i in range(size):
                    target[i] = values[i]
            else:
                for i in range(size):
                    value = values[i]
                    for m in range(multiplier):
                        target[i * multiplier + m] = value


@jit(reorders=True)
def _leave(room, rows, stretches, n, multiplier, image):
    """Write the sums over the kernels of a channel to the image; 0 elsewhere."""
    covered = 0
    for t in range(stretches.shape[0]):
        covered += rows.shape[0] * stretches[t, 2] * n
    if covered < image.size:
        _clear(image)
    for r in range(rows.shape[0]):
        for t in range(stretches.shape[0]):
            there = (rows[r, 0] + stretches[t, 0]) * n
            here = (rows[r, 1] + stretches[t, 1]) * n * multiplier
            size = stretches[t, 2] * n
            target = image[there : there + size]
            values = room[here : here + size * multiplier]
            if multiplier == 1:
                for i in range(size):
                    target[i] = values[i]
            else:
                for i in range(size):
                    total = values[i * multiplier]
                    for m in range(1, multiplier):
                        total += values[i * multiplier + m]
                    target[i] = total
