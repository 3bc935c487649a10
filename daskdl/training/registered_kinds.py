"""Registered kinds as bytes: how users' classes travel to workers.

A class travels with its code if it is of a script, a notebook or a file that is not
installed, and by its name if it is of an installed package, which workers have too.
"""

import importlib.metadata
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, TypeGuard

import cloudpickle

from daskdl.errors import OptionError
from daskdl.nn.conf.values import Conf, mappings_in
from daskdl.nn.registration import Key, register_kinds, registered


def packed_kinds(configuration: Mapping[str, Any]) -> bytes:
    """Return the registered kinds that a network is made of; empty if it has none.

    Parameters
    ----------
    configuration : mapping
        Of the network, as plain values.

    Raises
    ------
    OptionError
        If one holds what cannot travel.
    """
    kinds = registered()
    if not kinds:
        return b""
    types = [part.get("type") for part in mappings_in(configuration)]
    used = tuple((key, kind) for key, kind in kinds.items() if key[1] in types)
    return _packed(used) if used else b""


def unpack_kinds(packed: bytes) -> None:
    """Register the kinds of :func:`packed_kinds` in this process."""
    if packed:
        _unpack(packed)


@cache
def _unpack(packed: bytes) -> None:
    # Once a process: the same class comes with every state.
    register_kinds(dict(pickle.loads(packed)))


@cache
def _packed(kinds: tuple[tuple[Key, type[Conf]], ...]) -> bytes:
    # A worker lacks the modules of classes that came to it with their code.
    modules = {sys.modules.get(kind.__module__) for _, kind in kinds}
    own = [module for module in modules if module and not _is_installed(module)]
    bases = {base for _, kind in kinds for base in kind.__mro__ if _is_own(base)}
    for base in bases:
        # What pydantic puts off until a class is used: that it cannot unpickle.
        base.model_rebuild(force=True)
    with _by_value(own), _without_surroundings(bases):
        try:
            data: bytes = cloudpickle.dumps(kinds)
        except (TypeError, pickle.PicklingError) as error:
            names = ", ".join(f"{family} {name!r}" for (family, name), _ in kinds)
            raise OptionError(
                f"{names}: must be classes that can be sent to workers, got "
                f"{error}. Create what they hold in forward, or install them as a "
                "package."
            ) from error
    return data


def _is_own(base: type) -> TypeGuard[type[Conf]]:
    return issubclass(base, Conf) and not base.__module__.startswith("daskdl.")


@contextmanager
def _without_surroundings(bases: Iterable[type[Any]]) -> Iterator[None]:
    """Let classes forget the variables of the function that they are defined in.

    Pydantic keeps them for annotations that it has not looked at: a client, say, that
    cannot travel, or arrays that need not.
    """
    kept = {base: base.__pydantic_parent_namespace__ for base in bases}
    for base in kept:
        base.__pydantic_parent_namespace__ = None
    try:
        yield
    finally:
        for base, surroundings in kept.items():
            base.__pydantic_parent_namespace__ = surroundings


def _is_installed(module: ModuleType) -> bool:
    package = module.__name__.partition(".")[0]
    return package in importlib.metadata.packages_distributions()


@contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    known = cloudpickle.list_registry_pickle_by_value()
    added = [
        module
        for module in modules
        if module.__name__ not in known and module.__name__ != "__main__"
    ]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)
