"""Pairs of loss and activation that no output layer can be trained with.

They end as scores that are no number, or that no step makes better, which looks like a
learning rate that is too high.
"""

from collections.abc import Mapping
from typing import Any, get_args

from daskdl.dialects import EXACT
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.names import ActivationLiteral

_PROBABILITIES = {"sigmoid", "softmax", "hardsigmoid", "rectifiedtanh"}
_OF_CLASSES = {"mcxent", "negativeloglikelihood", "sparse_mcxent"}
# The activations whose values have the logarithm that the loss takes. A 0 among
# probabilities counts as the smallest number above it; poisson has none to spare.
_ALLOWED = {
    **dict.fromkeys((*_OF_CLASSES, "kl_divergence", "xent"), _PROBABILITIES),
    "poisson": {"softplus", "sigmoid", "softmax"},
}
_USUAL = {
    **dict.fromkeys((*_OF_CLASSES, "kl_divergence"), "softmax"),
    "xent": "sigmoid",
    "poisson": "softplus",
}
_ANYWAY = "validate_output_layer=False of the network takes it all the same."


def check_output_layer(
    network: Mapping[str, Any], conf: LayerConf, n_out: int | None
) -> None:
    """Refuse a loss behind an activation whose values it cannot be computed of.

    Parameters
    ----------
    network : mapping of str to value
        Options of the network. Only one that asks for it is looked at, and only in the
        dialect ``exact``: what others compute, and clip, is their affair.
    conf : LayerConf
        With nothing left open.
    n_out : int or None
        Number of outputs, if it is known.

    Raises
    ------
    OptionError
        With both, and what fits.

    References
    ----------
    DL4J, ``OutputLayerUtil.validateOutputLayerConfiguration``; ``kl_divergence`` and
    ``poisson`` are not looked at there.
    """
    loss = _name(getattr(conf, "loss", None))
    if not network["validate_output_layer"] or network["dialect"] != EXACT or not loss:
        return
    activation = _name(getattr(conf, "activation", None))
    if activation == "softmax" and n_out == 1:
        raise PathError(
            "must not be 'softmax' with n_out 1: the only output is then 1 whatever "
            f"comes in. Use 'sigmoid' with the loss 'xent', or n_out 2. {_ANYWAY}",
            "activation",
        )
    if _does_not_fit(loss, activation, conf):
        raise PathError(
            f"must be {_values_of(loss)} for the loss {loss!r}, got {activation!r}. "
            f"Use {_USUAL[loss]!r}. {_ANYWAY}",
            "activation",
        )
    if (loss, activation) == ("xent", "softmax"):
        raise PathError(
            "must be another one than 'xent' behind 'softmax', whose outputs are not "
            "probabilities of their own. Use 'mcxent' for classes that exclude one "
            f"another, or 'sigmoid' for those that do not. {_ANYWAY}",
            "loss",
        )
    if loss in _OF_CLASSES and activation == "sigmoid":
        raise PathError(
            f"must be another one than {loss!r} behind 'sigmoid', whose outputs it "
            "makes 1 all together. Use 'softmax' for classes that exclude one another, "
            f"or 'xent' for those that do not. {_ANYWAY}",
            "loss",
        )


def _does_not_fit(loss: str, activation: str, conf: LayerConf) -> bool:
    # Of an activation of somebody's own nobody knows the values.
    if loss not in _ALLOWED or activation not in get_args(ActivationLiteral):
        return False
    # Without weights the layer in front may have the activation.
    if activation == "identity" and not hasattr(conf, "n_out"):
        return False
    return activation not in _ALLOWED[loss]


def _values_of(loss: str) -> str:
    if loss == "poisson":
        return "an activation with values above 0"
    return "an activation with values from 0 to 1"


def _name(value: Any) -> str:
    return str(getattr(value, "type", value) or "")
