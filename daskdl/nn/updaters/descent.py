"""Gradient descent, plain and with momentum."""

from daskdl.kernels.updater import Rule
from daskdl.nn.conf.updaters import Nesterovs, NoOp, Sgd
from daskdl.nn.updaters.update_context import UpdateContext


def noop(conf: NoOp, context: UpdateContext) -> Rule:
    """Return the rule that hands the gradient on."""
    return Rule("noop")


def sgd(conf: Sgd, context: UpdateContext) -> Rule:
    """Return ``u = learning_rate * g``."""
    rate = context.value(conf.learning_rate)
    return Rule("sgd", (rate,))


def nesterovs(conf: Nesterovs, context: UpdateContext) -> Rule:
    """Return ``v' = mu v - lr g`` and ``u = mu v - (1 + mu) v'``.

    References
    ----------
    DL4J, ``org.nd4j.linalg.learning.NesterovsUpdater``: the form of Bengio et al.,
    "Advances in optimizing recurrent networks", section 3.5, eq. 7.
    """
    rate, mu = context.value(conf.learning_rate), context.value(conf.momentum)
    return Rule("nesterovs", (rate, mu))
