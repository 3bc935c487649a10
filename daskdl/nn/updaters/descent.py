"""Gradient descent, plain and with momentum."""

from daskdl.kernels.updater import Rule
from daskdl.nn.conf.updaters import Nesterovs, NoOp, Sgd
from daskdl.nn.updaters.moment import Moment


def noop(conf: NoOp, moment: Moment) -> Rule:
    """Return the rule that hands the gradient on."""
    return Rule("noop")


def sgd(conf: Sgd, moment: Moment) -> Rule:
    """Return ``u = learning_rate * g``."""
    rate = moment.value(conf.learning_rate)
    return Rule("sgd", (rate,))


def nesterovs(conf: Nesterovs, moment: Moment) -> Rule:
    """Return ``v' = mu v - lr g`` and ``u = mu v - (1 + mu) v'``.

    References
    ----------
    DL4J, ``org.nd4j.linalg.learning.NesterovsUpdater``: the form of Bengio et al.,
    "Advances in optimizing recurrent networks", section 3.5, eq. 7.
    """
    rate, mu = moment.value(conf.learning_rate), moment.value(conf.momentum)
    return Rule("nesterovs", (rate, mu))
