"""Updaters that users define, at work."""

from functools import partial

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import ShapeError
from daskdl.kernels.updater import Rule
from daskdl.nn.conf.schedules import value_at
from daskdl.nn.conf.updaters import UpdaterDefinition, UpdateStep
from daskdl.nn.updaters.update_context import UpdateContext


def defined_rule(updater: UpdaterDefinition, context: UpdateContext) -> Rule:
    """Return the rule that turns gradients into updates in this iteration."""
    rate = value_at(updater.learning_rate, context.iteration, context.epoch)
    step = UpdateStep(context.iteration, context.epoch, rate)
    return Rule("defined", function=partial(_update, updater, step))


def _update(
    updater: UpdaterDefinition,
    step: UpdateStep,
    gradient: FloatArray,
    state: FloatArray,
) -> None:
    """Overwrite a stretch of the gradient, and bring its state forward."""
    made = updater.update(gradient, dict(zip(updater.state, state, strict=True)), step)
    if getattr(made, "shape", None) != gradient.shape:
        raise ShapeError(
            f"{type(updater).__name__}: update must return an array of shape "
            f"{gradient.shape}, got {getattr(made, 'shape', type(made).__name__)}."
        )
    if made is not gradient:
        gradient[...] = made
