"""Updaters that divide by the root of squared gradients."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.updaters import AdaDelta, AdaGrad, RmsProp
from daskdl.nn.updaters.moment import Moment, Number, Rule


def adagrad(conf: AdaGrad, moment: Moment) -> Rule:
    """Return ``h += g^2`` and ``u = lr g / (sqrt(h) + eps)``.

    References
    ----------
    J. Duchi et al., "Adaptive subgradient methods", JMLR 12; DL4J,
    ``org.nd4j.linalg.learning.AdaGradUpdater``.
    """
    rate, epsilon = moment.value(conf.learning_rate), moment.number(conf.epsilon)

    def apply(g: FloatArray, state: FloatArray, scratch: FloatArray) -> None:
        (h,) = state
        array_namespace(g).multiply(g, g, out=scratch)
        h += scratch
        g *= rate
        _divide_by_root(g, h, epsilon, scratch)

    return apply


def rmsprop(conf: RmsProp, moment: Moment) -> Rule:
    """Return ``s = d s + (1 - d) g^2`` and ``u = lr g / (sqrt(s) + eps)``.

    References
    ----------
    G. Hinton, "Neural networks for machine learning", lecture 6e; DL4J,
    ``org.nd4j.linalg.learning.RmsPropUpdater``.
    """
    rate, epsilon = moment.value(conf.learning_rate), moment.number(conf.epsilon)
    decay = moment.number(conf.decay)

    def apply(g: FloatArray, state: FloatArray, scratch: FloatArray) -> None:
        (s,) = state
        _follow_squares(g, s, decay, scratch)
        g *= rate
        _divide_by_root(g, s, epsilon, scratch)

    return apply


def adadelta(conf: AdaDelta, moment: Moment) -> Rule:
    """Return ``u = g sqrt(d + eps) / sqrt(s + eps)``.

    ``s = rho s + (1 - rho) g^2``, and afterwards ``d = rho d + (1 - rho) u^2``.

    References
    ----------
    M. Zeiler, "ADADELTA", https://arxiv.org/abs/1212.5701, algorithm 1; DL4J,
    ``org.nd4j.linalg.learning.AdaDeltaUpdater``.
    """
    rho, epsilon = moment.number(conf.rho), moment.number(conf.epsilon)

    def apply(g: FloatArray, state: FloatArray, scratch: FloatArray) -> None:
        xp = array_namespace(g)
        s, d = state
        _follow_squares(g, s, rho, scratch)
        xp.add(s, epsilon, out=scratch)
        xp.sqrt(scratch, out=scratch)
        g /= scratch
        xp.add(d, epsilon, out=scratch)
        xp.sqrt(scratch, out=scratch)
        g *= scratch
        _follow_squares(g, d, rho, scratch)

    return apply


def _follow_squares(
    g: FloatArray, squares: FloatArray, decay: Number, scratch: FloatArray
) -> None:
    """Compute ``squares = decay squares + (1 - decay) g^2``."""
    squares *= decay
    array_namespace(g).multiply(g, g, out=scratch)
    scratch *= 1 - decay
    squares += scratch


def _divide_by_root(
    g: FloatArray, squares: FloatArray, epsilon: Number, scratch: FloatArray
) -> None:
    array_namespace(g).sqrt(squares, out=scratch)
    scratch += epsilon
    g /= scratch
