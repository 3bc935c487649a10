"""Adam and its relatives, which follow a decaying mean of the gradients."""

import numpy as np

from daskdl.kernels.updater import Rule
from daskdl.nn.conf.updaters import AdaBelief, Adam, AdaMax, AMSGrad, Nadam
from daskdl.nn.updaters.moment import Moment, Number

# What is added to AdaMax's norm, so that a gradient of 0 is not divided by 0.
_NORM_FLOOR = 1e-32


def adam(conf: Adam, moment: Moment) -> Rule:
    """Return ``u = a m / (sqrt(v) + eps)``.

    ``m = beta1 m + (1 - beta1) g``, ``v = beta2 v + (1 - beta2) g^2`` and
    ``a = lr sqrt(1 - beta2^t) / (1 - beta1^t)``: epsilon is added to the root of the
    uncorrected v, as in the last lines of section 2 of the paper.

    References
    ----------
    D. Kingma, J. Ba, "Adam", https://arxiv.org/abs/1412.6980; DL4J,
    ``org.nd4j.linalg.learning.AdamUpdater``.
    """
    beta1, beta2 = moment.number(conf.beta1), moment.number(conf.beta2)
    epsilon, rate = moment.number(conf.epsilon), _corrected_rate(conf, moment)
    return Rule("adam", (beta1, beta2, rate, epsilon))


def amsgrad(conf: AMSGrad, moment: Moment) -> Rule:
    """Return Adam's rule with the largest v so far in place of v.

    References
    ----------
    S. Reddi et al., "On the convergence of Adam and beyond",
    https://arxiv.org/abs/1904.09237, algorithm 2, and Adam's correction of bias; DL4J,
    ``org.nd4j.linalg.learning.AMSGradUpdater``.
    """
    beta1, beta2 = moment.number(conf.beta1), moment.number(conf.beta2)
    epsilon, rate = moment.number(conf.epsilon), _corrected_rate(conf, moment)
    return Rule("amsgrad", (beta1, beta2, rate, epsilon))


def nadam(conf: Nadam, moment: Moment) -> Rule:
    """Return ``u = lr (beta1 m + (1 - beta1) g) / (1 - beta1^t) / (sqrt(v) + eps)``.

    References
    ----------
    T. Dozat, "Incorporating Nesterov momentum into Adam"; DL4J,
    ``org.nd4j.linalg.learning.NadamUpdater``, which corrects the bias of m and not that
    of v.
    """
    beta1, beta2 = moment.number(conf.beta1), moment.number(conf.beta2)
    epsilon, rate = moment.number(conf.epsilon), moment.value(conf.learning_rate)
    correction = moment.number(1 - float(beta1**moment.t))
    return Rule("nadam", (beta1, beta2, rate, correction, epsilon))


def adamax(conf: AdaMax, moment: Moment) -> Rule:
    """Return ``u = lr / (1 - beta1^t) m / s`` with ``s = max(beta2 s, |g|) + 1e-32``.

    References
    ----------
    D. Kingma, J. Ba, "Adam", https://arxiv.org/abs/1412.6980, algorithm 2; DL4J,
    ``org.nd4j.linalg.learning.AdaMaxUpdater``.
    """
    beta1, beta2 = moment.number(conf.beta1), moment.number(conf.beta2)
    floor = moment.number(_NORM_FLOOR)
    correction = 1 - float(beta1**moment.t)
    rate = _quotient(conf, float(moment.value(conf.learning_rate)), correction, moment)
    return Rule("adamax", (beta1, beta2, rate, floor))


def adabelief(conf: AdaBelief, moment: Moment) -> Rule:
    """Return Adam's rule with ``s = beta2 s + (1 - beta2) (g - m)^2 + eps`` for v.

    References
    ----------
    J. Zhuang et al., "AdaBelief optimizer", https://arxiv.org/abs/2010.07468,
    algorithm 2, with epsilon as in Adam; the native updater of DL4J. DL4J 1.0.0-M2.1
    itself cannot build a network with it.
    """
    beta1, beta2 = moment.number(conf.beta1), moment.number(conf.beta2)
    epsilon, rate = moment.number(conf.epsilon), _corrected_rate(conf, moment)
    return Rule("adabelief", (beta1, beta2, rate, epsilon))


def _corrected_rate(conf: Adam | AMSGrad | AdaBelief, moment: Moment) -> Number:
    """Return ``lr sqrt(1 - beta2^t) / (1 - beta1^t)`` in the type of the arrays."""
    beta1, beta2 = moment.number(conf.beta1), moment.number(conf.beta2)
    root = np.sqrt(moment.number(1 - float(beta2**moment.t)))
    rate = moment.value(conf.learning_rate) * root
    correction = 1 - float(beta1**moment.t)
    return _quotient(conf, float(rate), correction, moment)


def _quotient(
    conf: Adam | AMSGrad | AdaBelief | AdaMax,
    rate: float,
    correction: float,
    moment: Moment,
) -> Number:
    """Return ``rate / correction``; 0 where the means stay 0 because beta is 1."""
    quotient = moment.number(rate / correction if correction else 0.0)
    is_usable = quotient != 0 and np.isfinite(quotient)
    if is_usable or "epsilon_for_rate" not in conf.quirks:
        return quotient
    return moment.number(conf.epsilon)
