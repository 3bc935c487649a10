"""Updaters that divide by the root of squared gradients."""

from daskdl.kernels.updater import Rule
from daskdl.nn.conf.updaters import AdaDelta, AdaGrad, RmsProp
from daskdl.nn.updaters.update_context import UpdateContext


def adagrad(conf: AdaGrad, context: UpdateContext) -> Rule:
    """Return ``h += g^2`` and ``u = lr g / (sqrt(h) + eps)``.

    References
    ----------
    J. Duchi et al., "Adaptive subgradient methods", JMLR 12; DL4J,
    ``org.nd4j.linalg.learning.AdaGradUpdater``.
    """
    rate, epsilon = context.value(conf.learning_rate), context.number(conf.epsilon)
    return Rule("adagrad", (rate, epsilon))


def rmsprop(conf: RmsProp, context: UpdateContext) -> Rule:
    """Return ``s = d s + (1 - d) g^2`` and ``u = lr g / (sqrt(s) + eps)``.

    References
    ----------
    G. Hinton, "Neural networks for machine learning", lecture 6e; DL4J,
    ``org.nd4j.linalg.learning.RmsPropUpdater``.
    """
    rate, epsilon = context.value(conf.learning_rate), context.number(conf.epsilon)
    decay = context.number(conf.decay)
    return Rule("rmsprop", (decay, rate, epsilon))


def adadelta(conf: AdaDelta, context: UpdateContext) -> Rule:
    """Return ``u = g sqrt(d + eps) / sqrt(s + eps)``.

    ``s = rho s + (1 - rho) g^2``, and afterwards ``d = rho d + (1 - rho) u^2``.

    References
    ----------
    M. Zeiler, "ADADELTA", https://arxiv.org/abs/1212.5701, algorithm 1; DL4J,
    ``org.nd4j.linalg.learning.AdaDeltaUpdater``.
    """
    rho, epsilon = context.number(conf.rho), context.number(conf.epsilon)
    return Rule("adadelta", (rho, epsilon))
