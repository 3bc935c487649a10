"""Adam and its relatives, which follow a decaying mean of the gradients."""

import numpy as np

from daskdl.kernels.updater import Rule
from daskdl.nn.conf.updaters import AdaBelief, Adam, AdaMax, AMSGrad, Nadam
from daskdl.nn.updaters.update_context import Number, UpdateContext

# What is added to AdaMax's norm, so that a gradient of 0 is not divided by 0.
_NORM_FLOOR = 1e-32


def adam(conf: Adam, context: UpdateContext) -> Rule:
    """Return ``u = a m / (sqrt(v) + eps)``.

    ``m = beta1 m + (1 - beta1) g``, ``v = beta2 v + (1 - beta2) g^2`` and
    ``a = lr sqrt(1 - beta2^t) / (1 - beta1^t)``: epsilon is added to the root of the
    uncorrected v, as in the last lines of section 2 of the paper.

    References
    ----------
    D. Kingma, J. Ba, "Adam", https://arxiv.org/abs/1412.6980; DL4J,
    ``org.nd4j.linalg.learning.AdamUpdater``.
    """
    beta1, beta2 = context.number(conf.beta1), context.number(conf.beta2)
    epsilon, rate = context.number(conf.epsilon), _corrected_rate(conf, context)
    return Rule("adam", (beta1, beta2, rate, epsilon))


def amsgrad(conf: AMSGrad, context: UpdateContext) -> Rule:
    """Return Adam's rule with the largest v so far in place of v.

    References
    ----------
    S. Reddi et al., "On the convergence of Adam and beyond",
    https://arxiv.org/abs/1904.09237, algorithm 2, and Adam's correction of bias; DL4J,
    ``org.nd4j.linalg.learning.AMSGradUpdater``.
    """
    beta1, beta2 = context.number(conf.beta1), context.number(conf.beta2)
    epsilon, rate = context.number(conf.epsilon), _corrected_rate(conf, context)
    return Rule("amsgrad", (beta1, beta2, rate, epsilon))


def nadam(conf: Nadam, context: UpdateContext) -> Rule:
    """Return ``u = lr (beta1 m + (1 - beta1) g) / (1 - beta1^t) / (sqrt(v) + eps)``.

    References
    ----------
    T. Dozat, "Incorporating Nesterov momentum into Adam"; DL4J,
    ``org.nd4j.linalg.learning.NadamUpdater``, which corrects the bias of m and not that
    of v.
    """
    beta1, beta2 = context.number(conf.beta1), context.number(conf.beta2)
    epsilon, rate = context.number(conf.epsilon), context.value(conf.learning_rate)
    correction = context.number(1 - float(beta1**context.t))
    return Rule("nadam", (beta1, beta2, rate, correction, epsilon))


def adamax(conf: AdaMax, context: UpdateContext) -> Rule:
    """Return ``u = lr / (1 - beta1^t) m / s`` with ``s = max(beta2 s, |g|) + 1e-32``.

    References
    ----------
    D. Kingma, J. Ba, "Adam", https://arxiv.org/abs/1412.6980, algorithm 2; DL4J,
    ``org.nd4j.linalg.learning.AdaMaxUpdater``.
    """
    beta1, beta2 = context.number(conf.beta1), context.number(conf.beta2)
    floor = context.number(_NORM_FLOOR)
    correction = 1 - float(beta1**context.t)
    rate = _quotient(
        conf, float(context.value(conf.learning_rate)), correction, context
    )
    return Rule("adamax", (beta1, beta2, rate, floor))


def adabelief(conf: AdaBelief, context: UpdateContext) -> Rule:
    """Return Adam's rule with ``s = beta2 s + (1 - beta2) (g - m)^2 + eps`` for v.

    References
    ----------
    J. Zhuang et al., "AdaBelief optimizer", https://arxiv.org/abs/2010.07468,
    algorithm 2, with epsilon as in Adam; the native updater of DL4J. DL4J 1.0.0-M2.1
    itself cannot build a network with it.
    """
    beta1, beta2 = context.number(conf.beta1), context.number(conf.beta2)
    epsilon, rate = context.number(conf.epsilon), _corrected_rate(conf, context)
    return Rule("adabelief", (beta1, beta2, rate, epsilon))


def _corrected_rate(conf: Adam | AMSGrad | AdaBelief, context: UpdateContext) -> Number:
    """Return ``lr sqrt(1 - beta2^t) / (1 - beta1^t)`` in the type of the arrays."""
    beta1, beta2 = context.number(conf.beta1), context.number(conf.beta2)
    root = np.sqrt(context.number(1 - float(beta2**context.t)))
    rate = context.value(conf.learning_rate) * root
    correction = 1 - float(beta1**context.t)
    return _quotient(conf, float(rate), correction, context)


def _quotient(
    conf: Adam | AMSGrad | AdaBelief | AdaMax,
    rate: float,
    correction: float,
    context: UpdateContext,
) -> Number:
    """Return ``rate / correction``; 0 where the means stay 0 because beta is 1."""
    quotient = context.number(rate / correction if correction else 0.0)
    is_usable = quotient != 0 and np.isfinite(quotient)
    if is_usable or "epsilon_for_rate" not in conf.quirks:
        return quotient
    return context.number(conf.epsilon)
