"""The points of ROC and precision/recall curves, from examples or from counts.

References
----------
``org.nd4j.evaluation.classification.ROC`` of Deeplearning4j 1.0.0-M2.1, checked
against curves that it computed.
"""

import numpy as np
from numpy.typing import NDArray

from daskdl.evaluation.curves import Counts, PrecisionRecallCurve, RocCurve, Row


def exact_roc(
    probability: Row, positive: Row, *, remove_redundant: bool, ties_apart: bool
) -> RocCurve:
    """Return a point a probability, from the largest one on.

    Parameters
    ----------
    probability : ndarray of shape (n,), float64
        Of the positive class.
    positive : ndarray of shape (n,), float64
        1.0 for a positive example, 0.0 for a negative one.
    remove_redundant : bool
        Leave out points between two of the same rate.
    ties_apart : bool
        Give examples of one probability a point each, in the order in which they came:
        the area depends on that order.

    Returns
    -------
    RocCurve
        With the points (0, 0) at threshold 1 and (1, 1) at threshold 0 at its ends.
    """
    order = _descending(probability)
    kept = _last_of_ties(probability[order], ties_apart=ties_apart)
    hits = np.cumsum(positive[order])[kept]
    misses = np.cumsum(1.0 - positive[order])[kept]
    threshold = np.concatenate([[1.0], probability[order][kept], [0.0]])
    fpr = np.concatenate([[0.0], _share(misses, misses[-1]), [1.0]])
    tpr = np.concatenate([[0.0], _share(hits, hits[-1]), [1.0]])
    needed = _needed(fpr, tpr) if remove_redundant else slice(None)
    return RocCurve(threshold[needed], fpr[needed], tpr[needed])


def exact_precision_recall(
    probability: Row, positive: Row, *, remove_redundant: bool, ties_apart: bool
) -> PrecisionRecallCurve:
    """Return a point a probability, from the least one on.

    See :func:`exact_roc`; the ends are precision 1 and recall 0 at threshold 1, and
    the share of positives and recall 1 at threshold 0.
    """
    n = probability.size
    order = _descending(probability)
    kept = _last_of_ties(probability[order], ties_apart=ties_apart)
    hits = np.cumsum(positive[order])[kept]
    ranks = np.arange(1, n + 1)[kept]
    n_positive = int(hits[-1])
    threshold = np.concatenate([[1.0], probability[order][kept], [0.0]])
    precision = np.concatenate([[1.0], hits / _ranks(n)[kept], [hits[-1] / n]])
    recall = np.concatenate([[0.0], _share(hits, hits[-1]), [1.0]])
    tp = np.concatenate([[0], hits.astype(np.int64), [n_positive]])
    fp = np.concatenate([[0], ranks, [n]]) - tp
    fn = n_positive - tp
    rising = slice(None, None, -1)
    precision, recall = precision[rising], recall[rising]
    needed = _needed(precision, recall) if remove_redundant else slice(None)
    return PrecisionRecallCurve(
        threshold[rising][needed],
        precision[needed],
        recall[needed],
        tp[rising][needed],
        fp[rising][needed],
        fn[rising][needed],
        n,
    )


def thresholded_roc(
    threshold: Row, tp: Counts, fp: Counts, *, n_positive: int, n_negative: int
) -> RocCurve:
    """Return the ROC curve of counts at some thresholds.

    Parameters
    ----------
    threshold : ndarray of shape (points,), float64
        Ascending.
    tp, fp : ndarray of shape (points,), int64
        True and false positives at each threshold.
    n_positive, n_negative : int
        Examples of either class; a rate of 0 / 0 is NaN.
    """
    fpr = _share(fp.astype(np.float64), n_negative)
    return RocCurve(threshold, fpr, _share(tp.astype(np.float64), n_positive))


def thresholded_precision_recall(
    threshold: Row, tp: Counts, fp: Counts, *, n_positive: int, n_total: int
) -> PrecisionRecallCurve:
    """Return a point a threshold; see :func:`thresholded_roc`.

    Where nothing is predicted positive the precision is 1; without any positive
    example the recall is 1.
    """
    predicted = tp + fp
    precision = np.ones(tp.shape)
    np.divide(tp, predicted, out=precision, where=predicted != 0)
    recall = tp / n_positive if n_positive else np.ones(tp.shape)
    return PrecisionRecallCurve(
        threshold, precision, recall, tp.copy(), fp.copy(), n_positive - tp, n_total
    )


def examples_of(
    curve: PrecisionRecallCurve, *, has_all_points: bool
) -> tuple[Row, Row] | None:
    """Return probabilities and classes of an exact curve that kept all its points.

    Parameters
    ----------
    curve : PrecisionRecallCurve
    has_all_points : bool
        Whether a point of several examples is one of equal probabilities. Else points
        may have been left out in front of it.

    Returns
    -------
    (probability, positive) : ndarray of shape (n,), float64
        As :func:`exact_precision_recall` takes them, or None if points are missing.
    """
    n = curve.total_count
    # The ends are no examples.
    probability = curve.threshold[-2:0:-1]
    n_positive = np.diff(curve.tp_count[::-1][:-1])
    n_negative = np.diff(curve.fp_count[::-1][:-1])
    each = n_positive + n_negative
    if n < 1 or each.sum() != n or min(n_positive.min(), n_negative.min()) < 0:
        return None
    if not has_all_points and (each != 1).any():
        return None
    classes = np.tile([1.0, 0.0], probability.size)
    counts = np.stack([n_positive, n_negative], axis=1)
    return np.repeat(probability, each), np.repeat(classes, counts.ravel())


def _descending(probability: Row) -> NDArray[np.intp]:
    return np.argsort(-probability, kind="stable")


def _last_of_ties(descending: Row, *, ties_apart: bool) -> slice | NDArray[np.bool_]:
    """Return which examples end a run of equal probabilities; all, if apart."""
    if ties_apart:
        return slice(None)
    differs: NDArray[np.bool_] = descending[1:] != descending[:-1]
    return np.append(differs, True)


def _share(counts: Row, total: float) -> Row:
    share = np.full(counts.shape, np.nan)
    np.divide(counts, total, out=share, where=total != 0)
    return share


def _ranks(n: int) -> Row:
    # ND4J's linspace mixes both ends, so 12 of 40 is 11.999999999999998: its precision
    # of 12 hits in 12 is 1.0000000000000002, and is not redundant beside 1.0.
    share = np.arange(n) / max(n - 1, 1)
    return 1.0 * (1 - share) + n * share


def _needed(x: Row, y: Row) -> NDArray[np.bool_]:
    needed = np.ones(x.shape, np.bool_)
    same_x, same_y = x[1:] == x[:-1], y[1:] == y[:-1]
    needed[1:-1] = ~(same_x[1:] & same_x[:-1]) & ~(same_y[1:] & same_y[:-1])
    return needed
