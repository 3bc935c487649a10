"""All updaters: their rules and their states."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daskdl.kernels.updater import Rule
from daskdl.nn.conf.schedules import value_at
from daskdl.nn.conf.updaters import (
    AdaBelief,
    AdaDelta,
    AdaGrad,
    Adam,
    AdaMax,
    AMSGrad,
    Nadam,
    Nesterovs,
    NoOp,
    RmsProp,
    Sgd,
    Updater,
    UpdaterDefinition,
)
from daskdl.nn.updaters.adam import adabelief, adam, adamax, amsgrad, nadam
from daskdl.nn.updaters.defined import defined_rule
from daskdl.nn.updaters.descent import nesterovs, noop, sgd
from daskdl.nn.updaters.squares import adadelta, adagrad, rmsprop
from daskdl.nn.updaters.update_context import UpdateContext

# In some dialects, whatever epsilon is.
_ADAGRAD_INITIAL_STATE = 1e-6


@dataclass(frozen=True)
class Kind:
    """One kind of updater.

    Parameters
    ----------
    rule : function
        Makes the rule for an iteration of a configuration.
    parts : tuple of str
        What the state vectors are called, in the order of files; each has as
        many numbers as there are parameters.
    """

    rule: Callable[[Any, UpdateContext], Rule]
    parts: tuple[str, ...]


KINDS: dict[type[Updater], Kind] = {
    Sgd: Kind(sgd, ()),
    Nesterovs: Kind(nesterovs, ("V",)),
    Adam: Kind(adam, ("M", "V")),
    AMSGrad: Kind(amsgrad, ("M", "V", "V_HAT")),
    Nadam: Kind(nadam, ("M", "V")),
    AdaMax: Kind(adamax, ("M", "U")),
    AdaBelief: Kind(adabelief, ("M", "S")),
    AdaGrad: Kind(adagrad, ("GRAD",)),
    AdaDelta: Kind(adadelta, ("msg", "msdx")),
    RmsProp: Kind(rmsprop, ("G",)),
    NoOp: Kind(noop, ()),
}


def is_known(updater: Updater) -> bool:
    """Return whether an updater is one of these, and none that a user defined."""
    return type(updater) in KINDS


def rule_of(updater: Updater, context: UpdateContext) -> Rule:
    """Return the rule that turns gradients into updates in this iteration."""
    if isinstance(updater, UpdaterDefinition):
        return defined_rule(updater, context)
    return KINDS[type(updater)].rule(updater, context)


def state_parts(updater: Updater) -> tuple[str, ...]:
    """Return the names of the updater's state vectors, in the order of files."""
    if isinstance(updater, UpdaterDefinition):
        return updater.state
    return KINDS[type(updater)].parts


def initial_state(updater: Updater) -> float:
    """Return the number that all of the state begins with."""
    if "squares_begin_above_zero" not in updater.quirks:
        return 0.0
    if isinstance(updater, AdaGrad):
        return _ADAGRAD_INITIAL_STATE
    return updater.epsilon if isinstance(updater, RmsProp) else 0.0


def learning_rate(updater: Updater, iteration: int = 0, epoch: int = 0) -> float:
    """Return the factor of weight decay: 1 for a rule without a learning rate."""
    if isinstance(updater, NoOp | AdaDelta):
        return 1.0
    return value_at(updater.learning_rate, iteration, epoch)
