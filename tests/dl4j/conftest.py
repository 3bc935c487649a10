"""One process of the real DL4J for all tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dl4j.java_build import BuildError, classpath
from tests.dl4j.real_dl4j import RealDl4j
from tests.golden.conftest import golden, manifest

__all__ = ["golden", "manifest"]

HERE = Path(__file__).parent
TIMEOUT_S = 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            # Maven's downloads, in the first test's fixture, take longer.
            given = item.get_closest_marker("timeout")
            patience = given.args[0] if given else TIMEOUT_S
            item.add_marker(pytest.mark.timeout(patience, func_only=True), append=False)


@pytest.fixture(scope="session")
def dl4j(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDl4j]:
    """The real DL4J; ``.ask(...)`` makes it do something."""
    try:
        compiled = classpath()
    except BuildError as error:
        pytest.skip(f"no DL4J: {error}")
    process = RealDl4j(compiled, tmp_path_factory.mktemp("dl4j"))
    yield process
    process.close()
