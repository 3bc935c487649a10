"""The loss that a configuration means."""

from functools import cache
from typing import get_args

from daskdl.dialects import Quirks
from daskdl.nn.conf.losses import (
    WITH_OPTIONS,
    AnyLoss,
    BinaryCrossEntropy,
    CrossEntropy,
    FMeasure,
    LossDefinition,
    LossOptions,
    MixtureDensity,
    NegativeLogLikelihood,
    SparseCrossEntropy,
    find_loss,
    loss_name,
)
from daskdl.nn.conf.named import found
from daskdl.nn.conf.names import LossLiteral
from daskdl.nn.conf.values import tag_of
from daskdl.nn.losses import element_wise
from daskdl.nn.losses.binary_cross_entropy import BinaryCrossEntropyLoss
from daskdl.nn.losses.cosine import CosineProximityLoss
from daskdl.nn.losses.cross_entropy import (
    CrossEntropyLoss,
    DivergenceLoss,
    SparseCrossEntropyLoss,
)
from daskdl.nn.losses.defined import DefinedLoss
from daskdl.nn.losses.element_wise import ElementWiseLoss, UndividedErrorLoss
from daskdl.nn.losses.fmeasure import FMeasureLoss
from daskdl.nn.losses.loss import LossFunction
from daskdl.nn.losses.mixture_density import MixtureDensityLoss
from daskdl.nn.losses.multi_label import MultiLabelLoss

_FORMULAS = {
    "mse": (element_wise.mean_squared, element_wise.mean_squared_gradient),
    "l2": (element_wise.squared, element_wise.squared_gradient),
    "mae": (element_wise.mean_absolute, element_wise.mean_absolute_gradient),
    "l1": (element_wise.absolute, element_wise.absolute_gradient),
    "mape": (element_wise.percentage, element_wise.percentage_gradient),
    "msle": (
        element_wise.squared_logarithmic,
        element_wise.squared_logarithmic_gradient,
    ),
    "kl_divergence": (element_wise.divergence, element_wise.divergence_gradient),
    "hinge": (element_wise.hinge, element_wise.hinge_gradient),
    "squared_hinge": (element_wise.squared_hinge, element_wise.squared_hinge_gradient),
    "poisson": (element_wise.poisson, element_wise.poisson_gradient),
    "wasserstein": (element_wise.wasserstein, element_wise.wasserstein_gradient),
}
_NAMES = frozenset(get_args(LossLiteral))
_MODELS = {tag_of(model): model for model in WITH_OPTIONS}


def loss_function(
    loss: str | LossOptions, quirks: Quirks = frozenset()
) -> LossFunction:
    """Return the loss function of a configuration.

    Parameters
    ----------
    loss : str or model of daskdl.nn.conf.losses
        A name stands for the defaults of its options.
    quirks : frozenset of str
        Those of the layer; see :mod:`daskdl.dialects`.

    Raises
    ------
    OptionError
        If there is none of that name, or the name cannot do without options.
    """
    if isinstance(loss, str) and loss in _NAMES:
        # Layers ask in each pass: most need no search.
        return _made(loss, quirks)
    return _made(found("loss_function", find_loss, loss), quirks)


@cache
def _made(loss: AnyLoss, quirks: Quirks) -> LossFunction:
    if isinstance(loss, LossDefinition):
        return DefinedLoss(loss, quirks)
    if isinstance(loss, str) and loss in _MODELS:
        loss = _MODELS[loss]()
    if isinstance(loss, BinaryCrossEntropy):
        return BinaryCrossEntropyLoss(loss, quirks)
    if isinstance(loss, SparseCrossEntropy):
        return SparseCrossEntropyLoss(loss, quirks)
    if isinstance(loss, CrossEntropy | NegativeLogLikelihood):
        return CrossEntropyLoss(loss, quirks)
    if isinstance(loss, FMeasure):
        return FMeasureLoss(loss, quirks)
    if isinstance(loss, MixtureDensity):
        return MixtureDensityLoss(loss, quirks)
    return _without_options(loss, loss_name(loss), quirks)


def _without_options(loss: AnyLoss, name: str, quirks: Quirks) -> LossFunction:
    """Return a loss that has weights at most."""
    if name == "cosine_proximity":
        return CosineProximityLoss(loss, quirks)
    if name == "multilabel":
        return MultiLabelLoss(loss, quirks)
    if name == "kl_divergence" and "kl_divergence_clips_scores" not in quirks:
        return DivergenceLoss(loss, quirks)
    if name == "mae" and "mae_of_examples_is_a_sum" in quirks:
        return UndividedErrorLoss(
            loss, quirks, element_wise.absolute, element_wise.mean_absolute_gradient
        )
    return ElementWiseLoss(loss, quirks, *_FORMULAS[name])
