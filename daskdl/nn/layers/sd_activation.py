"""Activations of what DL4J computes with SameDiff, which has its own few."""

from daskdl.nn.conf.activations import AnyActivation


def sd_activation(activation: AnyActivation) -> AnyActivation:
    """Return the activation that DL4J's SameDiff layers take for a given one.

    Parameters
    ----------
    activation : str or activation with options
        As a layer has it.
    """
    # By name a leaky rectifier does not leak: M2.1 gives it the slope 0.
    return "relu" if activation == "leakyrelu" else activation
