"""The kernels once more as plain loops over everything: slow, and easy to believe."""

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


def convolve(x, weight, bias, window):
    rows, columns = cells(window.height), cells(window.width)
    out = np.zeros((len(x), window.height.out, window.width.out, weight.shape[3]))
    for i, a, p in rows:
        for j, b, q in columns:
            out[:, i, j] += np.einsum("nc,co->no", x[:, p, q], weight[a, b])
    return out + bias


def pool(x, window, reduce_):
    """Pool with `reduce_` of the values (cells, batch, channels) inside the image."""
    rows, columns = cells(window.height), cells(window.width)
    out = np.zeros((len(x), window.height.out, window.width.out, x.shape[3]))
    for i in range(window.height.out):
        for j in range(window.width.out):
            inside = [
                x[:, p, q]
                for row, _, p in rows
                if row == i
                for column, _, q in columns
                if column == j
            ]
            out[:, i, j] = reduce_(np.stack(inside))
    return out


def lstm(x, weight, recurrent_weight, bias):
    """An LSTM with tanh and sigmoid, example by example and step by step."""
    n = len(recurrent_weight)
    out = np.zeros((*x.shape[:2], n))
    for example in range(len(x)):
        h, c = np.zeros(n), np.zeros(n)
        for step in range(x.shape[1]):
            z = x[example, step] @ weight + h @ recurrent_weight + bias
            block_input = np.tanh(z[:n])
            forget, output, entry = (
                1 / (1 + np.exp(-z[k * n : (k + 1) * n])) for k in (1, 2, 3)
            )
            c = forget * c + entry * block_input
            h = output * np.tanh(c)
            out[example, step] = h
    return out


def split(vector, shapes):
    """Return the arrays of `shapes` that lie in a vector one behind the other."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    parts = np.split(vector, ends)
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
