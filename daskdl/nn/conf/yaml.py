"""YAML in and out, with the mistakes that PyYAML lets pass refused."""

from collections.abc import Hashable
from typing import Any

import yaml

from daskdl.errors import OptionError


class _UniqueKeyLoader(yaml.SafeLoader):
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
        If the text is no YAML or a mapping has a key twice; the message gives line
        and column.
    """
    try:
        # A subclass of SafeLoader builds plain values only.
        return yaml.load(text, Loader=_UniqueKeyLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "it"
        raise OptionError(
            f"{source}: must be valid YAML, got at {where}: {error.problem}."
        ) from error
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise OptionError(f"{source}: must be valid YAML, got {reason}.") from error


def dump_yaml(value: Any) -> str:
    """Return plain values as YAML, keys in the order they have."""
    text: str = yaml.safe_dump(
        value, sort_keys=False, default_flow_style=None, width=88
    )
    return text
