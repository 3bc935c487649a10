"""Losses that users define, at work."""

from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.losses import LossDefinition
from daskdl.nn.lent_arrays import read_only, reading, writable
from daskdl.nn.losses.loss import LossFunction, drop


class DefinedLoss(LossFunction):
    """The loss of a definition.

    Parameters
    ----------
    conf : LossDefinition
    quirks : frozenset of str
        As of :class:`~daskdl.nn.losses.loss.LossFunction`.
    """

    def __init__(self, conf: LossDefinition, quirks: Quirks) -> None:
        super().__init__(conf, quirks)
        # An option of that name is the definition's business.
        self._weights = None
        self._definition = conf

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        scores = self._asked("score", labels, output)
        shape = getattr(scores, "shape", type(scores).__name__)
        rows = (len(output),)
        if shape not in (rows, output.shape):
            raise ShapeError(
                f"{type(self._definition).__name__}: score must return an array of "
                f"shape {output.shape} or {rows}, got {shape}."
            )
        if shape == rows and shape != output.shape:
            if self._masks_outputs(factor, preout):
                raise OptionError(
                    f"Loss {self.name!r}: the mask must be of whole examples, since it "
                    "scores rows, got one of single outputs."
                )
            scores = scores[:, None]
        if factor is not None:
            scores = scores.copy()
            drop(scores, factor)
        total: FloatArray = array_namespace(output).sum(scores, axis=-1)
        return total

    def _write_gradient(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
        out: FloatArray,
    ) -> None:
        grad_output = self._asked("gradient", labels, output)
        shape = getattr(grad_output, "shape", type(grad_output).__name__)
        if shape != output.shape:
            raise ShapeError(
                f"{type(self._definition).__name__}: gradient must return an array of "
                f"shape {output.shape}, got {shape}."
            )
        if factor is not None and self._masks_outputs(factor, preout):
            grad_output = grad_output.copy()
            drop(grad_output, factor)
        activation.backward(grad_output, preout, output, out=out)

    def _asked(self, method: str, labels: FloatArray, output: FloatArray) -> Any:
        """Return what a method of the definition makes of labels and output."""
        made = getattr(self._definition, method)
        lent = read_only(labels), read_only(output)
        who = type(self._definition).__name__
        rule = f"{method} must not write to labels or output"
        found = reading(who, rule, lambda: made(*lent))
        for view, array in zip(lent, (labels, output), strict=True):
            if isinstance(found, type(view)):
                found = writable(found, view, array)
        return found
