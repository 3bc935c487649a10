"""Gradient descent, plain and with momentum."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.updaters import Nesterovs, NoOp, Sgd
from daskdl.nn.updaters.moment import Moment, Rule


def noop(conf: NoOp, moment: Moment) -> Rule:
    """Return the rule that hands the gradient on."""

    def apply(g: FloatArray, state: FloatArray, scratch: FloatArray) -> None:
        return

    return apply


def sgd(conf: Sgd, moment: Moment) -> Rule:
    """Return ``u = learning_rate * g``."""
    rate = moment.value(conf.learning_rate)

    def apply(g: FloatArray, state: FloatArray, scratch: FloatArray) -> None:
        g *= rate

    return apply


def nesterovs(conf: Nesterovs, moment: Moment) -> Rule:
    """Return ``v' = mu v - lr g`` and ``u = mu v - (1 + mu) v'``.

    References
    ----------
    DL4J, ``org.nd4j.linalg.learning.NesterovsUpdater``: the form of Bengio et al.,
    "Advances in optimizing recurrent networks", section 3.5, eq. 7.
    """
    rate, mu = moment.value(conf.learning_rate), moment.value(conf.momentum)
    both = mu + moment.number(1)

    def apply(g: FloatArray, state: FloatArray, scratch: FloatArray) -> None:
        xp = array_namespace(g)
        (v,) = state
        v *= mu
        scratch[...] = v
        g *= rate
        v -= g
        xp.multiply(v, both, out=g)
        xp.subtract(scratch, g, out=g)

    return apply
