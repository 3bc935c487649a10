"""Running sums of a regression, which its JSON holds, and metrics from them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daskdl.evaluation.moments import PairMoments

Columns = NDArray[np.float64]
Sums = dict[str, Columns]

# The running sums, one row each.
SUMS = (
    "count",
    "labels",
    "squared_errors",
    "abs_errors",
    "mean_label",
    "mean_prediction",
    "products",
    "squared_labels",
    "squared_predictions",
)


class Deviations(NamedTuple):
    """Sums of squares for R², correlation and RSE, a number a column.

    Attributes
    ----------
    errors : ndarray of shape (n_columns,), float64
        Σ(p - l)².
    labels, predictions : ndarray of shape (n_columns,), float64
        Σ(l - mean l)² and Σ(p - mean p)².
    products : ndarray of shape (n_columns,), float64
        Σ(l - mean l)(p - mean p).
    total : ndarray of shape (n_columns,), float64
        `labels` in the form that R² takes.
    """

    errors: Columns
    labels: Columns
    predictions: Columns
    products: Columns
    total: Columns


def sums_of(
    labels: Columns, predictions: Columns, kept: NDArray[np.bool_] | None
) -> Sums:
    """Return the sums of a batch.

    Parameters
    ----------
    labels, predictions : ndarray of shape (rows, n_columns), float64
    kept : ndarray of shape (rows, n_columns), bool, or None
        Which values count; None for all.
    """
    count = np.full(labels.shape[1], float(labels.shape[0]))
    if kept is not None:
        labels, predictions = np.where(kept, labels, 0), np.where(kept, predictions, 0)
        count = kept.sum(axis=0).astype(np.float64)
    error = predictions - labels
    label_sum, prediction_sum = labels.sum(axis=0), predictions.sum(axis=0)
    at_least_one = np.maximum(count, 1)
    return {
        "count": count,
        "labels": label_sum,
        "squared_errors": (error * error).sum(axis=0),
        "abs_errors": np.abs(error).sum(axis=0),
        "mean_label": label_sum / at_least_one,
        "mean_prediction": prediction_sum / at_least_one,
        "products": (labels * predictions).sum(axis=0),
        "squared_labels": (labels * labels).sum(axis=0),
        "squared_predictions": (predictions * predictions).sum(axis=0),
    }


def merged_sums(ours: Sums, more: Sums) -> Sums:
    """Return the sums of both parts, and the means weighted by their counts."""
    before, added_count = ours["count"], more["count"]
    after = before + added_count
    both = {name: ours[name] + more[name] for name in SUMS}
    for name in ("mean_label", "mean_prediction"):
        weighted = ours[name] * before + more[name] * added_count
        both[name] = np.divide(
            weighted, after, out=np.zeros_like(after), where=after > 0
        )
    return both


def deviations_of(sums: Sums) -> Deviations:
    """Return the deviations of DL4J's sums, computed as DL4J does.

    Where a mean is large against the spread, hardly a digit of it is right.
    """
    n, squared_labels = sums["count"], sums["squared_labels"]
    label, prediction = sums["mean_label"], sums["mean_prediction"]
    squared_predictions, products = sums["squared_predictions"], sums["products"]
    return Deviations(
        errors=squared_predictions - 2 * products + squared_labels,
        labels=squared_labels - n * label * label,
        predictions=squared_predictions - n * prediction * prediction,
        products=products - n * prediction * label,
        total=squared_labels + label * (n * label - 2 * sums["labels"]),
    )


def moments_of(sums: Sums) -> PairMoments:
    """Return the moments that sums alone can tell; see :func:`deviations_of`."""
    found = deviations_of(sums)
    # Rounding may leave what no data have.
    labels, predictions = np.maximum(found.labels, 0), np.maximum(found.predictions, 0)
    most = np.sqrt(labels) * np.sqrt(predictions)
    products = np.clip(found.products, -most, most)
    means = sums["mean_label"], sums["mean_prediction"]
    return PairMoments(sums["count"], *means, labels, predictions, products)
