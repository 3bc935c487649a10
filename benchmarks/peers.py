"""The peers: how the process of each is started."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.child import Child

ROOT = Path(__file__).parents[1]
OURS = "daskdl"
OTHER = "other"
LIMIT = "limit"

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True)
class Setting:
    """What all peers of a run have in common.

    Parameters
    ----------
    threads : int
        How many each may use, on as many cores.
    cores : set of int
        The same for all: they take turns.
    interpreters : mapping of str to str
        Paths by the name of the peer; else this interpreter.
    against : str or None
        Another checkout of daskdl.
    """

    threads: int
    cores: frozenset[int]
    interpreters: Mapping[str, str]
    against: str | None = None


def start(peer: str, setting: Setting, **variables: str) -> Child:
    """Start the process of a peer.

    Parameters
    ----------
    peer : str
        One of :data:`PEERS`.
    setting : Setting
        What all peers have in common.
    **variables : str
        Changes of its environment.

    Raises
    ------
    PeerError
        If it cannot be started; the message says why.
    """
    return Child(
        COMMANDS[peer](setting),
        env={**environment(setting.threads), **variables},
        cores=set(setting.cores),
    )


def environment(threads: int) -> dict[str, str]:
    """Return the environment of a peer: ours, with this package and so many threads."""
    multi = "true" if threads > 1 else "false"
    return {
        **os.environ,
        **dict.fromkeys(_THREAD_VARIABLES, str(threads)),
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={multi}",
    }


def interpreter(setting: Setting, peer: str) -> str:
    """Return the Python of a peer: of the command line, the environment, or this."""
    variable = f"DASKDL_BENCH_{peer.upper()}_PYTHON"
    named = setting.interpreters.get(peer) or os.environ.get(variable)
    return named or sys.executable


def _python(peer: str) -> Callable[[Setting], list[str]]:
    def command(setting: Setting) -> list[str]:
        return [interpreter(setting, peer), "-m", f"benchmarks.serve.{peer}"]

    return command


def _other(setting: Setting) -> list[str]:
    folder = setting.against or str(ROOT)
    return [*_python(OURS)(setting), "--checkout", folder]


COMMANDS: dict[str, Callable[[Setting], list[str]]] = {
    OURS: _python(OURS),
    OTHER: _other,
    "torch": _python("torch"),
    LIMIT: _python(LIMIT),
}
