"""How the workers start of clusters that a test starts in its own process."""

from collections.abc import Iterator
from multiprocessing import forkserver

import dask
import pytest

START = "distributed.worker.multiprocessing-method"
# What a worker imports before it trains; pytest since it is the program of the tests.
IMPORTED = [
    "distributed",
    "daskdl.cluster.session",
    "daskdl.cluster.bus.worker_plugin",
    "daskdl_bridge",
    "pytest",
]


@pytest.fixture(scope="session", autouse=True)
def workers_are_forked() -> Iterator[None]:
    """Fork workers from a process that has imported what they need.

    A spawned worker imports for more than a second of a core, longer than most tests
    train. Commands and programs that tests run spawn theirs as they do for users.
    """
    # Imported here: pytest loads this file before it listens to loggers, and those of
    # Dask would keep to themselves what they tell.
    from distributed.utils import get_mp_context

    with dask.config.set({START: "forkserver"}):
        # When it is first called it says itself what the server is to import.
        get_mp_context()
        forkserver.set_forkserver_preload(IMPORTED)
        yield


@pytest.fixture(scope="module")
def workers_are_spawned() -> Iterator[None]:
    """Spawn workers: each begins with the environment that its cluster gives it."""
    with dask.config.set({START: "spawn"}):
        yield
