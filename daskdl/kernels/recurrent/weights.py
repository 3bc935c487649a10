"""The parameters of an LSTM as its kernels take them, and the state it passes on."""

from dataclasses import dataclass

from daskdl.arrays.namespace import FloatArray


@dataclass(frozen=True)
class LstmWeights:
    """The parameters of an LSTM, or the arrays for their gradients.

    Parameters
    ----------
    weight : ndarray of shape (n_in, 4 n)
        Of the input; blocks of columns for block input, forget, output and input gate.
    recurrent_weight : ndarray of shape (n, 4 n)
        Of the previous output, the same blocks.
    bias : ndarray of shape (4 n,)
        The same blocks.
    peepholes : ndarray of shape (n, 3), optional
        What forget, output and input gate see of the cell; None without peepholes.
    """

    weight: FloatArray
    recurrent_weight: FloatArray
    bias: FloatArray
    peepholes: FloatArray | None = None


@dataclass(frozen=True)
class LstmState:
    """What an LSTM hands from one stretch of time steps to the next.

    Parameters
    ----------
    hidden, cell : ndarray of shape (batch, n)
        Its last output and its last cell.
    """

    hidden: FloatArray
    cell: FloatArray
