"""The works: what each name of the command line stands for."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.results import Limit
from benchmarks.serve.layer_shapes import LAYER, LAYER_CASES
from benchmarks.serve.limit import ADDITION, FLOAT32, FMA
from benchmarks.serve.shapes import (
    CODER,
    DATA,
    DECODE,
    ENCODE,
    EPOCH,
    FIT,
    JOB,
    LENGTHS,
    MEMORY,
    NETS,
    OUTPUT,
    PACK,
    PREDICT,
    PREDICTED,
    READ,
    READING,
    RUN,
    SCALED,
    SCALING,
    START,
    THRESHOLD,
    UNPACK,
)

LAYERS = "layers"

# Read both, write one: float32.
_BYTES_AN_ELEMENT = 12
# Read and write the parameter and its velocity: float32.
_BYTES_AN_UPDATE = 16
_CORE = (*FMA, FLOAT32)
# Of a vector that does not stay in a cache.
_MEMORY = (*ADDITION, "10M")
# What the head of the tables says of the machine.
PEAKS = {"Gflop/s": _CORE, "GB/s": _MEMORY}


@dataclass(frozen=True)
class Timing:
    """A work that peers take turns in.

    Parameters
    ----------
    case, what : str
        What a peer is asked for.
    limits : tuple of (case, what, variant)
        What the machine is asked for meanwhile.
    limit : Limit or None
        What the work is of that.
    share_of_turn : float
        How long its turns are, of what others take.
    most_rounds : int
        More are not done.
    """

    case: str
    what: str
    limits: tuple[tuple[str, str, str], ...] = ()
    limit: Limit | None = None
    share_of_turn: float = 1.0
    most_rounds: int = 1000


# Each asks for processes of its own.
ALONE = (START, MEMORY)
# Each is measured on two workers, and by the clock on the wall.
CLUSTERS = (SCALING, DATA, JOB)


def names() -> list[str]:
    """Return the names of all works, in the order of the tables."""
    return [*NETS, THRESHOLD, CODER, READING, *ALONE, *CLUSTERS, LAYERS]


def cluster_timings(name: str, examples: int) -> list[Timing]:
    """Return what is asked for on two workers.

    Parameters
    ----------
    name : str
        One of `CLUSTERS`.
    examples : int
        Of a job.
    """
    if name == SCALING:
        return [Timing(SCALING, net) for net in SCALED]
    # Calls are long, and what they compile is kept on disk.
    if name == DATA:
        return [Timing(DATA, EPOCH, share_of_turn=0, most_rounds=2)]
    predicted = [f"{PREDICT}-{factor * examples}" for factor in PREDICTED]
    return [
        Timing(JOB, what, share_of_turn=0, most_rounds=3) for what in (RUN, *predicted)
    ]


def timings(name: str) -> list[Timing]:
    """Return what peers take turns in for a name; nothing for the other works."""
    if name in NETS:
        return list(_steps(name))
    if name == THRESHOLD:
        return list(_messages())
    if name == CODER:
        return [
            Timing(CODER, f"{what}-{n}") for n in LENGTHS for what in (PACK, UNPACK)
        ]
    if name == READING:
        return [Timing(READING, what) for what in READ]
    if name == LAYERS:
        # There are many, and a call is short.
        return [Timing(LAYER, kind, share_of_turn=0.25) for kind in LAYER_CASES]
    return []


def _steps(name: str) -> Iterator[Timing]:
    net = NETS[name]
    if net.n_table:
        limit = Limit("GB/s", float(net.n_table * _BYTES_AN_UPDATE))
        yield Timing(name, FIT, (_MEMORY,), limit)
        # A few rows are read: neither memory nor products.
        yield Timing(name, OUTPUT)
        return
    for what in (FIT, OUTPUT):
        limit = Limit("Gflop/s", float(net.flops(what)))
        yield Timing(name, what, (_CORE,), limit)


def _messages() -> Iterator[Timing]:
    for length, n in LENGTHS.items():
        n_bytes = float(n * _BYTES_AN_ELEMENT)
        limit = Limit("GB/s", n_bytes)
        limits = ((*ADDITION, length),)
        yield Timing(THRESHOLD, f"{ENCODE}-{length}", limits, limit)
        yield Timing(THRESHOLD, f"{DECODE}-{length}")
