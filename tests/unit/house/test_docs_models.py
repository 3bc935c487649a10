"""What the page on saved networks lists is what there is."""

import re
from typing import Any

import pytest

from daskdl.formats.conversion import FORMATS
from daskdl.formats.onnx.table import WRITERS
from daskdl.nn.conf.values import tag_of
from tests.unit.house.sources import ROOT

PAGE = ROOT / "docs" / "guide" / "models.md"


def rows(title: str) -> dict[str, set[str]]:
    """Return what is quoted in each row of the tables below a heading."""
    text = PAGE.read_text(encoding="utf-8").partition(f"## {title}\n")[2]
    text = text.partition("\n## ")[0]
    found = re.findall(r"^\| ([^|]*) \| (.*) \|$", text, flags=re.MULTILINE)
    return {head: set(re.findall(r"`([^`]+)`", rest)) for head, rest in found}


@pytest.mark.parametrize(
    ("writers", "heads"),
    [
        (WRITERS.vertices, {"vertices"}),
        (WRITERS.preprocessors, {"preprocessors"}),
        (WRITERS.layers, rows("ONNX").keys() - {"vertices", "preprocessors"}),
    ],
    ids=["vertices", "preprocessors", "layers"],
)
def test_the_table_of_onnx_is_what_is_written(writers: Any, heads: set[str]) -> None:
    listed = set().union(*(rows("ONNX")[head] for head in heads))
    assert listed == {tag_of(kind) for kind in writers}


def test_the_table_of_conversions_lists_all_formats() -> None:
    listed = set().union(*rows("Convert").values())
    assert FORMATS.keys() <= listed
