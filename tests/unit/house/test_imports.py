"""What importing daskdl brings along, asked in fresh processes."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("distributed", "numba", "llvmlite", "cupy", "pyspark")


def loaded_after(code: str) -> set[str]:
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def loaded_by_package() -> set[str]:
    return loaded_after("import daskdl")


@pytest.fixture(scope="module")
def loaded_by_help() -> set[str]:
    return loaded_after(
        "import contextlib, io\n"
        "from daskdl.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), "
        "contextlib.suppress(SystemExit):\n"
        "    main(['--help'])"
    )


@pytest.fixture(scope="module")
def loaded_by_path() -> set[str]:
    sample = Path(__file__).parents[2] / "data" / "spark" / "parquet_array"
    return loaded_after(f"import daskdl; daskdl.open_source({str(sample)!r})")


@pytest.mark.parametrize("name", HEAVY)
def test_package_import_is_light(loaded_by_package: set[str], name: str) -> None:
    assert name not in loaded_by_package


@pytest.mark.parametrize("name", HEAVY)
def test_help_is_light(loaded_by_help: set[str], name: str) -> None:
    assert name not in loaded_by_help


@pytest.mark.parametrize("name", [*HEAVY, "deltalake", "pyiceberg", "fastavro"])
def test_opening_a_path_is_light(loaded_by_path: set[str], name: str) -> None:
    """Every opener is asked, also those of what is not there."""
    assert name not in loaded_by_path


def test_bridge_is_not_loaded_by_the_package(loaded_by_package: set[str]) -> None:
    """The bridge is found by entry point, when a path is opened."""
    assert "daskdl_bridge" not in loaded_by_package


def test_every_public_name_resolves() -> None:
    """A name in daskdl.__all__ that is misspelt would fail only at a user's import."""
    import daskdl

    missing = [name for name in daskdl.__all__ if getattr(daskdl, name, None) is None]
    assert missing == []


def test_type_checkers_know_every_public_name() -> None:
    """They read the stub; the table beside it is what runs."""
    import daskdl

    stub = Path(daskdl.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {
        node.module: tuple(sorted(alias.name for alias in node.names))
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
    }
    table = {module: tuple(sorted(names)) for module, names in daskdl._HOMES.items()}
    assert homes == table
    assert all(f'    "{name}",\n' in stub for name in daskdl.__all__)


def test_module_of_a_user_named_bridge_takes_no_place(tmp_path: Path) -> None:
    """Scripts run with their own folder first in the path."""
    (tmp_path / "bridge.py").write_text("raise RuntimeError('not this one')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from importlib.metadata import entry_points\n"
        "for group in ('sources', 'sinks', 'filesystems', 'formats', 'class_files'):\n"
        "    for point in entry_points(group=f'daskdl.{group}'):\n"
        "        point.load()"
    )
    assert "bridge" not in loaded_after(code)
