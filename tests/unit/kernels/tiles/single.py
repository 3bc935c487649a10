"""Functions of single numbers that are only parts of what is computed elsewhere."""

from daskdl.kernels.tiles import pointwise


def sigmoid(writer, lanes, registers, n_written):
    """Return the sigmoid of one register."""
    return (pointwise.sigmoid(writer, lanes, *registers),)


def tanh(writer, lanes, registers, n_written):
    """Return the hyperbolic tangent of one register."""
    return (pointwise.tanh(writer, lanes, *registers),)
