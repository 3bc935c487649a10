"""Where the files are that the real DL4J wrote."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of the golden files; the test is skipped where there is none."""
    default = REPOSITORY.parent / "shared" / "fixtures" / "dl4j"
    root = Path(os.environ.get("DASKDL_GOLDEN") or default)
    if not (root / "manifest.json").is_file():
        pytest.skip("no golden files; DASKDL_GOLDEN names their folder")
    return root


@pytest.fixture(scope="session")
def manifest(golden: Path) -> dict[str, Any]:
    """What each golden case is, as its generator wrote it."""
    found: dict[str, Any] = json.loads((golden / "manifest.json").read_text("utf-8"))
    return found
