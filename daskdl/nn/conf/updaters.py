"""Which rule turns gradients into updates, and its constants. Values only.

:mod:`daskdl.nn.updaters` holds the arithmetic. A learning rate is a number or a
schedule.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

from pydantic import Field

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.kinds import UPDATER_KINDS, AnyOf
from daskdl.nn.conf.schedules import FractionSchedule, NonNegativeSchedule
from daskdl.nn.conf.values import Conf, Fraction, Positive


class Sgd(Conf):
    """Plain gradient descent: ``update = learning_rate * gradient``.

    Parameters
    ----------
    learning_rate : float or schedule
        Factor of the gradient.
    """

    type: Literal["sgd"] = "sgd"
    learning_rate: NonNegativeSchedule = Field(default=1e-3, kw_only=False)


class Nesterovs(Conf):
    """Gradient descent with Nesterov's momentum, which may be a schedule too.

    Parameters
    ----------
    learning_rate : float or schedule
        Factor of the gradient.
    momentum : float in [0, 1) or schedule
        Share of the last update that goes on.
    """

    type: Literal["nesterovs"] = "nesterovs"
    learning_rate: NonNegativeSchedule = Field(default=0.1, kw_only=False)
    momentum: FractionSchedule = 0.9


class _Moments(Conf):
    """What the relatives of Adam share: decay rates of the first and second moment.

    Parameters
    ----------
    learning_rate : float or schedule
        About how far a parameter moves in one step.
    beta1, beta2 : float in [0, 1)
        Decay rates of the mean gradient and the mean squared gradient.
    epsilon : float
        Keeps the quotient of both finite.
    """

    learning_rate: NonNegativeSchedule = Field(default=1e-3, kw_only=False)
    beta1: Fraction = 0.9
    beta2: Fraction = 0.999
    epsilon: Positive = 1e-8


class Adam(_Moments):
    """Adam; `epsilon` is added to the root of the uncorrected second moment."""

    type: Literal["adam"] = "adam"


class AMSGrad(_Moments):
    """Adam with the largest second moment so far."""

    type: Literal["amsgrad"] = "amsgrad"


class Nadam(_Moments):
    """Adam with Nesterov's momentum; the second moment is not corrected."""

    type: Literal["nadam"] = "nadam"


class AdaMax(_Moments):
    """Adam with the largest gradient in place of the second moment.

    `epsilon` is kept for files; the rule does not use it.
    """

    type: Literal["adamax"] = "adamax"


class AdaBelief(_Moments):
    """Adam with the squared distance of the gradient from its mean."""

    type: Literal["adabelief"] = "adabelief"
    epsilon: Positive = 1e-14


class AdaGrad(Conf):
    """AdaGrad, which divides by the root of the sum of squared gradients.

    Parameters
    ----------
    learning_rate : float or schedule
        Factor of the gradient over the root of the sum of squares.
    epsilon : float
        Keeps that quotient finite.
    """

    type: Literal["adagrad"] = "adagrad"
    learning_rate: NonNegativeSchedule = Field(default=0.1, kw_only=False)
    epsilon: Positive = 1e-6


class AdaDelta(Conf):
    """AdaDelta, which has no learning rate.

    Parameters
    ----------
    rho : float in [0, 1)
        Decay rate of both mean squares, of gradients and of updates.
    epsilon : float
        Added to both mean squares.
    """

    type: Literal["adadelta"] = "adadelta"
    rho: Fraction = 0.95
    epsilon: Positive = 1e-6


class RmsProp(Conf):
    """RMSProp, which divides by the root of a mean of squared gradients.

    Parameters
    ----------
    learning_rate : float or schedule
        Factor of the gradient over the root of the mean square.
    decay : float in [0, 1)
        Decay rate of the mean square.
    epsilon : float
        Added to the mean square.
    """

    type: Literal["rmsprop"] = "rmsprop"
    learning_rate: NonNegativeSchedule = Field(default=0.1, kw_only=False)
    decay: Fraction = 0.95
    epsilon: Positive = 1e-8


class NoOp(Conf):
    """The gradient itself is the update."""

    type: Literal["noop"] = "noop"


@dataclass(frozen=True)
class UpdateStep:
    """When an update happens.

    Attributes
    ----------
    iteration, epoch : int
        Iterations and epochs done before this one.
    learning_rate : float
        What the option or its schedule is worth now.
    """

    iteration: int
    epoch: int
    learning_rate: float


class UpdaterDefinition(Conf):
    """An updater of one's own: derive from it, and register it with `daskdl.updater`.

    Parameters
    ----------
    learning_rate : float or schedule
        Factor of the gradient, and of weight decay.

    Attributes
    ----------
    state : tuple of str
        What its state vectors are called, each as long as there are parameters; all
        begin with 0.
    """

    state: ClassVar[tuple[str, ...]] = ()

    type: str = ""
    learning_rate: NonNegativeSchedule = Field(default=1e-3, kw_only=False)

    def update(
        self, gradient: FloatArray, state: Mapping[str, FloatArray], step: UpdateStep
    ) -> FloatArray:
        """Return the update, the vector that is subtracted from the parameters.

        Parameters
        ----------
        gradient : ndarray of shape (n,), float32 or float64
            A stretch of the flat gradient; may be overwritten. Each number is to be
            treated by itself: where a stretch begins and ends may change.
        state : mapping of str to ndarray of shape (n,)
            To be brought forward in place: ``state["m"][...] = ...``.
        step : UpdateStep

        Returns
        -------
        update : ndarray of shape (n,)
            May be `gradient` itself.
        """
        raise TypeError(f"{type(self).__name__}: must have a method update.")


_Ours: TypeAlias = (
    Sgd
    | Nesterovs
    | Adam
    | AMSGrad
    | Nadam
    | AdaMax
    | AdaBelief
    | AdaGrad
    | AdaDelta
    | RmsProp
    | NoOp
)
Updater: TypeAlias = _Ours | UpdaterDefinition
UPDATERS: tuple[type[_Ours], ...] = get_args(_Ours)

UPDATER_KINDS.enter(UPDATERS)
AnyUpdater = Annotated[Updater, AnyOf(UPDATER_KINDS)]
