"""The loss of a one-class network, and the scores that its threshold follows from."""

import math
from collections.abc import Mapping

from daskdl.arrays.namespace import FloatArray, array_namespace, to_host
from daskdl.dialects import Quirks


def one_class_score(
    scores: FloatArray, w: FloatArray, v: FloatArray, r: float, *, nu: float
) -> float:
    """Return ``|w|^2 / 2 + |v|^2 / 2 + mean(max(0, r - scores)) / nu - r``.

    Parameters
    ----------
    scores : ndarray of shape (batch, 1)
        What came out.
    w, v : ndarray
        All weights.
    r : float
        What normal examples score at least.
    nu : float in (0, 1]
        About the share of anomalies.
    """
    xp = array_namespace(scores)
    squares = float((w * w).sum() + (v * v).sum()) / 2
    return squares + float(xp.maximum(r - scores, 0).mean()) / nu - r


def summed_one_class_score(
    scores: FloatArray,
    share: FloatArray,
    w: FloatArray,
    v: FloatArray,
    r: FloatArray,
    *,
    nu: float,
) -> float:
    """Return the sum over examples of ``(|w|^2 + |v|^2) / 2 + max(0, r - s) / nu - r``.

    Parameters
    ----------
    scores : ndarray of shape (batch, 1)
        What came out.
    share : ndarray of shape (batch, 1)
        How much each example counts.
    w, v, r : ndarray
        All weights, and of shape (1,) what normal examples score at least.
    nu : float in (0, 1]
        About the share of anomalies.
    """
    xp = array_namespace(scores)
    of_all = float((w * w).sum() + (v * v).sum()) / 2 - float(r[0])
    missing = float((xp.maximum(r - scores, 0) * share).sum())
    return float(share.sum()) * of_all + missing / nu


def one_class_gradients(
    rows: FloatArray,
    hidden: FloatArray,
    slopes: FloatArray,
    scores: FloatArray,
    params: Mapping[str, FloatArray],
    *,
    nu: float,
    gradients: Mapping[str, FloatArray],
) -> FloatArray:
    """Write the gradients of :func:`one_class_score` in w, v and r.

    Parameters
    ----------
    rows : ndarray of shape (batch, n_in)
        What came in.
    hidden : ndarray of shape (batch, hidden_size)
        ``activation(rows @ v)``.
    slopes : ndarray like hidden
        The slope of the activation. Overwritten.
    scores : ndarray of shape (batch, 1)
        ``hidden @ w.T``.
    params, gradients : mapping of str to ndarray
        With w (1, hidden_size), v (n_in, hidden_size) and r (1,).
    nu : float in (0, 1]
        About the share of anomalies.

    Returns
    -------
    is_below : ndarray of shape (batch, 1)
        1 for what scores less than r, else 0: the slope of the maximum.
    """
    xp = array_namespace(rows)
    is_below = (scores < params["r"]).astype(scores.dtype)
    factor = 1 / (nu * len(rows))
    xp.matmul(is_below.T, hidden, out=gradients["w"])
    slopes *= params["w"]
    slopes *= is_below
    xp.matmul(rows.T, slopes, out=gradients["v"])
    for name in ("w", "v"):
        gradient = gradients[name]
        gradient *= -factor
        gradient += params[name]
    gradients["r"][...] = is_below.mean() / nu - 1
    return is_below


class ScoreWindow:
    """The scores of an epoch, and the threshold that follows from them for the next.

    When there is no room left, the last scores take the place of the first ones.

    With the quirk ``scores_overwrite_the_first`` all scores of the first epoch are
    kept while there is room; from then on those of each minibatch take the place of
    the first ones. Room that nothing was put into counts as scores of 0.

    Parameters
    ----------
    size : int
        How many scores there is room for.
    nu : float in (0, 1]
        Which share of the scores lies below the threshold.
    quirks : frozenset of str
        See :mod:`daskdl.dialects`.

    Attributes
    ----------
    threshold : float or None
        What the threshold becomes in this iteration; None leaves it as it is.
    """

    def __init__(self, size: int, nu: float, quirks: Quirks = frozenset()) -> None:
        self._size = size
        self._nu = nu
        self._overwrites = "scores_overwrite_the_first" in quirks
        self._floors = "small_percentiles_are_minima" in quirks
        self._kept: FloatArray | None = None
        self._end = 0
        self._epoch: int | None = None
        self._is_first_epoch = True
        self.threshold: float | None = None

    def begin_iteration(self, epoch: int) -> None:
        """Set :attr:`threshold` if this is another epoch than before."""
        self.threshold = None
        is_new = self._epoch is not None and epoch != self._epoch
        self._epoch = epoch
        if not is_new or self._kept is None or not self._end:
            return
        self._is_first_epoch = False
        kept = self._kept if self._overwrites else self._kept[: self._end]
        self.threshold = percentile(kept, self._nu, floors=self._floors)
        if not self._overwrites:
            self._end = 0

    def put(self, scores: FloatArray) -> None:
        """Keep the scores of a minibatch, shape (batch, 1)."""
        if self._kept is None:
            self._kept = array_namespace(scores).zeros(self._size, scores.dtype)
        if self._overwrites:
            self._overwrite(self._kept, scores)
            return
        scores = scores[-self._size :, 0]
        places = (self._end + array_namespace(scores).arange(len(scores))) % self._size
        self._kept[places] = scores
        self._end += len(scores)

    def _overwrite(self, kept: FloatArray, scores: FloatArray) -> None:
        start = self._end if self._is_first_epoch else 0
        part = kept[start : start + len(scores)]
        part[...] = scores[: len(part), 0]
        self._end = start + len(scores)


def percentile(values: FloatArray, share: float, *, floors: bool = False) -> float:
    """Return a percentile: the value that a share of the values lies below.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Not changed.
    share : float from 0 to 1
        Of the values.
    floors : bool
        Whether less than one hundredth is taken for 0.

    Notes
    -----
    Between values it interpolates at ``share * (n + 1)``, counted from 1.
    """
    ordered = to_host(array_namespace(values).sort(values))
    position = 100 * share / 100 * (len(ordered) + 1)
    if position < 1 or (floors and int(100 * share) == 0):
        return float(ordered[0])
    if position >= len(ordered):
        return float(ordered[-1])
    place = math.floor(position)
    lower, upper = float(ordered[place - 1]), float(ordered[place])
    return lower + (position - place) * (upper - lower)
