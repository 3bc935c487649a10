"""DL4J's YAML: the same objects as its JSON, with classes as YAML tags.

``@class`` of the JSON, and ``type`` of distributions, are native tags in the YAML:
``layer: !<org.deeplearning4j.nn.conf.layers.DenseLayer>``.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import yaml

from daskdl.dl4j.network.json_objects import Json
from daskdl.dl4j.network.size_limits import (
    DEEPEST,
    LONGEST_TEXT,
    check_length,
    check_values,
)
from daskdl.errors import FormatError
from daskdl.evaluation.number_texts import number_text

_DISTRIBUTIONS = "org.deeplearning4j.nn.conf.distribution."
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_@.\-]+(?: [A-Za-z0-9_@.\-]+)*\Z")
# Words and numbers that YAML would not read as text.
_RESERVED = re.compile(r"(?i:null|true|false|yes|no|on|off|y|n|~|[-+.]?[0-9].*)\Z")
# Text in JSON, which has no word for them.
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
# Keys and values, which take a kilobyte each while they are parsed.
_MOST_EVENTS = 1 << 18


def dump_dl4j_yaml(value: dict[str, Json]) -> str:
    """Return an object of DL4J's JSON as its YAML."""
    return "---\n" + "".join(f"{line}\n" for line in _object(value, 0))


def load_dl4j_yaml(text: str, who: str) -> dict[str, Json]:
    """Return the object of DL4J's JSON that a YAML text holds.

    Parameters
    ----------
    text : str
        With native tags, or with ``@class`` as a key.
    who : str
        For messages.

    Raises
    ------
    FormatError
        If it is no YAML, no object, too long or too deep, or has aliases, which DL4J
        does not write.
    """
    check_length(text, who)
    try:
        _check_events(text, who)
        data = yaml.load(text, Loader=_Loader)
    except FormatError:
        raise
    except (yaml.YAMLError, ValueError) as error:
        raise FormatError(f"{who}: must be YAML, got {error}.") from None
    if not isinstance(data, dict):
        raise FormatError(f"{who}: must be a mapping, got {type(data).__name__}.")
    check_values(data, who)
    return data


def _check_events(text: str, who: str) -> None:
    """Refuse aliases, which can make a short text huge, great depth and number."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_Loader)):
        if number > _MOST_EVENTS:
            raise FormatError(f"{who}: must have at most {_MOST_EVENTS} parts.")
        if isinstance(event, yaml.ScalarEvent) and len(event.value) > LONGEST_TEXT:
            # Its numbers to the base of 60 take quadratic time.
            raise FormatError(
                f"{who}: must have texts of at most {LONGEST_TEXT} characters, got "
                f"one of {len(event.value)}{event.start_mark}."
            )
        if isinstance(event, yaml.AliasEvent):
            raise FormatError(
                f"{who}: must have no aliases, got one{event.start_mark}."
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise FormatError(f"{who}: must be at most {DEEPEST} levels deep.")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader: tags become text in the mapping, and no objects."""


def _tagged(loader: Any, suffix: str, node: Any) -> Any:
    if not isinstance(node, yaml.MappingNode):
        raise yaml.constructor.ConstructorError(
            None, None, f"the tag {suffix!r} must be that of a mapping", node.start_mark
        )
    mapping = _mapping(loader, node)
    if "." not in suffix:
        return {suffix: mapping}
    key = "type" if suffix.startswith(_DISTRIBUTIONS) else "@class"
    return {key: suffix, **mapping}


def _mapping(loader: Any, node: Any) -> dict[str, Any]:
    # Jackson writes counts and layer numbers as plain keys: YAML has numbers there.
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(
                None, None, "a key must be a name", key.start_mark
            )
    return {
        key.value: loader.construct_object(value, deep=True)
        for key, value in node.value
    }


_Loader.add_multi_constructor("!", _tagged)
_Loader.add_multi_constructor("", _tagged)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
# Java writes positive exponents without a sign, which YAML 1.1 takes for text.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"-?[0-9]+\.[0-9]+E[0-9]+\Z"),
    list("-0123456789"),
)


def _object(value: dict[str, Json], indent: int) -> Iterator[str]:
    pad = " " * indent
    for key, item in value.items():
        yield from _entry(f"{pad}{_key(key)}:", item, indent)


def _entry(head: str, item: Json, indent: int) -> Iterator[str]:
    """Yield the lines of a value behind its key."""
    if isinstance(item, dict):
        tag, rest = _tag(item)
        yield _joined(head, tag, "" if rest else "{}")
        yield from _object(rest, indent + 2)
    elif isinstance(item, list):
        yield _joined(head, "", "" if item else "[]")
        yield from _list(item, indent)
    else:
        yield f"{head} {_scalar(item)}"


def _list(items: list[Json], indent: int) -> Iterator[str]:
    pad = " " * indent
    for item in items:
        if isinstance(item, dict | list) and item:
            tag, rest = _tag(item) if isinstance(item, dict) else ("", item)
            lines = list(
                _object(rest, indent + 2)
                if isinstance(rest, dict)
                else _list(rest, indent + 2)
            )
            if tag:
                yield _joined(f"{pad}-", tag, "" if rest else "{}")
                yield from lines
            else:
                yield f"{pad}- {lines[0].lstrip()}"
                yield from lines[1:]
        else:
            yield f"{pad}- {_scalar(item)}"


def _tag(value: dict[str, Json]) -> tuple[str, dict[str, Json]]:
    """Return the tag of an object, or nothing, and its other properties."""
    for key in ("@class", "type"):
        name = value.get(key)
        if isinstance(name, str) and (
            key == "@class" or name.startswith(_DISTRIBUTIONS)
        ):
            return f"!<{name}>", {k: v for k, v in value.items() if k != key}
    if list(value.values()) == [{}]:
        # An object in a wrapper, as old releases wrote all of them.
        return f"!<{next(iter(value))}>", {}
    return "", value


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _key(key: str) -> str:
    if key.isdecimal() or (_PLAIN_KEY.match(key) and not _RESERVED.match(key)):
        return key
    return json.dumps(key, ensure_ascii=False)


def _scalar(value: Json) -> str:
    if isinstance(value, float | np.floating):
        return number_text(value)
    if value in _NO_NUMBERS:
        return str(value)
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return json.dumps(value, ensure_ascii=False)
