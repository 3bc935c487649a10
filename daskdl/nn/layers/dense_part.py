"""A dense layer within a layer: the parts of an autoencoder's chains."""

from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dense import dense_backward, dense_forward
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.layers.layer import Layer


class DensePart:
    """``activation(x @ W + b)`` with parameters of the layer that it is a part of.

    Parameters
    ----------
    owner : Layer
        Has the parameters ``<name>W`` and ``<name>b``.
    name : str
        Of the part.
    activation : activation
        By name or with options.
    workspace : Workspace
        Lends all arrays.
    """

    def __init__(
        self,
        owner: Layer[Any],
        name: str,
        activation: AnyActivation,
        workspace: Workspace,
    ) -> None:
        self._owner = owner
        self._name = name
        self._activation = activation_function(activation, owner.conf.quirks)
        self._workspace = workspace

    def forward(self, x: FloatArray, rng: np.random.Generator | None) -> FloatArray:
        """Return the output (rows, n_out), a buffer.

        Parameters
        ----------
        x : ndarray of shape (rows, n_in)
            Not changed, and read again by :meth:`backward`.
        rng : numpy.random.Generator or None
            Given in training only.
        """
        self._x = x
        weight = self._owner.params[f"{self._name}W"]
        bias = self._owner.params[f"{self._name}b"]
        self._preout = self._buffer("preout", (len(x), weight.shape[1]), x.dtype)
        dense_forward(x, weight, bias, out=self._preout)
        out = self._preout
        if self._activation.reads_preout:
            out = self._buffer("output", out.shape, out.dtype)
        self._output = self._activation.forward(self._preout, out=out, rng=rng)
        return self._output

    def backward(self, grad_out: FloatArray, *, add: bool = False) -> FloatArray:
        """Write the gradients of W and b, and return that in `x`, a buffer.

        Parameters
        ----------
        grad_out : ndarray of shape (rows, n_out)
            Gradient of the loss in the output. Not changed.
        add : bool
            Add to what the gradients are, instead of overwriting them.
        """
        grad_x: FloatArray = self._buffer("grad_x", self._x.shape, self._x.dtype)
        self._backward(grad_out, grad_x, add=add)
        return grad_x

    def backward_parameters(self, grad_out: FloatArray) -> None:
        """Write the gradients of W and b alone; see :meth:`backward`."""
        self._backward(grad_out, None, add=False)

    def _backward(
        self, grad_out: FloatArray, grad_x: FloatArray | None, *, add: bool
    ) -> None:
        grad_preout = self._buffer("grad_preout", grad_out.shape, grad_out.dtype)
        self._activation.backward(grad_out, self._preout, self._output, out=grad_preout)
        names = [f"{self._name}{ending}" for ending in "Wb"]
        gradients = [self._owner.gradients[name] for name in names]
        targets = gradients
        if add:
            targets = [
                self._buffer(name, gradient.shape, gradient.dtype)
                for name, gradient in zip(names, gradients, strict=True)
            ]
        dense_backward(
            grad_preout,
            self._x,
            self._owner.params[names[0]],
            grad_weight=targets[0],
            grad_bias=targets[1],
            grad_x=grad_x,
        )
        if add:
            for gradient, share in zip(gradients, targets, strict=True):
                gradient += share

    def _buffer(self, what: str, shape: tuple[int, ...], dtype: Any) -> Any:
        return self._workspace.take((self._owner.name, self._name, what), shape, dtype)
