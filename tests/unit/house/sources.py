"""The modules of the checkout, as the tests of this folder walk them."""

from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = (ROOT / "daskdl", ROOT / "bridge" / "daskdl_bridge")


def module_files() -> list[Path]:
    return sorted(path for package in PACKAGES for path in package.rglob("*.py"))


def module_name(path: Path) -> str:
    (package,) = (package for package in PACKAGES if path.is_relative_to(package))
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
