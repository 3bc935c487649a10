"""Quirks of the layers and vertices that DL4J computes with SameDiff."""

from collections.abc import Mapping
from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.parameters import Parameter, ParameterRole
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.run import PartRun


def sd_parameter(
    name: str,
    shape: tuple[int, ...],
    role: ParameterRole = "weight",
    *,
    axes: tuple[int, ...] | None = None,
    file_shape: tuple[int, ...] | None = None,
) -> Parameter:
    """Return a parameter that lies row by row in files.

    Parameters
    ----------
    name, shape, role, axes, file_shape
        As of :class:`Parameter`.
    """
    return Parameter(
        name,
        shape,
        role,
        axes=axes,
        file_shape=file_shape,
        order="c",
        is_scored=False,
    )


def sd_defaults(conf: LayerConf, defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the network's defaults for options that are None in a layer.

    Parameters
    ----------
    conf : LayerConf
        Says whether biases begin at 0 whatever the network says.
    defaults : mapping of str to value
        As :meth:`LayerConf.filled` takes them.
    """
    if "biases_begin_at_zero" in conf.quirks:
        return {**defaults, "bias_init": 0.0}
    return defaults


def sd_activation(activation: AnyActivation, quirks: Quirks) -> AnyActivation:
    """Return the activation that a layer computed with SameDiff takes.

    Parameters
    ----------
    activation : str or activation with options
        As the layer has it.
    quirks : frozenset of str
        Those of the layer: by name a leaky rectifier may not leak.
    """
    is_tight = "same_diff_leakyrelu_is_tight" in quirks
    return "relu" if is_tight and activation == "leakyrelu" else activation


def counts_twice(conf: LayerConf | VertexConf) -> bool:
    """Return whether a dialect takes the gradient of a layer or vertex twice."""
    return conf.counts_gradient_twice and "same_diff_gradients_twice" in conf.quirks


def doubled(run: PartRun, grad_out: FloatArray) -> FloatArray:
    """Return twice a gradient, what such a layer takes for that of its output.

    DL4J 1.0.0-M2.1 hands SameDiff the gradient of the output from outside and adds it
    up twice: all that lies behind, parameters and inputs, gets double gradients.

    Parameters
    ----------
    run : PartRun
        Lends the array.
    grad_out : ndarray of shape (batch, ...)
        Gradient of the loss in the output. Not changed.

    Returns
    -------
    ndarray like grad_out
    """
    twice = run.like("gradient twice", grad_out)
    array_namespace(grad_out).multiply(grad_out, 2, out=twice)
    return twice
