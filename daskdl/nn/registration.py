"""Kinds of layers that are not the package's own.

A registered class is known to configurations, job files, checkpoints and schemas by the
name that it was given. Packages that bring kinds name the module that registers them in
the entry-point group ``daskdl.layers``, so that nobody has to import it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from daskdl.checks import check_type
from daskdl.errors import OptionError
from daskdl.nn.conf.kinds import LAYER_KINDS
from daskdl.nn.layers.definition import LayerDefinition

L = TypeVar("L", bound=LayerDefinition)

_registered: dict[str, type[LayerDefinition]] = {}


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

    def register(definition: type[L]) -> type[L]:
        if not isinstance(definition, type) or not issubclass(
            definition, LayerDefinition
        ):
            raise OptionError(
                f"layer {name!r}: must decorate a class that derives from "
                f"daskdl.LayerDefinition, got {definition!r}."
            )
        kind = _tagged(definition, name)
        admit({name: kind})
        return kind

    check_type("layer", "name", name, str)
    if not name.isidentifier():
        raise OptionError(
            f"layer: name must be letters, digits and underscores, got {name!r}."
        )
    return register


def admit(kinds: Mapping[str, type[LayerDefinition]]) -> None:
    """Make kinds known that were registered here or in another process.

    Raises
    ------
    OptionError
        If a name is that of another kind.
    """
    for name, kind in kinds.items():
        known = _registered.get(name)
        meant = LAYER_KINDS.models.get(LAYER_KINDS.tag(name))
        # A notebook runs a cell again, and a worker gets what it has.
        is_again = known is not None and _place(known) == _place(kind)
        if meant is not None and not is_again:
            raise OptionError(
                f"layer {name!r}: the name must not be taken, got that of "
                f"{meant.__module__}.{meant.__qualname__}."
            )
        LAYER_KINDS.enter([kind])
        _registered[name] = kind


def registered() -> Mapping[str, type[LayerDefinition]]:
    """Return all kinds that were registered in this process, by name."""
    return dict(_registered)


def _place(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def _tagged(definition: type[L], name: str) -> type[L]:
    """Return the class with its `type`, under its own name and module."""
    body: dict[str, Any] = {
        "__module__": definition.__module__,
        "__qualname__": definition.__qualname__,
        "__doc__": definition.__doc__ or f"The layer {name!r}.",
        "__annotations__": {"type": Literal[name]},
        "type": name,
    }
    metaclass: Any = type(definition)
    kind: type[L] = metaclass(definition.__name__, (definition,), body)
    return kind
