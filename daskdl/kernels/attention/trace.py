"""What recurrent attention keeps of its steps, and what it works with."""

from dataclasses import dataclass, fields

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace


@dataclass(frozen=True)
class RecurrentAttentionWeights:
    """Parameters of recurrent attention, or their gradients.

    Parameters
    ----------
    weight, recurrent_weight : ndarray of shape (n_in, n_out), (n_out, n_out)
        Of the input and of the answers.
    bias : ndarray of shape (n_out,), or None
        What is added.
    query : ndarray of shape (heads, size, n_out), or None
        Projection of the last output. None, as for the next three, where nothing is
        projected: then there is one head, and n_in is n_out.
    key, value : ndarray of shape (heads, size, n_in), or None
        Projections of the input.
    way_out : ndarray of shape (heads * size, n_out), or None
        Projection of what the heads answer.
    """

    weight: FloatArray
    recurrent_weight: FloatArray
    bias: FloatArray | None
    query: FloatArray | None
    key: FloatArray | None
    value: FloatArray | None
    way_out: FloatArray | None


@dataclass(frozen=True)
class RecurrentAttentionTrace:
    """What is kept of all steps, or the gradients of it.

    Parameters
    ----------
    x : ndarray of shape (time, batch, n_in)
        The input, time first.
    preout, output, attended : ndarray of shape (time, batch, n_out)
        Of the layer; `attended` is the answer that RW multiplies.
    queries, context : ndarray of shape (time, batch, 1, heads, size)
        What each step asks, and what the heads answer.
    weights : ndarray of shape (time, batch, heads, 1, time)
        What each key counts.
    keys, values : ndarray of shape (batch, time, heads, size)
        Projected input.
    """

    x: FloatArray
    preout: FloatArray
    output: FloatArray
    attended: FloatArray
    queries: FloatArray
    context: FloatArray
    weights: FloatArray
    keys: FloatArray
    values: FloatArray


def take_trace(
    workspace: Workspace,
    key: tuple[str, str],
    x: FloatArray,
    *,
    n_out: int,
    heads: int,
    size: int,
) -> RecurrentAttentionTrace:
    """Return a trace whose arrays the workspace lends.

    Parameters
    ----------
    workspace : Workspace
        Lends.
    key : (str, str)
        Who asks and what for: values or gradients.
    x : ndarray of shape (batch, time, n_in)
        The input.
    n_out, heads, size : int
        Of the layer.
    """
    batch, steps, n_in = x.shape
    series, headed = (steps, batch, n_out), (batch, steps, heads, size)
    shapes = {
        "x": (steps, batch, n_in),
        "preout": series,
        "output": series,
        "attended": series,
        "queries": (steps, batch, 1, heads, size),
        "context": (steps, batch, 1, heads, size),
        "weights": (steps, batch, heads, 1, steps),
        "keys": headed,
        "values": headed,
    }
    names = [item.name for item in fields(RecurrentAttentionTrace)]
    return RecurrentAttentionTrace(
        *(workspace.take((*key, name), shapes[name], x.dtype) for name in names)
    )
