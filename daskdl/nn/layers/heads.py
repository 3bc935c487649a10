"""Attention at work, with its projections: what layers and the vertex share."""

from collections.abc import Callable, Mapping

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.kernels.attention import (
    attention_backward,
    attention_forward,
    heads_backward,
    heads_forward,
)
from daskdl.kernels.dense import dense_backward, dense_forward

Params = Mapping[str, FloatArray]


class Heads:
    """Attention of queries to keys and values, with all that is projected.

    Parameters
    ----------
    take : callable
        ``take(what, shape, dtype)`` lends an array.
    params, gradients : mapping of str to ndarray
        With Wq, Wk, Wv and Wo, or without: then nothing is projected.
    quirks : frozenset of str
        Of the layer or vertex.
    """

    def __init__(
        self,
        take: Callable[..., FloatArray],
        params: Params,
        gradients: Params,
        quirks: Quirks,
    ) -> None:
        self._take = take
        self._params = params
        self._gradients = gradients
        self._projects = "Wq" in params
        self._shifts_masked = "attention_shifts_masked_keys" in quirks

    def forward(
        self,
        queries: FloatArray,
        keys: FloatArray,
        values: FloatArray,
        mask: FloatArray | None,
        *,
        asked: FloatArray | None = None,
    ) -> FloatArray:
        """Return the attention of each query, shape (batch, n_queries, n_out).

        Parameters
        ----------
        queries, keys, values : ndarray of shape (batch, time, n)
            Not changed. Keys and values have one number of steps.
        mask : ndarray of shape (batch, time), optional
            Of keys and values.
        asked : ndarray of shape (batch, n_queries), optional
            Mask of the queries: 0 is the answer to those that it drops.
        """
        self._asked = None if asked is None else asked[:, :, None]
        self._inputs = {"Wq": queries, "Wk": keys, "Wv": values}
        self._split = {name: self._heads(name) for name in self._inputs}
        q, k, v = self._split.values()
        shape = (*queries.shape[:2], v.shape[1], v.shape[3])
        self._context = self._take("context", shape, queries.dtype)
        self._weights = self._take("weights", (*q.shape[:3], k.shape[2]), q.dtype)
        context = self._context.transpose(0, 2, 1, 3)
        attention_forward(
            q,
            k,
            v,
            mask,
            weights=self._weights,
            out=context,
            shifts_masked=self._shifts_masked,
        )
        size = shape[2] * shape[3]
        if not self._projects:
            answers = self._context.reshape(*shape[:2], size)
            if self._asked is not None:
                answers *= self._asked
            return answers
        way_out = self._params["Wo"]
        n_rows, n_out = shape[0] * shape[1], way_out.shape[1]
        out = self._take("attended", (*shape[:2], n_out), q.dtype)
        rows = self._context.reshape(n_rows, size)
        dense_forward(rows, way_out, None, out=out.reshape(n_rows, n_out))
        if self._asked is not None:
            out *= self._asked
        return out

    def backward(
        self, grad_out: FloatArray, *, needs_grads: bool = True
    ) -> list[FloatArray]:
        """Write the gradients of the projections; return those of the three inputs.

        Parameters
        ----------
        grad_out : ndarray of shape (batch, n_queries, n_out)
            Not changed.
        needs_grads : bool
            Whether anybody reads what is returned; empty if not.
        """
        if self._asked is not None:
            masked = self._take("grad_masked", grad_out.shape, grad_out.dtype)
            xp = array_namespace(grad_out)
            grad_out = xp.multiply(grad_out, self._asked, out=masked)
        grad_context = self._way_out_backward(grad_out)
        grads = {
            name: self._take(("grad", name), _time_first(split.shape), split.dtype)
            for name, split in self._split.items()
        }
        q, k, v = (grad.transpose(0, 2, 1, 3) for grad in grads.values())
        attention_backward(
            grad_context.transpose(0, 2, 1, 3),
            self._split["Wq"],
            self._split["Wk"],
            self._split["Wv"],
            self._weights,
            work=self._take("work", self._weights.shape, self._weights.dtype),
            grad_queries=q,
            grad_keys=k,
            grad_values=v,
        )
        found = [self._projected_back(name, grads[name], needs_grads) for name in grads]
        return [grad for grad in found if grad is not None]

    def _heads(self, name: str) -> FloatArray:
        """Return an input as (batch, heads, time, size)."""
        x = self._inputs[name]
        if not self._projects:
            return x[:, None]
        weight = self._params[name]
        shape = (*x.shape[:2], *weight.shape[:2])
        return heads_forward(x, weight, out=self._take(name, shape, x.dtype))

    def _way_out_backward(self, grad_out: FloatArray) -> FloatArray:
        context = self._context
        if not self._projects:
            return grad_out.reshape(context.shape)
        grad_context = self._take("grad_context", context.shape, context.dtype)
        way_out = self._params["Wo"]
        size, n_out = way_out.shape
        n_rows = context.shape[0] * context.shape[1]
        dense_backward(
            grad_out.reshape(n_rows, n_out),
            context.reshape(n_rows, size),
            way_out,
            grad_weight=self._gradients["Wo"],
            grad_bias=None,
            grad_x=grad_context.reshape(n_rows, size),
        )
        return grad_context

    def _projected_back(
        self, name: str, grad: FloatArray, needs_grad: bool
    ) -> FloatArray | None:
        """Return the gradient of one input: of its only head, or of its projection."""
        x = self._inputs[name]
        if not self._projects:
            return grad.reshape(x.shape)
        grad_x = None
        if needs_grad:
            grad_x = self._take(("grad_x", name), x.shape, x.dtype)
        return heads_backward(
            grad,
            x,
            self._params[name],
            grad_weight=self._gradients[name],
            grad_x=grad_x,
        )


def _time_first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return (batch, time, heads, size) for (batch, heads, time, size)."""
    batch, heads, time, size = shape
    return batch, time, heads, size
