"""Values of a job file that are spelled in several ways."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DaskdlError
from daskdl.nn.conf.errors import PathError, got

__all__ = ["NamedTexts", "PreProcessors", "Texts", "TypeWithOptions"]


def texts(value: Any) -> Any:
    """Take one text or several; refuse others in one line, where pydantic has three."""
    if value == "":
        raise PathError("must not be empty.")
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and all(map(_is_text, value)):
        return tuple(value)
    raise PathError(f"must be text or a list of texts, got {got(value)}.")


def _named_texts(value: Any) -> Any:
    """Take texts, or a mapping of inputs or outputs to texts."""
    if not isinstance(value, Mapping):
        return texts(value)
    return {str(name): _texts_at(str(name), item) for name, item in value.items()}


def _texts_at(name: str, value: Any) -> Any:
    try:
        return texts(value)
    except PathError as error:
        raise error.below(name) from None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _type_with_options(value: Any) -> Any:
    """Take the name of a type, or a mapping with `type` and its options."""
    if value is None or isinstance(value, str | dict):
        return value
    raise PathError(f"must be text or a mapping with a `type`, got {got(value)}.")


def _pre_processors(value: Any) -> Any:
    """Take one type with options or several; refuse those that cannot be made."""
    for one in value if isinstance(value, list | tuple) else [value]:
        _type_with_options(one)
    try:
        SourceOptions(pre_processor=value)
    except DaskdlError as error:
        raise PathError(str(error)) from error
    return value


_ONE_OR_MORE = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ]
}
_NAMED = {
    "anyOf": [
        *_ONE_OR_MORE["anyOf"],
        {"type": "object", "additionalProperties": _ONE_OR_MORE},
    ]
}

Texts = Annotated[Any, BeforeValidator(texts), WithJsonSchema(_ONE_OR_MORE)]
NamedTexts = Annotated[Any, BeforeValidator(_named_texts), WithJsonSchema(_NAMED)]
TypeWithOptions = Annotated[
    Any,
    BeforeValidator(_type_with_options),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
]
PreProcessors = Annotated[
    Any,
    BeforeValidator(_pre_processors),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "object"},
                {
                    "type": "array",
                    "items": {"anyOf": [{"type": "string"}, {"type": "object"}]},
                },
            ]
        }
    ),
]
