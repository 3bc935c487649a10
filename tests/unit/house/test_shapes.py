"""Public functions that take or return arrays say in which shapes."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.unit.house.sources import module_files, module_name

# Not all: rather a few without than words for the sake of a number.
LEAST_SHARE = 0.90

_ALIAS = re.compile(
    r"^(\w+)(?:: TypeAlias)? = (?!Callable).*\b(?:NDArray|FloatArray)\b", re.M
)

# An axis is a name, a number or a small sum of them: ``(batch, *shape, 4 * n_out)``.
_AXIS = r"(?:\*?[A-Za-z_][\w.]*|\d+(?:[ ][a-z]\w*)?|\.\.\.)(?:[ ]?[-+*/]+[ ]?[\w.]+)*"
_STATED = re.compile(
    rf"""(?<![\w`])\((?=[^()]*[A-Za-z])(?:{_AXIS},\s*)+(?:{_AXIS})?\)
    | \bof\s+(?:shape\s\(|`shape`)
    | \b(?:any|same)\s+shape\b
    | \bthe\s+shape\s+(?:of|that)\b
    | \barray\s+like\b
    | \blike\s`
    """,
    re.VERBOSE,
)
_REFERENCE = re.compile(
    r"\b(?:see|what|as|of|in|for)\s+:(?:meth|func):`[~.]?([\w.]+)`", re.IGNORECASE
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Documented:
    """A public function or method: where it is, and what its docstring says."""

    module: str
    scope: str
    text: str
    has_arrays: bool


def names_in(annotation: ast.expr | None) -> Iterator[str]:
    """Yield the names of an annotation; what a function in it takes is not given."""
    match annotation:
        case None:
            return
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Constant(value=str(text)):
            yield from names_in(ast.parse(text, mode="eval").body)
        case ast.Subscript(value=ast.Name(id="Callable" | "Literal")):
            return
        case _:
            for child in ast.iter_child_nodes(annotation):
                if isinstance(child, ast.expr):
                    yield from names_in(child)


def public(node: ast.AST, scope: str = "") -> Iterator[tuple[str, Function]]:
    for child in getattr(node, "body", []):
        if not isinstance(child, Function | ast.ClassDef) or child.name[0] == "_":
            continue
        if isinstance(child, ast.ClassDef):
            yield from public(child, f"{scope}{child.name}.")
        else:
            yield f"{scope}{child.name}", child


def has_arrays(function: Function, arrays: set[str]) -> bool:
    args = function.args
    given = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    annotations = [arg.annotation for arg in given if arg] + [function.returns]
    return any(arrays.intersection(names_in(each)) for each in annotations)


def imported(tree: ast.Module, called: dict[str, set[str]]) -> set[str]:
    """Return the names of arrays that a module has from others."""
    return {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in called.get(node.module or "", ())
    }


def documented() -> dict[str, Documented]:
    """Return all by their dotted names; overloads are one with what they are of."""
    texts = {module_name(path): path.read_text("utf-8") for path in module_files()}
    called = {module: set(_ALIAS.findall(text)) for module, text in texts.items()}
    found = {}
    for module, text in texts.items():
        tree = ast.parse(text)
        arrays = {"NDArray", *called[module], *imported(tree, called)}
        for name, function in public(tree):
            said = (ast.get_docstring(function) or "").partition("Examples\n---")[0]
            takes = has_arrays(function, arrays)
            found[f"{module}.{name}"] = Documented(
                module, name.rpartition(".")[0], said, takes
            )
    return found


def states(name: str, known: dict[str, Documented], seen: frozenset[str]) -> bool:
    """Return whether a docstring states shapes, or refers to one that does."""
    here = known[name]
    if _STATED.search(here.text):
        return True
    for other in _REFERENCE.findall(here.text):
        scoped = [f"{here.module}.{other}", f"{here.module}.{here.scope}.{other}"]
        ends = [each for each in known if each == other or each.endswith(f".{other}")]
        for each in [*(full for full in scoped if full in known), *ends][:1]:
            if each not in seen and states(each, known, seen | {each}):
                return True
    return False


def test_docstrings_state_the_shapes_of_arrays() -> None:
    known = documented()
    counted = [name for name, each in known.items() if each.has_arrays]
    silent = [name for name in counted if not states(name, known, frozenset({name}))]
    worst = Counter(known[name].module for name in silent).most_common(20)
    share = 1 - len(silent) / len(counted)
    assert share >= LEAST_SHARE, f"{share:.1%} of {len(counted)}, without: {worst}"


@pytest.mark.parametrize(
    ("text", "is_stated"),
    [
        ("x : ndarray of shape (batch, time, 4 * n_out), float32", True),
        ("Return the sum over the batch, (n_out,).", True),
        ("Return a copy, an array like `x`, which may be of any shape.", True),
        ("Blocks of the gates, (batch, 4 n).", True),
        ("x : ndarray", False),
        ("Return the function f(x, y) of the batch (see above), or (2, 3).", False),
    ],
)
def test_what_counts_as_a_shape(text: str, is_stated: bool) -> None:
    assert bool(_STATED.search(text)) == is_stated
