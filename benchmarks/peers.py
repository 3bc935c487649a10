"""The peers: how the process of each is started."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import dl4j_build
from benchmarks.child import Child

ROOT = Path(__file__).parents[1]
OURS = "daskdl"
OTHER = "other"
TORCH = "torch"
JAX = "jax"
PYARROW = "pyarrow"
DL4J = "dl4j"
DL4J_REPAIRED = "dl4j-repaired"
LIMIT = "limit"
# What daskdl on two workers is compared with.
ONE_WORKER = "one-worker"
CONTROL_PROCESSES = "control-processes"
PLAIN_SCAN = "plain-scan"
SPARK = "dl4j-spark"

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True)
class Sizes:
    """How much is done on clusters.

    Parameters
    ----------
    minibatches : int
        Of a worker, in a fit of "scaling".
    data_gb : float
        What "data" reads, in 1e9 bytes.
    examples : int
        Of an epoch of "job".
    dl4j_spark : str or None
        Folder of what runs DL4J on Spark.
    """

    minibatches: int = 400
    data_gb: float = 1.0
    examples: int = 12_800
    dl4j_spark: str | None = None


@dataclass(frozen=True)
class Setting:
    """What all peers of a run have in common.

    Parameters
    ----------
    threads : int
        How many each may use, on as many cores.
    cores : frozenset of int
        The same for all: they take turns.
    interpreters : mapping of str to str
        Paths of Python by the name of the peer.
    against : str or None
        Another checkout of daskdl.
    sizes : Sizes
        Of the works on clusters.
    """

    threads: int
    cores: frozenset[int]
    interpreters: Mapping[str, str]
    against: str | None = None
    sizes: Sizes = field(default_factory=Sizes)


@dataclass(frozen=True)
class Peer:
    """One of those compared.

    Parameters
    ----------
    title : str
        Printed.
    command : callable
        Returns what starts its process.
    warm_ups : int
        How many times as long as others it needs until it runs at full speed.
    variables : callable
        Returns what its environment has besides.
    """

    title: str
    command: Callable[[Setting], list[str]]
    warm_ups: int = 1
    variables: Callable[[], Mapping[str, str]] = dict


def start(peer: str, setting: Setting, environ: Mapping[str, str]) -> Child:
    """Start the process of a peer.

    Parameters
    ----------
    peer : str
        One of :data:`PEERS`.
    setting : Setting
        What all peers have in common.
    environ : mapping of str to str
        The environment to begin with, as a rule that of this process.

    Raises
    ------
    PeerError
        If it cannot be started; the message says why.
    """
    return Child(
        PEERS[peer].command(setting),
        env={**environment(environ, setting.threads), **PEERS[peer].variables()},
        cores=set(setting.cores),
    )


def start_cluster(setting: Setting) -> Child:
    """Start the process of the works on clusters, which may use all cores.

    Raises
    ------
    PeerError
        If it cannot be started; the message says why.
    """
    sizes = setting.sizes
    command = [interpreter(setting, OURS), "-m", "benchmarks.serve.cluster"]
    command += ["--minibatches", str(sizes.minibatches)]
    command += ["--data-gb", str(sizes.data_gb), "--examples", str(sizes.examples)]
    if sizes.dl4j_spark is not None:
        command += ["--dl4j-spark", sizes.dl4j_spark]
    return Child(command, env=environment(os.environ, 1), cores=os.sched_getaffinity(0))


def environment(environ: Mapping[str, str], threads: int) -> dict[str, str]:
    """Return an environment with this package, and so many threads."""
    multi = "true" if threads > 1 else "false"
    return {
        **environ,
        **dict.fromkeys(_THREAD_VARIABLES, str(threads)),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "bridge")]),
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


PEERS = {
    OURS: Peer("daskdl", _python(OURS)),
    OTHER: Peer("other checkout", _other),
    TORCH: Peer("PyTorch", _python(TORCH)),
    JAX: Peer("JAX", _python(JAX)),
    PYARROW: Peer("pyarrow", _python(PYARROW)),
    DL4J_REPAIRED: Peer(
        "DL4J repaired",
        lambda _: dl4j_build.command(is_repaired=True),
        warm_ups=8,
        variables=dl4j_build.repairs,
    ),
    DL4J: Peer(
        "DL4J as released", lambda _: dl4j_build.command(is_repaired=False), warm_ups=8
    ),
    LIMIT: Peer("the machine", _python(LIMIT)),
}

TITLES = {
    **{name: peer.title for name, peer in PEERS.items()},
    ONE_WORKER: "one worker",
    CONTROL_PROCESSES: "two processes alone",
    PLAIN_SCAN: "a plain scan",
    SPARK: "DL4J on Spark",
}
