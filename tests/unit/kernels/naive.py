"""The kernels once more as plain loops over everything: slow, and easy to believe."""

import itertools

import numpy as np


def cells(axis):
    """Return the (window, kernel cell, input cell) of an axis that lie inside."""
    return [
        (window, cell, position)
        for window in range(axis.out)
        for cell in range(axis.kernel)
        if 0
        <= (position := window * axis.stride + cell * axis.dilation - axis.before)
        < axis.size
    ]


def coverage(window):
    """Yield every (window, kernel cell, input cell) inside, each an index tuple."""
    for meeting in itertools.product(*(cells(axis) for axis in window.axes)):
        yield tuple(zip(*meeting, strict=True))


def convolve(x, weight, bias, window):
    """Convolve over any number of axes."""
    out = np.zeros((len(x), *window.out, weight.shape[-1]))
    for place, cell, position in coverage(window):
        out[(slice(None), *place)] += x[(slice(None), *position)] @ weight[cell]
    return out + bias


def deconvolve(x, weight, bias, window):
    sizes = window.sizes
    out = np.zeros((len(x), *sizes, weight.shape[-2]))
    for place, cell, position in coverage(window):
        out[(slice(None), *position)] += x[(slice(None), *place)] @ weight[cell].T
    return out + bias


def convolve_depthwise(x, weight, bias, window):
    out = np.zeros((len(x), *window.out, *weight.shape[-2:]))
    for place, cell, position in coverage(window):
        out[(slice(None), *place)] += (
            x[(slice(None), *position)][:, :, None] * weight[cell]
        )
    return out.reshape(*out.shape[:-2], -1) + bias


def connect_locally(x, weight, bias, window, *, by_column=False):
    """Count windows row by row, or with the first axis running fastest."""
    out = np.zeros((len(x), len(weight), weight.shape[-1]))
    for place, cell, position in coverage(window):
        number = np.ravel_multi_index(
            place, window.out, order="F" if by_column else "C"
        )
        under = x[(slice(None), *position)]
        out[:, number] += under @ weight[(number, slice(None), *cell)]
    return out + bias


def pool(x, window, reduce_):
    """Pool with `reduce_` of the values (cells, batch, channels) inside the input."""
    out = np.zeros((len(x), *window.out, x.shape[-1]))
    of_axes = [cells(axis) for axis in window.axes]
    for place in np.ndindex(*window.out):
        inside = itertools.product(
            *(
                [position for row, _, position in of_axis if row == index]
                for index, of_axis in zip(place, of_axes, strict=True)
            )
        )
        values = [x[(slice(None), *position)] for position in inside]
        out[(slice(None), *place)] = reduce_(np.stack(values))
    return out


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def lstm(x, weight, recurrent_weight, bias, peepholes=None, mask=None, state=None):
    """An LSTM with tanh and sigmoid, example by example and step by step."""
    n = len(recurrent_weight)
    p = np.zeros((n, 3)) if peepholes is None else peepholes
    out = np.zeros((*x.shape[:2], n))
    for example in range(len(x)):
        h, c = np.zeros(n), np.zeros(n)
        if state is not None:
            h, c = state[0][example], state[1][example]
        for step in range(x.shape[1]):
            z = x[example, step] @ weight + h @ recurrent_weight + bias
            z_block, z_forget, z_output, z_entry = z.reshape(4, n)
            entry = sigmoid(z_entry + c * p[:, 2])
            c = sigmoid(z_forget + c * p[:, 0]) * c + entry * np.tanh(z_block)
            h = sigmoid(z_output + c * p[:, 1]) * np.tanh(c)
            if mask is not None:
                h, c = h * mask[example, step], c * mask[example, step]
            out[example, step] = h
    return out


def layer_norm(z):
    return (z - z.mean()) / z.std()


def simple_rnn(x, weight, recurrent_weight, bias, gains=None, mask=None, state=None):
    """A simple recurrent layer with tanh, example by example and step by step."""
    n = len(recurrent_weight)
    out = np.zeros((*x.shape[:2], n))
    for example in range(len(x)):
        h = np.zeros(n) if state is None else state[example]
        begins = state is None
        for step in range(x.shape[1]):
            onwards, back = x[example, step] @ weight, h @ recurrent_weight
            if gains is not None:
                onwards = gains[0] * layer_norm(onwards)
                back = 0 if begins and step == 0 else gains[1] * layer_norm(back)
            h = np.tanh(onwards + back + bias)
            if mask is not None:
                h = h * mask[example, step]
            out[example, step] = h
    return out


def split(vector, shapes):
    """Return the arrays of `shapes` that lie in a vector one behind the other."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    parts = np.split(vector, ends)
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
