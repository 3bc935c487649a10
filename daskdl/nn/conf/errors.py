"""Turn what pydantic refuses into one sentence a reader can act on.

Used for networks and for job files alike: ``network.layers[2].kernel_size: must ...,
got ... [Did you mean ...?]``. Discriminated unions add their tags to pydantic's
locations, and plain messages list every alternative; both are left out here.
"""

import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from daskdl.checks import did_you_mean, some
from daskdl.errors import OptionError

_MOST_ERRORS = 5
_LONGEST_VALUE = 60
# Text, bytes, members of an enum, and all else, as pydantic writes them in a sentence.
_LITERAL = re.compile(r"""b?(?:'[^']*'|"[^"]*")|<[^>]*>|[^\s,]+""")


class PathError(OptionError):
    """A refusal that knows below which key of a configuration it belongs.

    Parameters
    ----------
    text : str
        What must hold and what came: ``must be ..., got ...``.
    *path : str or int
        Keys and indices from the object that raises down to the option.
    """

    def __init__(self, text: str, *path: str | int) -> None:
        super().__init__(join_path(path) + ": " + text if path else text)
        self.text = text
        self.path = path

    def below(self, *path: str | int) -> "PathError":
        """Return the same refusal with `path` put in front."""
        return PathError(self.text, *path, *self.path)


class NestedProblems(ValueError):
    """What pydantic refused inside a value that one of our functions made.

    Parameters
    ----------
    error : pydantic.ValidationError
        The refusals.
    model : model class
        What was to be made.
    """

    def __init__(self, error: ValidationError, model: Any) -> None:
        super().__init__(str(error))
        self.error = error
        self.model = model


def option_error(
    who: str,
    error: ValidationError,
    model: Any = None,
    *,
    source: str = "",
) -> OptionError:
    """Return the refusals of pydantic as one :class:`OptionError`.

    Parameters
    ----------
    who : str
        Put in front of every path: a class name, ``"network"``, or nothing.
    error : pydantic.ValidationError
        What the model raised.
    model : model class or annotation, optional
        The model that was validated; needed to suggest known keys and to leave the
        tags of unions out of the paths.
    source : str, optional
        A file to name first, e.g. ``"job.yaml"``.

    Returns
    -------
    OptionError
        One line per refusal, at most five and then a count.
    """
    found = list(_lines(who, error, model))
    lines = found[:_MOST_ERRORS]
    if source:
        lines = [f"{source}: {line}" for line in lines]
    more = len(found) - len(lines)
    if more > 0:
        lines.append(f"and {more} more.")
    return OptionError("\n".join(lines))


def join_path(path: Iterable[str | int]) -> str:
    """Write keys and indices as ``layers[2].kernel_size``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            # The first may be a path already.
            text += f".{shortened(part)}" if text else part
    return text


def got(value: Any) -> str:
    """Return `value` as text, cut off where nobody reads on."""
    return shortened(repr(value))


def shortened(text: str) -> str:
    """Cut a text off where nobody reads on."""
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def some_of(names: Iterable[str]) -> str:
    """Return names for a message, the first ones, cut off where nobody reads on."""
    return some([shortened(name) for name in names])


def _lines(who: str, error: ValidationError, model: Any) -> Iterator[str]:
    for problem in error.errors(include_url=False):
        cause = problem.get("ctx", {}).get("error")
        if isinstance(cause, NestedProblems):
            path, _ = _resolve(problem["loc"], model)
            inner = join_path([who, *path] if who else path)
            yield from _lines(inner, cause.error, cause.model)
        else:
            yield _line(who, problem, model, cause)


def _line(who: str, problem: Mapping[str, Any], model: Any, cause: Any) -> str:
    path, owner = _resolve(problem["loc"], model)
    if isinstance(cause, PathError):
        path = [*path, *cause.path]
        text = cause.text
    else:
        path, text = _wording(problem, path, owner)
    where = join_path([who, *path] if who else path)
    return f"{where}: {text}" if where else text


def _wording(
    problem: Mapping[str, Any], path: list[str | int], owner: Any
) -> tuple[list[str | int], str]:
    """Return the path and the sentence of one problem that pydantic found itself."""
    kind = problem["type"]
    context = problem.get("ctx", {})
    value = problem.get("input")
    if kind == "missing":
        return path, "must be given."
    if kind == "extra_forbidden":
        return path, _unknown_key(path, owner)
    if kind == "union_tag_invalid":
        known = _quoted(context["expected_tags"])
        key = str(context["discriminator"]).strip("'")
        return [*path, key], one_of(known, context["tag"])
    if kind == "union_tag_not_found":
        return path, "must be a mapping with a known `type`, got " + got(value) + "."
    if kind == "literal_error":
        return path, _one_of_literals(context["expected"], value)
    if "error" in context:
        return path, _sentence(str(context["error"]))
    return path, f"{_plain_words(kind, context, problem['msg'])}, got {got(value)}."


_PLAIN_WORDS = {
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "timezone_aware": "must be a time with its offset from UTC",
}


def _plain_words(kind: str, context: Mapping[str, Any], message: str) -> str:
    """Return what must hold, in the words of YAML and not of pydantic's types."""
    if kind in _PLAIN_WORDS:
        return _PLAIN_WORDS[kind]
    if kind == "too_short":
        return f"must have at least {context['min_length']} items"
    if kind == "too_long":
        return f"must have at most {context['max_length']} items"
    message = message.replace("Input should be", "must be")
    return f"{message[0].lower()}{message[1:]}"


def _unknown_key(path: Sequence[str | int], owner: Any) -> str:
    known = sorted(_keys(owner)) if _is_model(owner) else []
    near = did_you_mean(path[-1], known)
    if near or not known:
        return f"is not a known key.{near}"
    return "is not a known key. Known are " + ", ".join(known) + "."


def one_of(known: Sequence[str], value: Any, *, meant: str | None = None) -> str:
    """Return the sentence that refuses `value` for one of the `known` names.

    `meant` is the one that it is called here; if not given, the nearest is asked for.
    """
    near = did_you_mean(value if meant is None else meant, known)
    if near and len(known) > _MOST_ERRORS:
        return f"must be a known name, got {got(value)}.{near}"
    names = ", ".join(repr(name) for name in known)
    return f"must be one of {names}, got {got(value)}.{near}"


def _one_of_literals(expected: str, value: Any) -> str:
    """Return the sentence for what a Literal allows, which may be more than text."""
    known = [found for found in _LITERAL.findall(expected) if found != "or"]
    if all(found.startswith("'") for found in known):
        return one_of(_quoted(expected), value)
    return f"must be one of {', '.join(known)}, got {got(value)}."


def _quoted(text: str) -> list[str]:
    """Return the names between quotes: pydantic gives them as one sentence."""
    return text.split("'")[1::2]


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else text + "."


def _is_model(annotation: Any) -> bool:
    # To Python 3.10 tuple[int, ...] is a type as well, but no class.
    is_class = isinstance(annotation, type) and typing.get_origin(annotation) is None
    return is_class and issubclass(annotation, BaseModel)


def _resolve(location: Sequence[str | int], model: Any) -> tuple[list[str | int], Any]:
    """Return the path a user wrote, and the model that holds its last key."""
    if model is None:
        return list(location), None
    path: list[str | int] = []
    annotation, owner = model, None
    for part in location:
        if _is_mark(part):
            continue
        candidates = _candidates(annotation)
        member = _tagged(candidates, part)
        if member is not None:
            annotation = member
            continue
        path.append(part)
        owner, annotation = _descend(candidates, part)
    return path, owner


def _is_mark(part: str | int) -> bool:
    """Return whether `part` is a tag that only tells kinds of values apart."""
    return isinstance(part, str) and part.startswith("<")


def _descend(candidates: Sequence[Any], part: str | int) -> tuple[Any, Any]:
    """Return the model that has the key `part`, and the annotation of its value."""
    owner = None
    for candidate in candidates:
        if _is_model(candidate):
            owner = candidate
            field = _keys(candidate).get(str(part))
            if field is not None:
                return candidate, field.annotation
            continue
        arguments = typing.get_args(candidate)
        if arguments and typing.get_origin(candidate) is not Literal:
            is_mapping = issubclass(typing.get_origin(candidate), Mapping)
            return None, arguments[1] if is_mapping else arguments[0]
    return owner, None


def _candidates(annotation: Any) -> list[Any]:
    """Return the alternatives of an annotation, unions and Annotated taken apart."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _candidates(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [
            found for part in typing.get_args(annotation) for found in _candidates(part)
        ]
    return [] if annotation is None else [annotation]


def _keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by the keys that a user writes."""
    fields = model.model_fields.items()
    return {field.alias or name: field for name, field in fields}


def _tagged(candidates: Sequence[Any], tag: str | int) -> Any:
    """Return the model of a union that pydantic's location calls `tag`, if any."""
    models = [candidate for candidate in candidates if _is_model(candidate)]
    for model in models:
        if len(models) > 1 and tag in (_tag(model), model.__name__):
            return model
    return None


def _tag(model: type[BaseModel]) -> str | None:
    field = model.model_fields.get("type")
    values = typing.get_args(field.annotation) if field is not None else ()
    return values[0] if values else getattr(model, "union_tag", None)
