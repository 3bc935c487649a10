"""Which kinds of layers and vertices there are, and how a mapping becomes one of them.

A kind is entered once, in the table of layers or of vertices; configurations that hold
other ones (a wrapper, a network) look here when they are made, so that no kind has to
be imported where it is merely held.
"""

import importlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from daskdl.checks import normalised
from daskdl.entry_points import entry_points
from daskdl.nn.conf.errors import PathError, got, one_of
from daskdl.nn.conf.spellings import spelled
from daskdl.nn.conf.values import Conf, made, stands_alone, tag_of


class Kinds:
    """Configuration classes by the name that `type` has in a mapping.

    Parameters
    ----------
    name : str
        What it is called below.
    suffix : str
        May end a name: ``dense_layer`` for ``dense``.
    home : str
        The module that enters them all. Imported when somebody first asks: a layer
        within a layer is looked up before anybody has imported a network.
    group : str
        The entry-point group in which packages bring kinds of their own.
    """

    def __init__(self, name: str, suffix: str, home: str, group: str = "") -> None:
        self._name = name
        self._suffix = suffix
        self._group = group
        self._home = home
        self._models: dict[str, type[Conf]] = {}
        self._names: dict[str, str] = {}

    def __reduce__(self) -> str:
        """Pickle the name: each process has kinds of its own."""
        return self._name

    def enter(self, models: Iterable[type[Conf]]) -> None:
        """Make classes known, each under its tag and its class name."""
        for model in models:
            tag = tag_of(model)
            self._models[tag] = model
            self._names[normalised(tag)] = tag
            for name in self.names(tag):
                self._names.setdefault(normalised(name), tag)

    def names(self, tag: str) -> tuple[str, ...]:
        """Return the names that a kind has: its tag and its class name."""
        return tag, self._models[tag].__name__, tag + self._suffix

    def find(self, name: str) -> type[Conf] | None:
        """Return the class of a name, of a package that brings it if need be."""
        if self.tag(name) not in self.models and name in self._brought:
            self._brought[name].load()
        return self.models.get(self.tag(name))

    def find_all(self) -> None:
        """Import all packages that bring kinds."""
        for entry in self._brought.values():
            entry.load()

    @cached_property
    def _brought(self) -> Mapping[str, EntryPoint]:
        found = entry_points(self._group) if self._group else ()
        return {entry.name: entry for entry in found}

    @property
    def models(self) -> Mapping[str, type[Conf]]:
        """The classes by their tags, in the order in which they were entered."""
        if not self._models:
            importlib.import_module(self._home)
        return self._models

    def tag(self, name: str) -> str:
        """Return the tag that somebody who writes `name` means, or `name` itself."""
        return self._names.get(normalised(name), name)


_OWN = " One of your own is known once the module that registers it is imported."
_HOME = "daskdl.nn.conf.network"
LAYER_KINDS = Kinds("LAYER_KINDS", "layer", _HOME, "daskdl.layers")
VERTEX_KINDS = Kinds("VERTEX_KINDS", "vertex", _HOME, "daskdl.vertices")
PREPROCESSOR_KINDS = Kinds("PREPROCESSOR_KINDS", "preprocessor", _HOME)
# Those of the package are names, with or without options.
ACTIVATION_KINDS = Kinds(
    "ACTIVATION_KINDS", "", "daskdl.nn.conf.activations", "daskdl.activations"
)
LOSS_KINDS = Kinds("LOSS_KINDS", "", "daskdl.nn.conf.losses", "daskdl.losses")
UPDATER_KINDS = Kinds("UPDATER_KINDS", "", "daskdl.nn.conf.updaters", "daskdl.updaters")
SCHEDULE_KINDS = Kinds(
    "SCHEDULE_KINDS", "schedule", "daskdl.nn.conf.schedules", "daskdl.schedules"
)
WEIGHT_INIT_KINDS = Kinds(
    "WEIGHT_INIT_KINDS", "", "daskdl.nn.conf.weight_inits", "daskdl.weight_inits"
)


class AnyOf:
    """Annotation of a field that holds one of the kinds, given as object or mapping.

    Parameters
    ----------
    *kinds : Kinds
        Those allowed, looked at whenever a value is made.
    """

    def __init__(self, *kinds: Kinds) -> None:
        self._kinds = kinds
        self._is_describing = False

    def validate(self, value: Any) -> Conf:
        """Return the configuration that an object, mapping or bare name describes."""
        if isinstance(value, Conf):
            if type(value) in self._models().values():
                return value
            raise PathError(
                f"must be one of the known kinds, got {type(value).__name__}."
            )
        if isinstance(value, str):
            value = {"type": value}
        if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
            raise PathError(f"must be a mapping with a known `type`, got {got(value)}.")
        model = self._find(value["type"])
        if model is None:
            known = sorted(self._models())
            raise PathError(one_of(known, value["type"]) + _OWN, "type")
        return made(model, {**value, "type": tag_of(model)})

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return how pydantic makes and writes such a field."""
        return core_schema.no_info_plain_validator_function(
            self.validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                _dumped, info_arg=True
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the alternatives; a kind within a kind is described by its type."""
        if self._is_describing:
            return {"anyOf": [{"type": "object", "required": ["type"]}, self._alone()]}
        self._is_describing = True
        try:
            for kinds in self._kinds:
                kinds.find_all()
            models = self._models().values()
            described = [handler(_as_definition(model)) for model in models]
            return {"anyOf": [*described, self._alone()]}
        finally:
            self._is_describing = False

    def _alone(self) -> dict[str, Any]:
        """Return the schema of the names that stand for a kind without options."""
        names = [
            name
            for kinds in self._kinds
            for tag, model in kinds.models.items()
            if stands_alone(model)
            for name in kinds.names(tag)
        ]
        return spelled(names) if names else {"not": {}}

    def _models(self) -> dict[str, type[Conf]]:
        return {
            tag: model for kinds in self._kinds for tag, model in kinds.models.items()
        }

    def _find(self, name: str) -> type[Conf] | None:
        # A layer and a vertex may share a name; each has a tag of its own.
        tagged = self._models().get(name)
        return tagged or next(filter(None, (k.find(name) for k in self._kinds)), None)


def _as_definition(model: type[Conf]) -> CoreSchema:
    """Return the schema of a class under a name, so that it is described once."""
    schema: Any = model.__pydantic_core_schema__
    held = []
    if schema["type"] == "definitions":
        schema, held = schema["schema"], schema["definitions"]
    named = {"ref": f"{model.__module__}.{model.__qualname__}:{id(model)}", **schema}
    return core_schema.definitions_schema(named, held)


def _dumped(value: Conf, info: core_schema.SerializationInfo) -> dict[str, Any]:
    return value.model_dump(
        mode=info.mode, by_alias=True, exclude_defaults=info.exclude_defaults
    )
