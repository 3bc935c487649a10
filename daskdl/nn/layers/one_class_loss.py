"""The loss of a one-class network, and the scores that its threshold follows from."""

import math
from collections.abc import Mapping

from daskdl.arrays.namespace import FloatArray, array_namespace, to_host


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
    """The scores that a network has seen, and the threshold that follows from them.

    In the first epoch the scores of all minibatches are kept one behind the other,
    while there is room. With each later epoch the threshold becomes their percentile,
    and from then on the scores of each minibatch take the place of the first ones.
    Room that nothing was put into counts as scores of 0. All of it is as in DL4J.

    Parameters
    ----------
    size : int
        How many scores there is room for.
    nu : float in (0, 1]
        Which share of the scores lies below the threshold.

    Attributes
    ----------
    threshold : float or None
        What the threshold becomes in this iteration; None leaves it as it is.
    """

    def __init__(self, size: int, nu: float) -> None:
        self._size = size
        self._nu = nu
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
        if is_new and self._kept is not None:
            self._is_first_epoch = False
            self.threshold = percentile(self._kept, self._nu)

    def put(self, scores: FloatArray) -> None:
        """Keep the scores of a minibatch, shape (batch, 1), while there is room."""
        if self._kept is None:
            self._kept = array_namespace(scores).zeros(self._size, scores.dtype)
        start = self._end if self._is_first_epoch else 0
        part = self._kept[start : start + len(scores)]
        part[...] = scores[: len(part), 0]
        self._end = start + len(scores)


def percentile(values: FloatArray, share: float) -> float:
    """Return what a share of the values lies below, as ND4J computes it.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Not changed.
    share : float from 0 to 1
        Below one hundredth it is taken for 0, as in ND4J.

    Notes
    -----
    Between values it interpolates at ``share * (n + 1)``, counted from 1.
    """
    ordered = to_host(array_namespace(values).sort(values))
    position = 100 * share / 100 * (len(ordered) + 1)
    if int(100 * share) == 0 or position < 1:
        return float(ordered[0])
    if int(100 * share) == 100 or position >= len(ordered):
        return float(ordered[-1])
    place = math.floor(position)
    lower, upper = float(ordered[place - 1]), float(ordered[place])
    return lower + (position - place) * (upper - lower)
