"""The loss that a configuration means."""

from functools import cache
from typing import get_args

from daskdl.nn.conf.losses import (
    AnyLoss,
    BinaryCrossEntropy,
    CrossEntropy,
    FMeasure,
    LossOptions,
    MixtureDensity,
    NegativeLogLikelihood,
    SparseCrossEntropy,
    find_loss,
    loss_name,
)
from daskdl.nn.conf.named import found
from daskdl.nn.losses import element_wise
from daskdl.nn.losses.cosine import CosineProximityLoss
from daskdl.nn.losses.cross_entropy import (
    BinaryCrossEntropyLoss,
    CrossEntropyLoss,
    SparseCrossEntropyLoss,
)
from daskdl.nn.losses.element_wise import ElementWiseLoss, MeanAbsoluteErrorLoss
from daskdl.nn.losses.fmeasure import FMeasureLoss
from daskdl.nn.losses.loss import LossFunction
from daskdl.nn.losses.mixture_density import MixtureDensityLoss
from daskdl.nn.losses.multi_label import MultiLabelLoss

_FORMULAS = {
    "mse": (element_wise.mean_squared, element_wise.mean_squared_gradient),
    "l2": (element_wise.squared, element_wise.squared_gradient),
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
_MODELS = {
    get_args(model.model_fields["type"].annotation)[0]: model
    for model in get_args(LossOptions)
}


def loss_function(loss: str | LossOptions) -> LossFunction:
    """Return the loss function of a configuration.

    Parameters
    ----------
    loss : str or model of daskdl.nn.conf.losses
        A name stands for the defaults of its options.

    Raises
    ------
    OptionError
        If there is none of that name, or the name cannot do without options.
    """
    return _made(found("loss_function", find_loss, loss))


@cache
def _made(loss: AnyLoss) -> LossFunction:
    if isinstance(loss, str) and loss in _MODELS:
        loss = _MODELS[loss]()
    if isinstance(loss, BinaryCrossEntropy):
        return BinaryCrossEntropyLoss(loss)
    if isinstance(loss, SparseCrossEntropy):
        return SparseCrossEntropyLoss(loss)
    if isinstance(loss, CrossEntropy | NegativeLogLikelihood):
        return CrossEntropyLoss(loss)
    if isinstance(loss, FMeasure):
        return FMeasureLoss(loss)
    if isinstance(loss, MixtureDensity):
        return MixtureDensityLoss(loss)
    name = loss_name(loss)
    if name == "mae":
        return MeanAbsoluteErrorLoss(
            loss, element_wise.absolute, element_wise.mean_absolute_gradient
        )
    if name == "cosine_proximity":
        return CosineProximityLoss(loss)
    if name == "multilabel":
        return MultiLabelLoss(loss)
    return ElementWiseLoss(loss, *_FORMULAS[name])
