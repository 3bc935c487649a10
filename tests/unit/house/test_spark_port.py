"""The README of the Spark example quotes its program."""

import re

from tests.unit.house.sources import ROOT

PORT = ROOT / "examples" / "spark_port"


def squeezed(text: str) -> str:
    """Return code without blanks, which line breaks change."""
    return re.sub(r"\s+", "", text).replace(",)", ")")


def test_every_line_beside_the_java_is_in_the_program() -> None:
    program = squeezed((PORT / "lenet.py").read_text(encoding="utf-8"))
    rows = re.findall(
        r"^\| .* \| ([^|]*) \|$",
        (PORT / "README.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    quoted = [span for row in rows for span in re.findall("`([^`]+)`", row)]
    assert len(quoted) > 20
    assert [span for span in quoted if squeezed(span) not in program] == []
