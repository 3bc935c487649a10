"""Which rule turns gradients into updates, and its constants. Values only.

The names and defaults are DL4J's; :mod:`daskdl.nn.updaters` holds the arithmetic.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from daskdl.nn.conf.values import Conf, Fraction, NonNegative, Positive, tagged


class Sgd(Conf):
    """Plain gradient descent: ``update = learning_rate * gradient``."""

    type: Literal["sgd"] = "sgd"
    learning_rate: NonNegative = 1e-3


class Nesterovs(Conf):
    """Gradient descent with Nesterov's momentum."""

    type: Literal["nesterovs"] = "nesterovs"
    learning_rate: NonNegative = 0.1
    momentum: Fraction = 0.9


class Adam(Conf):
    """Adam; `epsilon` is added to the root of the uncorrected second moment."""

    type: Literal["adam"] = "adam"
    learning_rate: NonNegative = 1e-3
    beta1: Fraction = 0.9
    beta2: Fraction = 0.999
    epsilon: Positive = 1e-8


class AdaGrad(Conf):
    """AdaGrad; its sums of squares begin at 1e-6 whatever `epsilon` is."""

    type: Literal["adagrad"] = "adagrad"
    learning_rate: NonNegative = 0.1
    epsilon: Positive = 1e-6


class RmsProp(Conf):
    """RMSProp; its mean squares begin at `epsilon`."""

    type: Literal["rmsprop"] = "rmsprop"
    learning_rate: NonNegative = 0.1
    decay: Fraction = 0.95
    epsilon: Positive = 1e-8


class NoOp(Conf):
    """The gradient itself is the update."""

    type: Literal["noop"] = "noop"


Updater: TypeAlias = Sgd | Nesterovs | Adam | AdaGrad | RmsProp | NoOp

AnyUpdater = Annotated[
    Updater,
    Field(discriminator="type"),
    BeforeValidator(tagged(Sgd, Nesterovs, Adam, AdaGrad, RmsProp, NoOp)),
]
