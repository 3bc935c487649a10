import pytest

from daskdl.arrays.workspace import Workspace


@pytest.fixture
def workspace() -> Workspace:
    return Workspace()
