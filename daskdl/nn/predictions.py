"""Predictions from outputs: classes, choices or values."""

from typing import TYPE_CHECKING, Any

import numpy as np

from daskdl.arrays.namespace import to_host
from daskdl.nn.conf.axes import feature_axis
from daskdl.nn.loss_evaluations import INDEPENDENT_LOSSES, tells_classes

if TYPE_CHECKING:
    from daskdl.nn.step import StepNetwork


def predicted(network: "StepNetwork[Any]", outputs: list[Any]) -> list[Any]:
    """Return the predictions that outputs stand for: classes, 0 and 1, or values.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
    outputs : list of ndarray
        As :meth:`~daskdl.nn.network.Network.output` gives them.

    Returns
    -------
    list of ndarray
        Where the loss is one of classes, their numbers, or for the first output their
        names if the network has any: without the axis of classes. Where outputs are
        probabilities of their own, 1 above 0.5 and else 0. Else the output.
    """
    each = zip(outputs, network.output_losses, network.outputs, strict=True)
    found = []
    for index, (output, loss, spec) in enumerate(each):
        host = to_host(output)
        if tells_classes(loss):
            classes = host.argmax(axis=feature_axis(spec.type))
            names = network.class_names if index == 0 else None
            found.append(np.asarray(names)[classes] if names else classes)
        elif loss in INDEPENDENT_LOSSES:
            found.append((host > 0.5).astype(np.int64))
        else:
            found.append(host)
    return found
