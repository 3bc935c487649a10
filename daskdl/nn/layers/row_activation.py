"""The activation of rows, in which a mask drops whole rows."""

from collections.abc import Callable

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.identity import IDENTITY
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.masks import column_mask
from daskdl.nn.run import Run


def apply_activation(
    run: Run, function: ActivationFunction, preout: FloatArray, what: str = "output"
) -> FloatArray:
    """Return a function of `preout`: in place, unless the way back reads that.

    Parameters
    ----------
    run : Run
    function : ActivationFunction
    preout : ndarray of shape (rows, n)
    what : str
        Names the buffer where one is needed.
    """
    out = run.lent_like(what, preout) if function.reads_preout else preout
    return function.forward(preout, out=out, rng=run.rng)


def activated_rows(
    run: Run,
    preout: FloatArray,
    activation: AnyActivation | None,
    *,
    is_rectified: bool = False,
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return the activation of kept rows, 0 for the others, and the way back.

    Parameters
    ----------
    run : Run
    preout : ndarray of shape (rows, n)
        A buffer: overwritten where the activation does not read it again.
    activation : str or activation
        As the layer has it.
    is_rectified : bool
        Whether `preout` is the output of a rectifier already, which then is the
        activation.

    Returns
    -------
    rows : ndarray of shape (rows, n)
    backward : function of a gradient of as many numbers
        What it returns is not to be changed.
    """
    function = activation_function(activation, run.quirks)
    rows = preout if is_rectified else apply_activation(run, function, preout)
    column = None
    if run.mask is not None:
        column = column_mask(run.mask, len(rows), run.who)
        rows *= column

    def backward(grad_out: FloatArray) -> FloatArray:
        grad = grad_out.reshape(rows.shape)
        if function is IDENTITY and column is None:
            return grad
        grad_preout = run.lent_like("grad_preout", rows)
        if column is not None:
            grad = array_namespace(grad).multiply(grad, column, out=grad_preout)
        return function.backward(grad, preout, rows, out=grad_preout)

    return rows, backward
