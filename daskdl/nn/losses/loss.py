"""The base class of losses: scores, and gradients in the pre-activations.

Everything works on rows (rows, n_out); time series come as rows of steps. Gradients
are those of sums over the rows, not divided by the batch size. The files beside this
one hold one family each.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.errors import OptionError, ShapeError
from daskdl.kernels.dispatch import is_on_device
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.losses import AnyLoss, label_columns, loss_name


class LossFunction(ABC):
    """A loss between labels and the activated output.

    Parameters
    ----------
    conf : str or model of daskdl.nn.conf.losses
        Its name and its options.
    quirks : frozenset of str
        What is computed otherwise than the formula says; see :mod:`daskdl.dialects`.

    Attributes
    ----------
    name : str
        In lower case.
    """

    masks_single_outputs: ClassVar[bool] = True

    def __init__(self, conf: AnyLoss, quirks: Quirks) -> None:
        self.name = loss_name(conf)
        self._conf = conf
        self._masks_outputs_twice = "masks_of_outputs_count_twice" in quirks
        self._weights: tuple[float, ...] | None = getattr(conf, "weights", None)

    def label_columns(self, n_out: int) -> int:
        """Return the number of columns of the labels.

        Raises
        ------
        OptionError
            If the loss cannot have `n_out` outputs.
        """
        try:
            return label_columns(self._conf, n_out)
        except PathError as error:
            raise OptionError(f"Loss {self.name!r}: {error}") from None

    def reads_preout(self, activation: ActivationFunction) -> bool:
        """Return whether scores come from the pre-activations.

        Where not, they may have been overwritten by the output.

        Parameters
        ----------
        activation : ActivationFunction
            Of the output layer.
        """
        return False

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
        labels : ndarray of shape (rows, label_columns), float
            Targets.
        preout : ndarray of shape (rows, n_out), float
            The values before the activation; only their shape counts where `output` is
            given and neither :meth:`reads_preout` nor the gradient of the activation
            reads them.
        activation : ActivationFunction
            Of the output layer.
        mask : ndarray of shape (rows,), (rows, 1) or (rows, n_out), optional
            1 keeps a row or a single output, and 0 drops it, whatever is there.
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
            If the loss has no scores of rows, or cannot mask single outputs.
        """
        self._check(labels, preout)
        factor = self._factor(mask, preout)
        output = activation.forward(preout) if output is None else output
        return self._score_rows(labels, preout, output, activation, factor)

    def score(
        self,
        labels: FloatArray,
        preout: FloatArray,
        activation: ActivationFunction,
        mask: FloatArray | None = None,
        *,
        output: FloatArray | None = None,
    ) -> float:
        """Compute the sum of the losses of all rows.

        Parameters
        ----------
        labels, preout, activation, mask, output
            As for :meth:`score_examples`.

        Returns
        -------
        score : float, or ndarray of CuPy of shape ()
            With most losses the sum of :meth:`score_examples`. It stays on a device.

        Raises
        ------
        ShapeError, OptionError
            As :meth:`score_examples`.
        """
        rows = self.score_examples(labels, preout, activation, mask, output=output)
        return left_there(rows.sum())

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
        """Compute the gradient of :meth:`score` in the pre-activations.

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
        self._check(labels, preout)
        factor = self._factor(mask, preout)
        output = activation.forward(preout) if output is None else output
        out = array_namespace(preout).empty_like(preout) if out is None else out
        self._write_gradient(labels, preout, output, activation, factor, out)
        # A mask of single outputs must not come behind a softmax: what it drops takes
        # its share of the sum.
        if factor is not None and (
            self._masks_outputs_twice or not self._masks_outputs(factor, preout)
        ):
            drop(out, factor)
        return out

    @abstractmethod
    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        """Return the scores of the rows, masked."""

    @abstractmethod
    def _write_gradient(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
        out: FloatArray,
    ) -> None:
        """Write the gradient to `out`; a mask of single outputs counts in front.

        That is where :meth:`_masks_outputs` says so. A mask of rows is applied to what
        comes out.
        """

    def _check(self, labels: FloatArray, preout: FloatArray) -> None:
        expected = (preout.shape[0], self.label_columns(preout.shape[1]))
        if labels.shape != expected:
            raise ShapeError(
                f"Loss {self.name!r}: labels must have shape {expected} with an output "
                f"of shape {preout.shape}, got {labels.shape}."
            )

    def _factor(self, mask: FloatArray | None, preout: FloatArray) -> FloatArray | None:
        """Return the mask as (rows, 1) or as (rows, n_out)."""
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
        if not self.masks_single_outputs:
            raise OptionError(
                f"Loss {self.name!r}: the mask must be of whole examples, got one of "
                f"single outputs, shape {mask.shape}."
            )
        return mask

    def _masks_outputs(self, factor: FloatArray | None, preout: FloatArray) -> bool:
        """Return whether a mask is one of single outputs."""
        if factor is None:
            return False
        # The quirk takes a mask of rows for one of outputs, too, if there is but one.
        if self._masks_outputs_twice:
            return bool(factor.shape == preout.shape)
        return bool(factor.shape[1] > 1)

    def _weigh(self, values: FloatArray) -> None:
        """Multiply the columns of `values` by the weights, in place."""
        if self._weights is not None:
            values *= array_namespace(values).asarray(self._weights, values.dtype)


def left_there(total: Any) -> float:
    """Return a number of NumPy as one of Python, and one of a device as it is there."""
    return total if is_on_device(total) else float(total)


def drop(values: FloatArray, factor: FloatArray) -> None:
    """Multiply `values` by a mask in place; 0 drops numbers, infinite ones too.

    `values` is of shape (rows, n_out), `factor` likewise or (rows, 1).
    """
    with np.errstate(invalid="ignore"):
        values *= factor
    array_namespace(values).copyto(values, 0, where=factor == 0)
