"""L1, L2 and weight decay: their parts of gradient, update and score."""

from dataclasses import dataclass

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.regularization import WeightDecay
from daskdl.nn.conf.schedules import Schedule, value_at


@dataclass(frozen=True)
class Penalty:
    """The options of one parameter.

    Parameters
    ----------
    l1, l2 : float or schedule
        ``l1 * sign(w) + l2 * w`` is added to the gradient, before the updater.
    weight_decays : tuple of WeightDecay
        Each adds ``coefficient * learning_rate * w`` to the update, after the updater,
        or the same without the learning rate.
    """

    l1: float | Schedule = 0.0
    l2: float | Schedule = 0.0
    weight_decays: tuple[WeightDecay, ...] = ()

    @property
    def acts_on_gradient(self) -> bool:
        """Whether L1 or L2 is added to the gradient, before the updater."""
        return self.l1 != 0 or self.l2 != 0

    @property
    def acts_on_update(self) -> bool:
        """Whether weight decay is added to the update, after the updater."""
        return bool(self.weight_decays)


def add_to_gradient(
    penalty: Penalty,
    gradient: FloatArray,
    param: FloatArray,
    scratch: FloatArray,
    *,
    iteration: int = 0,
    epoch: int = 0,
) -> None:
    """Add the gradient of L1 and L2 to `gradient`, in place.

    Parameters
    ----------
    penalty : Penalty
        Whose weight decay is not looked at.
    gradient, param, scratch : ndarray of shape (n,)
        `gradient` and `scratch` are overwritten.
    iteration, epoch : int
        At which schedules are read.
    """
    xp = array_namespace(gradient)
    l1 = value_at(penalty.l1, iteration, epoch)
    l2 = value_at(penalty.l2, iteration, epoch)
    if l1:
        xp.sign(param, out=scratch)
        scratch *= l1
        gradient += scratch
    if l2:
        xp.multiply(param, l2, out=scratch)
        gradient += scratch


def add_to_update(
    penalty: Penalty,
    update: FloatArray,
    param: FloatArray,
    scratch: FloatArray,
    *,
    learning_rate: float,
    iteration: int = 0,
    epoch: int = 0,
) -> None:
    """Add the weight decay to `update`, in place.

    Parameters
    ----------
    penalty : Penalty
        Whose L1 and L2 are not looked at.
    update, param, scratch : ndarray of shape (n,)
        `update` and `scratch` are overwritten.
    learning_rate : float
        Of the updater, now; 1 if it has none.
    iteration, epoch : int
        At which schedules are read.
    """
    xp = array_namespace(update)
    for decay in penalty.weight_decays:
        share = value_at(decay.coefficient, iteration, epoch)
        if decay.apply_learning_rate:
            share *= learning_rate
        xp.multiply(param, share, out=scratch)
        update += scratch


def score_term(
    penalty: Penalty, param: FloatArray, *, iteration: int = 0, epoch: int = 0
) -> float:
    """Return ``l1 sum|w| + (l2 + weight decay) / 2 sum w^2``.

    Parameters
    ----------
    penalty : Penalty
        Schedules in it are read at `iteration` and `epoch`.
    param : ndarray of shape (n,)
        One parameter.

    Notes
    -----
    Weight decay that is in it counts as if it were L2.
    """
    xp = array_namespace(param)
    l1 = value_at(penalty.l1, iteration, epoch)
    square = value_at(penalty.l2, iteration, epoch) + sum(
        value_at(decay.coefficient, iteration, epoch) for decay in penalty.weight_decays
    )
    term = 0.0
    if l1:
        term += l1 * float(xp.abs(param).sum(dtype=xp.float64))
    if square:
        term += 0.5 * square * float(xp.dot(param, param))
    return term
