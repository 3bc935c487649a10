"""Files that import each other in a circle: who changes one has to know them all.

An import in a function counts, since it hides a circle and does not break it; one for
types alone (``if TYPE_CHECKING``) does not.
"""

from pathlib import Path

import grimp
import pytest

# A kind and the table that knows it may need each other; more is a knot.
MOST = 3


def circles(*packages: str) -> list[list[str]]:
    """Return the modules that import each other, directly or not, group by group."""
    graph = grimp.build_graph(
        *packages, exclude_type_checking_imports=True, cache_dir=None
    )
    found = {
        frozenset(
            graph.find_upstream_modules(name) & graph.find_downstream_modules(name)
        )
        | {name}
        for name in graph.modules
    }
    return sorted(sorted(group) for group in found if len(group) > 1)


def test_few_modules_import_each_other() -> None:
    found = circles("daskdl", "daskdl_bridge")
    assert [group for group in found if len(group) > MOST] == []


def test_a_circle_through_functions_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "knotted"
    package.mkdir()
    for name, text in {
        "__init__": "",
        "first": "from knotted.second import x",
        "second": "def late():\n    from knotted import third",
        "third": "import knotted.first",
        "typed": "from typing import TYPE_CHECKING\n"
        "from knotted.first import x\n"
        "if TYPE_CHECKING:\n    from knotted.reader import y",
        "reader": "from knotted.typed import z",
    }.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert circles("knotted") == [["knotted.first", "knotted.second", "knotted.third"]]
