"""YAML in and out: the numbers of YAML 1.2, and what PyYAML lets pass refused.

PyYAML reads YAML 1.1, where ``1e-3`` is text and ``12:30`` is 750.
"""

import re
from collections.abc import Hashable
from typing import Any

import yaml

from daskdl.errors import OptionError

_FLOAT = "tag:yaml.org,2002:float"
_INT = "tag:yaml.org,2002:int"
# As the core schema of YAML 1.2 has them, and with PyYAML's underscores.
_PATTERNS = {
    _FLOAT: (
        r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"
        r"|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)"
    ),
    _INT: r"[-+]?(?:0b[0-1_]+|0[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)",
}
_FIRST = list("-+.0123456789")
# Jobs are some ten levels deep; layers that wrap others add two each.
_DEEPEST = 100
# Parts of a job, keys and values; aliases count as often as they are used.
_MOST_PARTS = 1_000_000
_LARGEST = 16 << 20


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses a key that stands twice in one mapping."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, Any]:
        """Refuse what PyYAML would drop silently: the first of two equal keys."""
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                continue
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


class _Dumper(yaml.SafeDumper):
    """Puts text that the loader takes for a number between quotes."""


def _read_numbers_of_yaml_1_2(*kinds: Any) -> None:
    for kind in kinds:
        kind.yaml_implicit_resolvers = {
            first: [each for each in resolvers if each[0] not in _PATTERNS]
            for first, resolvers in kind.yaml_implicit_resolvers.items()
        }
        for tag, pattern in _PATTERNS.items():
            kind.add_implicit_resolver(tag, re.compile(rf"(?:{pattern})\Z"), _FIRST)


_read_numbers_of_yaml_1_2(_Loader, _Dumper)


def load_yaml(text: str, source: str = "YAML") -> Any:
    """Return what `text` holds.

    Parameters
    ----------
    text : str
        One YAML document, or JSON.
    source : str
        What messages call it, e.g. the path of the file.

    Raises
    ------
    OptionError
        If the text is no YAML, a mapping has a key twice, or it is too deep or too
        long; the message gives line and column.
    """
    try:
        _check_events(text, source)
        # A subclass of SafeLoader builds plain values only.
        value = yaml.load(text, Loader=_Loader)
    except OptionError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "it"
        raise OptionError(
            f"{source}: must be valid YAML, got at {where}: {error.problem}."
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise OptionError(f"{source}: must be valid YAML, got {reason}.") from error
    _check_parts(value, source)
    return value


def dump_yaml(value: Any) -> str:
    """Return plain values as YAML, keys in the order they have."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=88
    )
    return text


def _check_events(text: str, source: str) -> None:
    """Refuse depth and length before PyYAML recurses; its parser does not."""
    if len(text) > _LARGEST:
        raise OptionError(
            f"{source}: must have at most {_LARGEST} characters, got {len(text)}."
        )
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            mark = event.start_mark
            where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "it"
            raise OptionError(
                f"{source}: must be at most {_DEEPEST} levels deep, got more at "
                f"{where}."
            )


def _check_parts(value: Any, source: str) -> None:
    """Refuse aliases of aliases, each of which is copied when values are checked."""
    waiting = [value]
    parts = 0
    while waiting:
        part = waiting.pop()
        parts += 1
        if parts > _MOST_PARTS:
            raise OptionError(
                f"{source}: must have at most {_MOST_PARTS} parts, with aliases "
                "written out."
            )
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
