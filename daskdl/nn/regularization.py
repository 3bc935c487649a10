"""L1, L2 and weight decay: what they add to gradient, update and score."""

from dataclasses import dataclass

from daskdl.arrays.namespace import FloatArray, array_namespace


@dataclass(frozen=True)
class Penalty:
    """The coefficients of one parameter.

    Parameters
    ----------
    l1, l2 : float
        ``l1 * sign(w) + l2 * w`` is added to the gradient, before the updater.
    weight_decay : float
        ``weight_decay * learning_rate * w`` is added to the update, after it.
    """

    l1: float = 0.0
    l2: float = 0.0
    weight_decay: float = 0.0


def add_to_gradient(
    penalty: Penalty, gradient: FloatArray, param: FloatArray, scratch: FloatArray
) -> None:
    """Add the gradient of L1 and L2 to `gradient`, in place.

    Parameters
    ----------
    penalty : Penalty
        Whose `weight_decay` is not looked at.
    gradient, param, scratch : ndarray of shape (n,)
        `gradient` and `scratch` are overwritten.
    """
    xp = array_namespace(gradient)
    if penalty.l1:
        xp.sign(param, out=scratch)
        scratch *= penalty.l1
        gradient += scratch
    if penalty.l2:
        xp.multiply(param, penalty.l2, out=scratch)
        gradient += scratch


def add_to_update(
    penalty: Penalty,
    update: FloatArray,
    param: FloatArray,
    scratch: FloatArray,
    *,
    learning_rate: float,
) -> None:
    """Add the weight decay to `update`, in place."""
    if not penalty.weight_decay:
        return
    xp = array_namespace(update)
    xp.multiply(param, penalty.weight_decay * learning_rate, out=scratch)
    update += scratch


def score_term(penalty: Penalty, param: FloatArray) -> float:
    """Return ``l1 sum|w| + (l2 + weight_decay) / 2 sum w^2``.

    Notes
    -----
    DL4J counts weight decay in the score as if it were L2.
    """
    xp = array_namespace(param)
    term = 0.0
    if penalty.l1:
        term += penalty.l1 * float(xp.abs(param).sum(dtype=xp.float64))
    square = penalty.l2 + penalty.weight_decay
    if square:
        term += 0.5 * square * float(xp.dot(param, param))
    return term
