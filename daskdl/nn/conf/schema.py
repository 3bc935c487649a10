"""The JSON schema of configurations, for editors and other programs.

It takes every spelling that the loader takes, and says of each key what it is: in the
words of the docstring of its class.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import CoreSchema

from daskdl.nn.conf.docstrings import descriptions_of, summary_of
from daskdl.nn.conf.spellings import Taking, spelled
from daskdl.nn.conf.values import tag_of

# What may end the name of a kind, as in names of classes.
_ENDINGS = (
    "layer",
    "vertex",
    "preprocessor",
    "distribution",
    "reconstructiondistribution",
    "constraint",
    "schedule",
)
# What pydantic takes for a truth besides true and false.
_TRUTHS = ("yes", "no", "on", "off", "true", "false", "y", "n", "t", "f", "1", "0")
_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
}
# Longer patterns are written once and referred to.
_LONG_PATTERN = 200


def json_schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of what `model` takes."""
    return _with_patterns_once(model.model_json_schema(schema_generator=_Generator))


class _Generator(GenerateJsonSchema):
    """pydantic's own, with our spellings and docstrings."""

    def generate(
        self, schema: CoreSchema, mode: JsonSchemaMode = "validation"
    ) -> JsonSchemaValue:
        generated: JsonSchemaValue = _plain(super().generate(schema, mode))
        return generated

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        """Describe a model and its keys."""
        model: type[BaseModel] = schema["cls"]
        described = super().model_schema(schema)
        described["description"] = summary_of(model)
        properties = described.get("properties", {})
        descriptions = descriptions_of(model)
        for name, field in model.model_fields.items():
            value = properties[field.alias or name]
            text = field.description or descriptions.get(name)
            if text:
                value["description"] = text
        if "const" in properties.get("type", {}):
            properties["type"] = _type_of(model)
        if model.model_config.get("populate_by_name"):
            _take_names_for_aliases(model, described)
        return described

    def function_before_schema(self, schema: Any) -> JsonSchemaValue:
        """Add what a validator takes besides what the one behind it takes."""
        inner = super().function_before_schema(schema)
        taking = schema["function"]["function"]
        if not isinstance(taking, Taking):
            return inner
        also = [dict(each) for each in taking.also]
        if taking.one_for_many:
            also.append(_item_of(inner))
        return {"anyOf": [inner, *also]} if also else inner

    def bool_schema(self, schema: Any) -> JsonSchemaValue:
        """Take the words and numbers for true and false, too."""
        boolean = super().bool_schema(schema)
        if schema.get("strict"):
            return boolean
        return {"anyOf": [boolean, {"enum": [0, 1]}, spelled(_TRUTHS)]}


def _type_of(model: type[BaseModel]) -> dict[str, Any]:
    tag = tag_of(model)
    return {
        "anyOf": [
            {"const": tag, "type": "string"},
            spelled((tag, model.__name__), endings=_ENDINGS),
        ],
        "description": f"Which kind this is: {summary_of(model)}",
    }


def _take_names_for_aliases(model: type[BaseModel], described: JsonSchemaValue) -> None:
    for name, field in model.model_fields.items():
        if not field.alias:
            continue
        described["properties"][name] = described["properties"][field.alias]
        if field.alias in described.get("required", ()):
            described["required"].remove(field.alias)
            either = [{"required": [key]} for key in (field.alias, name)]
            described.setdefault("allOf", []).append({"anyOf": either})


def _item_of(array: JsonSchemaValue) -> JsonSchemaValue:
    if "anyOf" in array:
        arrays = [part for part in array["anyOf"] if part.get("type") == "array"]
        return _item_of(arrays[0])
    items: list[JsonSchemaValue] = array.get("prefixItems") or [array["items"]]
    return items[0]


def _plain(schema: Any) -> Any:
    """Say "any of" where pydantic says "one of", told apart by an exact `type`.

    And give bounds the names that JSON schema has for them: pydantic leaves its own
    where a validator of ours stands between the bound and the number.
    """
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {_BOUNDS.get(key, key): _plain(part) for key, part in schema.items()}
    if "oneOf" in parts:
        parts["anyOf"] = parts.pop("oneOf")
        parts.pop("discriminator", None)
    return parts


def _with_patterns_once(schema: dict[str, Any]) -> dict[str, Any]:
    """Write long patterns that stand in several places once, and refer to them."""
    counts = Counter(_long_patterns(schema))
    repeated = [pattern for pattern, count in counts.items() if count > 1]
    names = {pattern: f"Names{at}" for at, pattern in enumerate(repeated, start=1)}

    def put(part: Any) -> Any:
        if isinstance(part, list):
            return [put(each) for each in part]
        if not isinstance(part, dict):
            return part
        pattern = part.get("pattern")
        # Among properties it is one of that name.
        if isinstance(pattern, str) and pattern in names:
            return {"$ref": f"#/$defs/{names[pattern]}"}
        return {key: put(each) for key, each in part.items()}

    whole: dict[str, Any] = put(schema)
    for pattern, name in names.items():
        whole["$defs"][name] = {"type": "string", "pattern": pattern}
    return whole


def _long_patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, list | dict):
        for part in schema.values() if isinstance(schema, dict) else schema:
            yield from _long_patterns(part)
    pattern = schema.get("pattern") if isinstance(schema, dict) else None
    if isinstance(pattern, str) and len(pattern) > _LONG_PATTERN:
        yield pattern
