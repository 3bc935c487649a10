"""The blocks of code in the guides, as whoever reads a page meets them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
    ROOT / "docs" / "gpu.md",
    ROOT / "docs" / "migrating.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "examples").glob("*/README.md")),
]
# Four spaces after an empty line: commands, in all pages.
SHELL = "sh"


@dataclass(frozen=True)
class Block:
    """Some lines of code.

    Attributes
    ----------
    page : str
        Path from the root of the project.
    line : int
        Where it begins, for messages.
    kind : str
        The language that is named, or ``sh`` for what is indented.
    text : str
        Without fence and indentation.
    """

    page: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(*kinds: str, page: str | None = None) -> list[Block]:
    """Return the blocks of some kinds, of one page or of all, in their order."""
    found = (block for path in PAGES for block in _blocks(path))
    return [
        block for block in found if block.kind in kinds and page in (None, block.page)
    ]


def commands(block: Block) -> list[str]:
    """Return the commands of a block, those that go on in the next line joined."""
    joined = re.sub(r"\s*\\\n\s*", " ", block.text)
    lines = (re.sub(r"\s+#.*$", "", line).strip() for line in joined.splitlines())
    return [part.strip() for line in lines if line for part in line.split("&&")]


def _blocks(path: Path) -> Iterator[Block]:
    page = str(path.relative_to(ROOT))
    lines = path.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        fence = re.fullmatch(r"```(\S*)(?: .*)?", lines[number])
        begin = number + 1
        if fence:
            number = lines.index("```", begin)
            yield Block(page, begin, fence[1], "\n".join(lines[begin:number]))
        elif lines[number].startswith("    ") and not lines[number - 1]:
            while number < len(lines) and lines[number][:4] in ("", "    "):
                number += 1
            text = "\n".join(line[4:] for line in lines[begin - 1 : number])
            yield Block(page, begin, SHELL, text.rstrip())
            continue
        number += 1
