"""Rows times weights plus bias, for dense and output layers."""

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.dense import dense_backward, dense_forward
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.preprocessors.flattening import flatten, row_shape, unflatten
from daskdl.nn.run import Backward, Run


def affine(
    run: Run, x: FloatArray, *, bias: bool = True, rectifies: bool = False
) -> tuple[FloatArray, Backward]:
    """Compute ``rows @ W + b``, or the maximum of that and 0.

    Rows are the examples, or the time steps of all of them. Images and volumes are
    flattened in the order of their data format, by default channel by channel: weights
    of files fit as they are.

    Parameters
    ----------
    run : Run
        With parameters W of shape (n_in, n_out), and b of (n_out,) if there is one.
    x : ndarray of shape (batch, ...)
        Not changed, and read again by the backward pass.
    bias : bool
        Whether b is added.
    rectifies : bool
        Whether what is below 0 becomes 0.

    Returns
    -------
    preout : ndarray of shape (rows, n_out)
        A buffer: its activation may overwrite it.
    backward : callable
        Takes the gradient of the sum, in front of a rectifier, writes those of W and b,
        and returns that in `x`; None where
        nobody reads it.
    """
    rows, weight = as_rows(run, x), run.params["W"]
    preout = run.lent("preout", (len(rows), weight.shape[1]), x.dtype)
    dense_forward(
        rows,
        weight,
        run.params.get("b") if bias else None,
        rectifies=rectifies,
        out=preout,
    )

    def backward(grad_preout: FloatArray) -> FloatArray | None:
        wanted = run.gradients if run.needs_gradients else {}
        grad_rows = None
        if run.needs_grad_x:
            grad_rows = run.lent("grad_rows", rows.shape, rows.dtype)
        dense_backward(
            grad_preout,
            rows,
            weight,
            grad_weight=wanted.get("W"),
            grad_bias=wanted.get("b") if bias else None,
            grad_x=grad_rows,
        )
        return (
            None if grad_rows is None else from_rows(run, "grad_x", grad_rows, x.shape)
        )

    return preout, backward


def as_rows(run: Run, x: FloatArray) -> FloatArray:
    """Return the input of a layer, (batch, ...), as rows: (rows, n_in)."""
    if isinstance(run.input_type, Recurrent):
        return x.reshape(-1, x.shape[2])
    shape = row_shape(x)
    if not run.input_type.is_channels_first:
        return x.reshape(shape)
    return flatten(x, run.lent("rows", shape, x.dtype), channels_first=True)


def from_rows(
    run: Run, what: str, rows: FloatArray, shape: tuple[int, ...]
) -> FloatArray:
    """Return rows, (rows, n_in), in the shape that the input had.

    Parameters
    ----------
    run : Run
    what : str
        Names the buffer of images and volumes.
    rows : ndarray of shape (rows, n_in)
    shape : tuple of int

    Returns
    -------
    ndarray of `shape`
    """
    is_series = isinstance(run.input_type, Recurrent)
    if is_series or not run.input_type.is_channels_first:
        return rows.reshape(shape)
    images = run.lent(what, shape, rows.dtype)
    return unflatten(rows, images, channels_first=True)
