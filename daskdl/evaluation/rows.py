"""From labels, predictions and masks of any rank to the rows that count."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.data.finite import check_mask, first_place
from daskdl.data.masked_arrays import without_mask
from daskdl.errors import DataError, ShapeError

# Weighted means of float32 probabilities may be beyond 0 and 1 by as much.
_ROUNDING = 1e-6


def unmasked_rows(
    who: str,
    labels: Any,
    predictions: Any,
    mask: Any,
    axis: int,
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_] | None]:
    """Return labels and predictions as rows, without masked ones.

    Parameters
    ----------
    who : str
        Whose errors these are.
    labels, predictions : ndarray of shape (batch, n_out), (batch, n_out, time) or
        (batch, n_out, height, width)
        Arrays of NumPy or CuPy; `n_out` stands at `axis`.
    mask : ndarray or None
        One value an example (``(batch,)`` or ``(batch, 1)``), one a position (the shape
        of the labels without `axis`, or with 1 there), or one an output (the shape of
        the labels). 0 drops, everything else keeps.
    axis : int
        1 for DL4J's NCW and NCHW, 2 and 3 for NWC and NHWC.

    Returns
    -------
    labels, predictions : ndarray of shape (rows, n_out)
        Views where possible.
    output_mask : ndarray of shape (rows, n_out), bool, or None
        The mask if it had one value an output.

    Raises
    ------
    ShapeError
        When the shapes do not go together.
    DataError
        When a label or a prediction that counts is NaN, a number of the mask is not
        finite or below 0, or entries are masked.
    """
    labels = to_host(without_mask(who, "labels", labels))
    predictions = to_host(without_mask(who, "predictions", predictions))
    predictions = _as_float(predictions)
    _check_shapes(who, labels, predictions, axis)
    label_rows, prediction_rows = _rows(labels, axis), _rows(predictions, axis)
    output_mask = None
    if mask is not None:
        mask = to_host(without_mask(who, "mask", mask))
        check_mask(who, "mask", mask)
        mask = mask != 0
        position_mask = _position_mask(mask, labels.shape, axis)
        if position_mask is not None:
            if not position_mask.all():
                label_rows = label_rows[position_mask]
                prediction_rows = prediction_rows[position_mask]
        elif mask.shape == labels.shape:
            output_mask = _rows(mask, axis)
        else:
            raise ShapeError(
                f"{who}: mask must have one value an example, a position or an output "
                f"of labels of shape {labels.shape}, got shape {mask.shape}."
            )
    _check_numbers(who, "labels", label_rows, output_mask)
    _check_numbers(who, "predictions", prediction_rows, output_mask)
    return label_rows, prediction_rows, output_mask


def as_probabilities(
    who: str, predictions: FloatArray, kept: NDArray[np.bool_] | None, hint: str
) -> FloatArray:
    """Return predictions as probabilities; rounding errors outside 0 to 1 are clipped.

    Parameters
    ----------
    who : str
        Whose errors these are.
    predictions : ndarray of shape (rows, n_out), float
    kept : ndarray of shape (rows, n_out), bool, or None
        Which of them count; None for all.
    hint : str
        What to do, a sentence.

    Raises
    ------
    DataError
        When one that counts is further outside than rounding explains.
    """
    margin = max(_ROUNDING, 8 * float(np.finfo(predictions.dtype).eps))
    outside = (predictions < -margin) | (predictions > 1 + margin)
    if kept is not None:
        outside &= kept
    if (place := first_place(outside)) is not None:
        row, column = place
        raise DataError(
            f"{who}: predictions must be probabilities from 0 to 1, got "
            f"{int(outside.sum())} outside, the first {predictions[row, column]:.6g} "
            f"in row {row} of those that count, column {column}. {hint}"
        )
    inside: FloatArray = np.clip(predictions, 0, 1)
    return inside


def _as_float(array: NDArray[Any]) -> NDArray[Any]:
    # Thresholds are compared in the predictions' own type: whole numbers have none.
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _rows(array: NDArray[Any], axis: int) -> NDArray[Any]:
    return np.moveaxis(array, axis, -1).reshape(-1, array.shape[axis])


def _position_mask(
    mask: NDArray[np.bool_], shape: tuple[int, ...], axis: int
) -> NDArray[np.bool_] | None:
    positions = shape[:axis] + shape[axis + 1 :]
    with_axis = (*shape[:axis], 1, *shape[axis + 1 :])
    if mask.shape in (positions, with_axis):
        return mask.ravel()
    if mask.shape in ((shape[0],), (shape[0], 1)):
        # One value an example counts for all its positions.
        return np.repeat(mask.ravel(), int(np.prod(positions[1:])))
    return None


def _check_shapes(
    who: str, labels: FloatArray, predictions: FloatArray, axis: int
) -> None:
    if labels.shape != predictions.shape:
        raise ShapeError(
            f"{who}: labels and predictions must have the same shape, "
            f"got {labels.shape} and {predictions.shape}."
        )
    if not 2 <= labels.ndim <= 5 or axis >= labels.ndim:
        raise ShapeError(
            f"{who}: labels must have from 2 to 5 axes, outputs on axis {axis}, "
            f"got shape {labels.shape}."
        )


def _check_numbers(
    who: str, name: str, rows: FloatArray, output_mask: NDArray[np.bool_] | None
) -> None:
    wrong = np.isnan(rows)
    if output_mask is not None:
        wrong &= output_mask
    if (place := first_place(wrong)) is not None:
        row, column = place
        raise DataError(
            f"{who}: {name} must be numbers, got {int(wrong.sum())} NaN, the first in "
            f"row {row} of those that count, column {column}."
        )
