"""Kinds that are not the package's own: layers, vertices, losses and others.

A registered class is known to configurations, job files, checkpoints and schemas by the
name that it was given. Packages that bring kinds name the module that registers them in
the entry-point groups ``daskdl.layers``, ``daskdl.vertices``, ``daskdl.losses``,
``daskdl.activations``, ``daskdl.updaters``, ``daskdl.schedules`` and
``daskdl.weight_inits``, so that nobody has to import it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from daskdl.checks import check_type, normalised
from daskdl.errors import OptionError
from daskdl.nn.conf import activations, losses, weight_inits
from daskdl.nn.conf.activations import ActivationDefinition
from daskdl.nn.conf.kinds import (
    ACTIVATION_KINDS,
    LAYER_KINDS,
    LOSS_KINDS,
    SCHEDULE_KINDS,
    UPDATER_KINDS,
    VERTEX_KINDS,
    WEIGHT_INIT_KINDS,
    Kinds,
)
from daskdl.nn.conf.losses import LossDefinition
from daskdl.nn.conf.schedules import ScheduleDefinition
from daskdl.nn.conf.updaters import UpdaterDefinition
from daskdl.nn.conf.values import Conf
from daskdl.nn.conf.weight_inits import WeightInitDefinition
from daskdl.nn.layers.definition import LayerDefinition
from daskdl.nn.vertices.definition import VertexDefinition

A = TypeVar("A", bound=ActivationDefinition)
L = TypeVar("L", bound=LayerDefinition)
U = TypeVar("U", bound=UpdaterDefinition)
S = TypeVar("S", bound=LossDefinition)
V = TypeVar("V", bound=VertexDefinition)
R = TypeVar("R", bound=ScheduleDefinition)
W = TypeVar("W", bound=WeightInitDefinition)

Key: TypeAlias = tuple[str, str]
"""The family of a kind, and its name."""


@dataclass(frozen=True)
class _Family:
    kinds: Kinds
    base: type[Conf]
    # For names of the package's own that are no kinds.
    is_taken: Callable[[str], bool] = lambda name: False


_FAMILIES = {
    "activation": _Family(ACTIVATION_KINDS, ActivationDefinition, activations.is_ours),
    "layer": _Family(LAYER_KINDS, LayerDefinition),
    "loss": _Family(LOSS_KINDS, LossDefinition, losses.is_ours),
    "schedule": _Family(SCHEDULE_KINDS, ScheduleDefinition),
    "updater": _Family(UPDATER_KINDS, UpdaterDefinition),
    "vertex": _Family(VERTEX_KINDS, VertexDefinition),
    "weight_init": _Family(
        WEIGHT_INIT_KINDS, WeightInitDefinition, weight_inits.is_ours
    ),
}
_registered: dict[Key, type[Conf]] = {}


def layer(name: str) -> Callable[[type[L]], type[L]]:
    """Return a decorator that makes a class known as a kind of layer.

    Parameters
    ----------
    name : str
        Its `type` in configurations: letters, digits and underscores.

    Raises
    ------
    OptionError
        If the name is another kind's, or the class is no
        :class:`~daskdl.nn.layers.definition.LayerDefinition`.

    Examples
    --------
    >>> import daskdl
    >>> @daskdl.layer("halved_example")
    ... class Halved(daskdl.LayerDefinition):
    ...     def forward(self, run, x):
    ...         return x / 2, lambda grad: grad / 2
    >>> conf = daskdl.MultiLayerConfiguration(
    ...     input=daskdl.FeedForward(size=2),
    ...     layers=["halved_example", daskdl.Output(n_out=2)],
    ... )
    >>> conf.layers[0]
    Halved()
    """
    return _decorator("layer", name)


def activation(name: str) -> Callable[[type[A]], type[A]]:
    """Return a decorator that makes a class known as an activation.

    Parameters
    ----------
    name : str
        Its name in configurations: letters, digits and underscores.

    Raises
    ------
    OptionError
        If the name is another activation's, or the class is no
        :class:`~daskdl.nn.conf.activations.ActivationDefinition`.

    Examples
    --------
    >>> import numpy as np
    >>> import daskdl
    >>> @daskdl.activation("sine_example")
    ... class Sine(daskdl.ActivationDefinition):
    ...     def forward(self, x):
    ...         return np.sin(x)
    ...
    ...     def derivative(self, x):
    ...         return np.cos(x)
    >>> daskdl.Dense(3, activation="sine_example")
    Dense(n_out=3, activation=Sine())
    """
    return _decorator("activation", name)


def updater(name: str) -> Callable[[type[U]], type[U]]:
    """Return a decorator that makes a class known as an updater.

    Parameters
    ----------
    name : str
        Its `type` in configurations: letters, digits and underscores.

    Raises
    ------
    OptionError
        If the name is another updater's, or the class is no
        :class:`~daskdl.nn.conf.updaters.UpdaterDefinition`.

    Examples
    --------
    >>> import numpy as np
    >>> import daskdl
    >>> @daskdl.updater("signs_example")
    ... class Signs(daskdl.UpdaterDefinition):
    ...     def update(self, gradient, state, step):
    ...         return step.learning_rate * np.sign(gradient)
    >>> daskdl.Dense(3, updater=Signs(0.1))
    Dense(updater=Signs(learning_rate=0.1), n_out=3)
    """
    return _decorator("updater", name)


def loss(name: str) -> Callable[[type[S]], type[S]]:
    """Return a decorator that makes a class known as a loss.

    Parameters
    ----------
    name : str
        Its name in configurations: letters, digits and underscores.

    Raises
    ------
    OptionError
        If the name is another loss's, or the class is no
        :class:`~daskdl.nn.conf.losses.LossDefinition`.

    Examples
    --------
    >>> import numpy as np
    >>> import daskdl
    >>> @daskdl.loss("log_cosh_example")
    ... class LogCosh(daskdl.LossDefinition):
    ...     def score(self, labels, output):
    ...         return np.log(np.cosh(output - labels))
    ...
    ...     def gradient(self, labels, output):
    ...         return np.tanh(output - labels)
    >>> daskdl.Output(1, loss="log_cosh_example")
    Output(n_out=1, loss=LogCosh())
    """
    return _decorator("loss", name)


def vertex(name: str) -> Callable[[type[V]], type[V]]:
    """Return a decorator that makes a class known as a kind of vertex.

    Parameters
    ----------
    name : str
        Its `type` in configurations: letters, digits and underscores.

    Raises
    ------
    OptionError
        If the name is another kind's, or the class is no
        :class:`~daskdl.nn.vertices.definition.VertexDefinition`.
    """
    return _decorator("vertex", name)


def schedule(name: str) -> Callable[[type[R]], type[R]]:
    """Return a decorator that makes a class known as a schedule.

    Parameters
    ----------
    name : str
        Its `type` in configurations: letters, digits and underscores.

    Raises
    ------
    OptionError
        If the name is another schedule's, or the class is no
        :class:`~daskdl.nn.conf.schedules.ScheduleDefinition`.

    Examples
    --------
    >>> import math
    >>> import daskdl
    >>> @daskdl.schedule("cosine_example")
    ... class Cosine(daskdl.ScheduleDefinition):
    ...     initial_value: float
    ...     max_iter: int
    ...
    ...     def value_at(self, iteration, epoch):
    ...         done = min(1, iteration / self.max_iter)
    ...         return self.initial_value * (1 + math.cos(math.pi * done)) / 2
    >>> daskdl.Adam(Cosine(initial_value=0.01, max_iter=1000))
    Adam(learning_rate=Cosine(initial_value=0.01, max_iter=1000))
    """
    return _decorator("schedule", name)


def weight_init(name: str) -> Callable[[type[W]], type[W]]:
    """Return a decorator that makes a class known as a way to draw initial weights.

    Parameters
    ----------
    name : str
        Its name in configurations: letters, digits and underscores.

    Raises
    ------
    OptionError
        If the name is that of other initial weights, or the class is no
        :class:`~daskdl.nn.conf.weight_inits.WeightInitDefinition`.

    Examples
    --------
    >>> import daskdl
    >>> @daskdl.weight_init("signs_by_example")
    ... class RandomSigns(daskdl.WeightInitDefinition):
    ...     def draw(self, shape, fan_in, fan_out, rng):
    ...         return rng.choice([-1.0, 1.0], shape) / fan_in**0.5
    >>> daskdl.Dense(3, weight_init="signs_by_example")
    Dense(n_out=3, weight_init=RandomSigns())
    """
    return _decorator("weight_init", name)


def register_kinds(kinds: Mapping[Key, type[Conf]]) -> None:
    """Make kinds known that were registered here or in another process.

    Raises
    ------
    OptionError
        If a name is that of another kind.
    """
    for key, kind in kinds.items():
        family, name = key
        table = _FAMILIES[family].kinds
        known = _registered.get(key)
        tag = table.tag(name)
        meant = table.models.get(tag)
        if (family, tag) in _registered and normalised(tag) != normalised(name):
            meant = None  # the name of its class, which gives way to a name
        # A notebook runs a cell again, and a worker gets what it has.
        is_again = known is not None and _place(known) == _place(kind)
        is_taken = _FAMILIES[family].is_taken(name)
        if is_taken or (meant is not None and not is_again):
            owner = f"{meant.__module__}.{meant.__qualname__}" if meant else "daskdl"
            raise OptionError(
                f"{family} {name!r}: the name must not be taken, got that of {owner}."
            )
        table.enter([kind])
        _registered[key] = kind


def registered() -> Mapping[Key, type[Conf]]:
    """Return all kinds that were registered in this process."""
    return dict(_registered)


def _decorator(family: str, name: str) -> Callable[[type[Any]], type[Any]]:
    def register(definition: type[Any]) -> type[Any]:
        base = _FAMILIES[family].base
        if not isinstance(definition, type) or not issubclass(definition, base):
            raise OptionError(
                f"{family} {name!r}: must decorate a class that derives from "
                f"daskdl.{base.__name__}, got {definition!r}."
            )
        if issubclass(definition, UpdaterDefinition):
            _check_state(name, definition.state)
        kind = _tagged(definition, name)
        register_kinds({(family, name): kind})
        return kind

    check_type(family, "name", name, str)
    if not name.isidentifier():
        raise OptionError(
            f"{family}: name must be letters, digits and underscores, got {name!r}."
        )
    return register


def _check_state(name: str, state: Any) -> None:
    names = list(state) if isinstance(state, tuple) else [None]
    if len({*names}) < len(names) or not all(isinstance(one, str) for one in names):
        raise OptionError(
            f"updater {name!r}: state must be a tuple of different names, got "
            f"{state!r}."
        )


def _place(kind: type) -> Key:
    # A process that is spawned imports the script under another name.
    module = "__main__" if kind.__module__ == "__mp_main__" else kind.__module__
    return module, kind.__qualname__


def _tagged(definition: type[Any], name: str) -> type[Any]:
    """Return the class with its `type`, under its own name and module."""
    body: dict[str, Any] = {
        "__module__": definition.__module__,
        "__qualname__": definition.__qualname__,
        "__doc__": definition.__doc__,
        "__annotations__": {"type": Literal[name]},
        "type": name,
    }
    metaclass: Any = type(definition)
    kind: type[Any] = metaclass(definition.__name__, (definition,), body)
    return kind
