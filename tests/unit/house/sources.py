"""The modules of the checkout, as the tests of this folder walk them."""

from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("daskdl", "bridge")


def module_files() -> list[Path]:
    return sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
