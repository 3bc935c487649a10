"""Losses as configurations give them: a name, or a name with options.

Values only; :mod:`daskdl.nn.losses` holds the arithmetic.
"""

from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

from annotated_types import Ge, Le, MinLen
from pydantic import BeforeValidator

from daskdl.arrays.namespace import FloatArray
from daskdl.checks import normalised
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.kinds import LOSS_KINDS, AnyOf
from daskdl.nn.conf.named import named, or_registered
from daskdl.nn.conf.names import LossLiteral
from daskdl.nn.conf.values import Conf, Count, Positive, Real, plain, tag_of

Weights = Annotated[tuple[Real, ...], MinLen(1)]
Clip = Annotated[float, Ge(0), Le(0.5), BeforeValidator(plain)]


class WeightedLoss(Conf):
    """A loss that weighs the outputs.

    Parameters
    ----------
    weights : tuple of float, optional
        One factor for each output; None weighs all of them with 1.
    """

    type: str
    weights: Weights | None = None


class MeanSquaredError(WeightedLoss):
    """``(labels - output)**2 / n_out``."""

    type: Literal["mse"] = "mse"


class SquaredError(WeightedLoss):
    """``(labels - output)**2``."""

    type: Literal["l2"] = "l2"


class AbsoluteError(WeightedLoss):
    """``|labels - output|``."""

    type: Literal["l1"] = "l1"


class MeanAbsoluteError(WeightedLoss):
    """``|labels - output| / n_out``."""

    type: Literal["mae"] = "mae"


class MeanAbsolutePercentageError(WeightedLoss):
    """``100 * |(labels - output) / labels| / n_out``."""

    type: Literal["mape"] = "mape"


class MeanSquaredLogarithmicError(WeightedLoss):
    """``log((output + 1) / (labels + 1))**2 / n_out``."""

    type: Literal["msle"] = "msle"


class BinaryCrossEntropy(WeightedLoss):
    """Cross entropy of outputs that are each a probability of their own.

    Parameters
    ----------
    clip_eps : float from 0 to 0.5, optional
        Outputs are kept this far from 0 and 1; beyond, the loss is flat. By default
        they are not, unless the dialect of the network has a clip.
    """

    type: Literal["xent"] = "xent"
    clip_eps: Clip | None = None


class SoftmaxCrossEntropy(Conf):
    """What the cross entropies of classes share.

    Parameters
    ----------
    softmax_clip_eps : float from 0 to 0.5, optional
        Outputs of a softmax are kept this far from 0 and 1; beyond, the loss is flat.
        By default they are not, unless the dialect of the network has a clip.
    """

    softmax_clip_eps: Clip | None = None


class CrossEntropy(SoftmaxCrossEntropy, WeightedLoss):
    """``-labels * log(output)`` of classes."""

    type: Literal["mcxent"] = "mcxent"


class NegativeLogLikelihood(SoftmaxCrossEntropy, WeightedLoss):
    """The other name of :class:`CrossEntropy`."""

    type: Literal["negativeloglikelihood"] = "negativeloglikelihood"


class SparseCrossEntropy(SoftmaxCrossEntropy, WeightedLoss):
    """:class:`CrossEntropy` of labels that are one column of class numbers."""

    type: Literal["sparse_mcxent"] = "sparse_mcxent"


class FMeasure(Conf):
    """1 minus the F measure of a whole minibatch of two classes.

    Parameters
    ----------
    beta : float, default 1
        How much more recall counts than precision.
    """

    # Of parts there is no sum.
    can_be_cut: ClassVar[bool] = False

    type: Literal["fmeasure"] = "fmeasure"
    beta: Positive = 1.0


class MixtureDensity(Conf):
    """Negative log likelihood of the labels under a mixture of Gaussians.

    Parameters
    ----------
    mixtures : int
        Number of Gaussians; the output has ``mixtures * (2 + label_width)`` columns.
    label_width : int
        Number of columns of the labels.
    """

    type: Literal["mixture_density"] = "mixture_density"
    mixtures: Count
    label_width: Count


class LossDefinition(Conf):
    """A loss of one's own: a function of labels and output, and its derivative.

    Derive from it, and register it with `daskdl.loss`. Options are annotated fields.
    """

    # Whether threads may call it at one time; see :class:`LayerDefinition`.
    can_be_cut: ClassVar[bool] = False

    type: str = ""

    def score(self, labels: FloatArray, output: FloatArray) -> FloatArray:
        """Return the loss of each output, or of each row.

        Parameters
        ----------
        labels, output : ndarray of shape (rows, n_out)
            Behind the activation. Not to be changed.

        Returns
        -------
        ndarray of shape (rows, n_out) or (rows,)
            Of single outputs, labels of which may then be masked, or of whole rows.
        """
        raise TypeError(f"{type(self).__name__}: must have a method score.")

    def gradient(self, labels: FloatArray, output: FloatArray) -> FloatArray:
        """Return the derivative of the sum of :meth:`score` in the output.

        Parameters
        ----------
        labels, output : ndarray of shape (rows, n_out)
            As for :meth:`score`.

        Returns
        -------
        ndarray of shape (rows, n_out)
            A new one.
        """
        raise TypeError(f"{type(self).__name__}: must have a method gradient.")


_Ours: TypeAlias = (
    MeanSquaredError
    | SquaredError
    | AbsoluteError
    | MeanAbsoluteError
    | MeanAbsolutePercentageError
    | MeanSquaredLogarithmicError
    | BinaryCrossEntropy
    | CrossEntropy
    | NegativeLogLikelihood
    | SparseCrossEntropy
    | FMeasure
    | MixtureDensity
)
_ALIASES = {
    "squared_loss": "mse",
    "mean_absolute_error": "mae",
    "mean_absolute_percentage_error": "mape",
    "mean_squared_logarithmic_error": "msle",
    "nll": "negativeloglikelihood",
    "kld": "kl_divergence",
    "reconstruction_crossentropy": "kl_divergence",
}
# Not aliases: some take logits, or other labels, or sum up otherwise.
_ELSEWHERE = {
    "categorical_crossentropy": "mcxent",
    "sparse_categorical_crossentropy": "sparse_mcxent",
    "cross_entropy": "mcxent",
    "cross_entropy_loss": "mcxent",
    "nll_loss": "negativeloglikelihood",
    "binary_crossentropy": "xent",
    "bce": "xent",
    "bce_loss": "xent",
    "bce_with_logits_loss": "xent",
    "mean_squared_error": "mse",
    "mse_loss": "mse",
    "l1_loss": "mae",
    "kullback_leibler_divergence": "kl_divergence",
    "kl_div_loss": "kl_divergence",
    "cosine_similarity": "cosine_proximity",
    "poisson_nll_loss": "poisson",
}
LossOptions: TypeAlias = _Ours | LossDefinition
WITH_OPTIONS = get_args(_Ours)
_NAMES = frozenset(
    normalised(name)
    for name in (*get_args(LossLiteral), *map(tag_of, WITH_OPTIONS), *_ALIASES)
)


def is_ours(name: str) -> bool:
    """Return whether a loss of the package has this name, in any spelling."""
    return normalised(name) in _NAMES


find_loss = or_registered(
    named(LossLiteral, _Ours, aliases=_ALIASES, elsewhere=_ELSEWHERE),
    is_ours,
    LOSS_KINDS,
    LossDefinition,
)
AnyLoss = Annotated[
    LossLiteral | _Ours | Annotated[LossDefinition, AnyOf(LOSS_KINDS)],
    BeforeValidator(find_loss),
]


def loss_name(loss: LossLiteral | LossOptions) -> str:
    """Return the name of a loss that may have options."""
    return loss if isinstance(loss, str) else loss.type


# What an output layer takes if it is given neither activation nor loss is softmax
# and mcxent; the others are the activations whose gradients these losses are made for.
_ACTIVATION_OF_LOSS = {
    "mcxent": "softmax",
    "sparse_mcxent": "softmax",
    "negativeloglikelihood": "softmax",
    "xent": "sigmoid",
    "kl_divergence": "softmax",
}


def activation_of(loss: LossLiteral | LossOptions) -> str:
    """Return the activation that belongs to a loss, given by name or with options."""
    return _ACTIVATION_OF_LOSS.get(loss_name(loss), "identity")


def label_columns(loss: LossLiteral | LossOptions, n_out: int) -> int:
    """Return how many columns the labels of a layer with `n_out` outputs have.

    Raises
    ------
    OptionError
        If the loss cannot have `n_out` outputs.
    """
    name = loss_name(loss)
    # Asked in each iteration: isinstance of pydantic's models is slow.
    if name == "mixture_density" and isinstance(loss, MixtureDensity):
        _check_n_out(n_out, loss)
        return loss.label_width
    if name == "fmeasure" and n_out > 2:
        raise PathError(f"must be 1 or 2 with the loss {name}, got {n_out}.", "n_out")
    _check_weights(loss, n_out)
    return 1 if name == "sparse_mcxent" else n_out


def _check_n_out(n_out: int, loss: MixtureDensity) -> None:
    needed = loss.mixtures * (2 + loss.label_width)
    if n_out != needed:
        raise PathError(
            f"must be mixtures * (2 + label_width) = {needed} with the loss "
            f"{loss.type}, got {n_out}.",
            "n_out",
        )


def _check_weights(loss: LossLiteral | LossOptions, n_out: int) -> None:
    # A loss of one's own may have an option of that name.
    weights = loss.weights if isinstance(loss, WeightedLoss) else None
    if weights is not None and len(weights) != n_out:
        raise PathError(
            f"must hold a number for each of {n_out} outputs, got {len(weights)}.",
            "loss",
            "weights",
        )
