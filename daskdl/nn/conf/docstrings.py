"""What the docstrings of configurations say of each option, for schemas."""

import inspect
import re

_PARAMETERS = re.compile(
    r"^Parameters\n-+\n(.*?)(?=\n\n\S[^\n]*\n-+\n|\Z)", re.DOTALL | re.MULTILINE
)
_ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")


def summary_of(model: type) -> str:
    """Return the first paragraph of a class's own docstring, on one line."""
    paragraph, _, _ = _own_docstring(model).partition("\n\n")
    return _plain(" ".join(paragraph.split()))


def descriptions_of(model: type) -> dict[str, str]:
    """Return what the sections *Parameters* say, by the name of the parameter.

    What a class says goes before what its bases say.
    """
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        found |= _own_descriptions(base)
    return found


def _own_descriptions(model: type) -> dict[str, str]:
    section = _PARAMETERS.search(_own_docstring(model))
    if section is None:
        return {}
    lines: dict[str, list[str]] = {}
    names: list[str] = []
    for line in section[1].splitlines():
        if line and not line[0].isspace():
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
            lines |= {name: [] for name in names}
        elif line.strip():
            for name in names:
                lines[name].append(line.strip())
    return {name: _plain(" ".join(text)) for name, text in lines.items()}


def _own_docstring(model: type) -> str:
    return inspect.cleandoc(model.__dict__.get("__doc__") or "")


def _plain(text: str) -> str:
    """Return text without the marks of reStructuredText."""
    return _ROLE.sub(r"`\1`", text).replace("``", "`")
