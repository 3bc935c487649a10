"""Markers by folder, fixtures for all tests, and what a missing JVM or HDFS means."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent

# No test asserts a time, nor does Hypothesis. CI sees the same examples every time;
# what others find on their machines becomes a test of its own.
settings.register_profile(
    "daskdl",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("daskdl")

# The folder below tests/ gives the marker, so that no test can forget it.
MARKED_FOLDERS = frozenset({"dl4j", "golden", "integration", "spark", "hdfs", "gpu"})
# Where processes start one after another, beside those of other rows: on a busy machine
# such a test took 55 s of the 60 s of all others. What hangs is told a bit later.
PATIENT_FOLDERS = frozenset({"integration", "spark", "hdfs"})
PATIENCE_S = 300
REQUIRED = pytest.StashKey[frozenset[str]]()


@pytest.fixture(autouse=True)
def own_memory_store() -> Iterator[None]:
    """Empty fsspec's store of this process: another test may use the same URL."""
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260101)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REQUIRED] = required_parts()


# First, because pytest deselects by marker in this same hook.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(HERE).parts[0]
        if folder in MARKED_FOLDERS:
            item.add_marker(folder)
        if folder in PATIENT_FOLDERS and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(PATIENCE_S))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail what is skipped although ``DASKDL_REQUIRE`` says that its part is there."""
    report = yield
    marks = {mark.name for mark in item.iter_markers()}
    missing = sorted(item.config.stash[REQUIRED] & marks)
    if report.skipped and missing and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if report.longrepr else "no reason given"
        report.outcome = "failed"
        report.longrepr = f"DASKDL_REQUIRE={','.join(missing)}: {reason}"
    return report


def required_parts() -> frozenset[str]:
    """Return the markers of the parts that this machine must have."""
    names = os.environ.get("DASKDL_REQUIRE", "").split(",")
    parts = frozenset(name.strip() for name in names if name.strip())
    if not parts <= MARKED_FOLDERS:
        raise pytest.UsageError(
            f"DASKDL_REQUIRE: must name some of {sorted(MARKED_FOLDERS)}, "
            f"got {sorted(parts)}."
        )
    return parts


@pytest.fixture
def forget_kinds() -> Iterator[None]:
    """Take out again what a test registers: later ones may use the names."""
    # It imports the package, which not all tests need.
    from tests.forgotten_kinds import forgotten_kinds

    with forgotten_kinds():
        yield
