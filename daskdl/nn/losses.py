"""Loss functions: scores and gradients in the pre-activations, and the one table.

Everything works on rows (batch, n_out); time series come as rows of steps. The scores
are sums over the outputs of a row, the gradients are not divided by the batch size.
Formulas and clips are those of DL4J 1.0.0-M2.1 without label weights. Its mean absolute
error leaves the division by n_out out of `scoreExamples` only; here both have it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.checks import check_one_of
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.activations import ActivationFunction

# Any: what the functions of an array's namespace return has no static type.
ElementScores = Callable[[FloatArray, FloatArray, bool], Any]
OutputGradient = Callable[[FloatArray, FloatArray], Any]

_SOFTMAX_CLIP = 1e-10
_XENT_CLIP = 1e-5


@dataclass(frozen=True)
class LossFunction:
    """A loss between labels and the activated output.

    Parameters
    ----------
    name : str
        DL4J's name in lower case.
    is_cross_entropy : bool
        Whether its gradient through a softmax is ``output - labels``.
    """

    name: str
    _element_scores: ElementScores
    _output_gradient: OutputGradient
    is_cross_entropy: bool = False

    def score_examples(
        self,
        labels: FloatArray,
        preout: FloatArray,
        activation: ActivationFunction,
        mask: FloatArray | None = None,
        *,
        output: FloatArray | None = None,
    ) -> FloatArray:
        """Compute the loss of each row.

        Parameters
        ----------
        labels, preout : ndarray of shape (rows, n_out), float
            Targets, and the values before the activation.
        activation : ActivationFunction
            Of the output layer.
        mask : ndarray of shape (rows,), (rows, 1) or (rows, n_out), optional
            1 keeps, 0 drops a row or a single output.
        output : ndarray of shape (rows, n_out), optional
            The activated values, where the caller has them.

        Returns
        -------
        scores : ndarray of shape (rows,)
            Newly allocated.

        Raises
        ------
        ShapeError
            If labels or mask do not fit.
        OptionError
            If single outputs of a softmax are masked.
        """
        self._check(labels, preout)
        factor = self._mask_factor(mask, preout, activation)
        output = activation.forward(preout) if output is None else output
        scores = self._element_scores(labels, output, activation.name == "softmax")
        if factor is not None:
            scores = scores * factor
        total: FloatArray = array_namespace(preout).sum(scores, axis=-1)
        return total

    def gradient(
        self,
        labels: FloatArray,
        preout: FloatArray,
        activation: ActivationFunction,
        mask: FloatArray | None = None,
        *,
        output: FloatArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Compute the gradient of the summed scores in the pre-activations.

        Parameters
        ----------
        labels, preout, activation, mask, output
            As for :meth:`score_examples`.
        out : ndarray of shape (rows, n_out), optional
            Overwritten. By default a new array.

        Returns
        -------
        out : ndarray

        Raises
        ------
        ShapeError, OptionError
            As :meth:`score_examples`.
        """
        xp = array_namespace(preout)
        self._check(labels, preout)
        factor = self._mask_factor(mask, preout, activation)
        output = activation.forward(preout) if output is None else output
        out = xp.empty_like(preout) if out is None else out
        if self.is_cross_entropy and activation.name == "softmax":
            xp.subtract(output, labels, out=out)
        else:
            grad_output = self._output_gradient(labels, output)
            activation.backward(grad_output, preout, output, out=out)
        if factor is not None:
            out *= factor
        return out

    def _check(self, labels: FloatArray, preout: FloatArray) -> None:
        if labels.shape != preout.shape:
            raise ShapeError(
                f"Loss {self.name!r}: labels must have the output's shape "
                f"{preout.shape}, got {labels.shape}."
            )

    def _mask_factor(
        self,
        mask: FloatArray | None,
        preout: FloatArray,
        activation: ActivationFunction,
    ) -> FloatArray | None:
        """Return the mask as columns that multiply (rows, n_out)."""
        if mask is None:
            return None
        rows = preout.shape[0]
        if mask.shape in ((rows,), (rows, 1)):
            return mask.reshape(rows, 1)
        if mask.shape != preout.shape:
            raise ShapeError(
                f"Loss {self.name!r}: the mask must have shape ({rows},), ({rows}, 1) "
                f"or {preout.shape}, got {mask.shape}."
            )
        if activation.name == "softmax":
            # A masked output of a softmax still takes its share of the sum.
            raise OptionError(
                f"Loss {self.name!r}: a mask of single outputs needs an activation "
                f"other than softmax, got shape {mask.shape}. Mask whole examples, or "
                "use sigmoid with xent."
            )
        return mask


def loss_function(name: str) -> LossFunction:
    """Return the loss function called `name`.

    Raises
    ------
    OptionError
        If there is none of that name.
    """
    check_one_of("loss_function", "name", name, LOSSES)
    return LOSSES[name]


def _cross_entropy(y: FloatArray, p: FloatArray, is_softmax: bool) -> Any:
    xp = array_namespace(p)
    if is_softmax:
        return -y * xp.log(xp.clip(p, _SOFTMAX_CLIP, 1 - _SOFTMAX_CLIP))
    return -y * xp.log(_above_zero(p))


def _cross_entropy_gradient(y: FloatArray, p: FloatArray) -> Any:
    return -y / _above_zero(p)


def _above_zero(p: FloatArray) -> Any:
    """Return `p` with 0 raised to the smallest normal number: 0 * log(0) is NaN."""
    xp = array_namespace(p)
    return xp.maximum(p, xp.finfo(p.dtype).tiny)


def _binary_cross_entropy(y: FloatArray, p: FloatArray, is_softmax: bool) -> Any:
    xp = array_namespace(p)
    if is_softmax:
        return _cross_entropy(y, p, is_softmax=False)
    clipped = xp.clip(p, _XENT_CLIP, 1 - _XENT_CLIP)
    return -(y * xp.log(clipped) + (1 - y) * xp.log1p(-clipped))


def _binary_cross_entropy_gradient(y: FloatArray, p: FloatArray) -> Any:
    clipped = array_namespace(p).clip(p, _XENT_CLIP, 1 - _XENT_CLIP)
    return (clipped - y) / (clipped * (1 - clipped))


def _squared(y: FloatArray, p: FloatArray, is_softmax: bool) -> Any:
    return array_namespace(p).square(p - y)


def _squared_gradient(y: FloatArray, p: FloatArray) -> Any:
    return 2 * (p - y)


def _mean_squared(y: FloatArray, p: FloatArray, is_softmax: bool) -> Any:
    return _squared(y, p, is_softmax) / p.shape[-1]


def _mean_squared_gradient(y: FloatArray, p: FloatArray) -> Any:
    return (2 / p.shape[-1]) * (p - y)


def _absolute(y: FloatArray, p: FloatArray, is_softmax: bool) -> Any:
    return array_namespace(p).abs(p - y)


def _absolute_gradient(y: FloatArray, p: FloatArray) -> Any:
    return array_namespace(p).sign(p - y)


def _mean_absolute(y: FloatArray, p: FloatArray, is_softmax: bool) -> Any:
    return _absolute(y, p, is_softmax) / p.shape[-1]


def _mean_absolute_gradient(y: FloatArray, p: FloatArray) -> Any:
    return _absolute_gradient(y, p) / p.shape[-1]


LOSSES: dict[str, LossFunction] = {
    function.name: function
    for function in (
        LossFunction(
            "mcxent", _cross_entropy, _cross_entropy_gradient, is_cross_entropy=True
        ),
        LossFunction(
            "negativeloglikelihood",
            _cross_entropy,
            _cross_entropy_gradient,
            is_cross_entropy=True,
        ),
        LossFunction("xent", _binary_cross_entropy, _binary_cross_entropy_gradient),
        LossFunction("mse", _mean_squared, _mean_squared_gradient),
        LossFunction("l2", _squared, _squared_gradient),
        LossFunction("l1", _absolute, _absolute_gradient),
        LossFunction("mae", _mean_absolute, _mean_absolute_gradient),
    )
}
