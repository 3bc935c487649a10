"""What is simulated: workers, their steps, lines between them, and what goes wrong."""

from dataclasses import dataclass, field
from functools import cached_property

from daskdl.checks import check_at_least, check_count, check_one_of, check_positive
from daskdl.errors import OptionError

SHARED = "shared"
AVERAGING = "averaging"
PLAIN = "plain"
MESH = "mesh"
# Every message to all is one event: more would take minutes.
MOST_TO_ALL = 1024
MOST_WORKERS = 4096


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What a message costs the thread that trains, in milliseconds.

    Parameters
    ----------
    encode_ms : float
        To measure the residual, encode, clip and pack; design 0035 measured them for
        LeNet's 431,080 parameters.
    send_ms : float
        To publish to one receiver, with half of what the event loop took there.
    take_ms : float
        To take one in, with the other half.
    megabyte_ms : float
        Of each 1e6 bytes that are sent or taken in: design 0003 measured 340 to 730
        MB/s into a worker.
    average_ms : float
        Of each 1e6 bytes that are added up in memory.
    """

    encode_ms: float = 0.46
    send_ms: float = 0.33
    take_ms: float = 0.58
    megabyte_ms: float = 2.0
    average_ms: float = 0.2

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            check_at_least("Costs", name, value, 0)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """All that a simulation depends on, its seed included.

    Parameters
    ----------
    workers : int
        From 1 on: at most 1,024 that send to all, 4,096 in a tree.
    master : {'shared', 'averaging'}
        The training master.
    topology : {'plain', 'mesh'}
        Whether updates go to all, or over a tree.
    step_ms : float
        Of a minibatch on one worker.
    jitter : float
        Standard deviation of a step, as a share of it.
    workers_per_host : int
        Workers that share the lines of a host; they reach each other without one.
    latency_ms, bandwidth_mbit : float
        Of the line of each host, in each direction.
    stragglers : tuple of float
        How many times as long the steps of the last workers take.
    deaths : tuple of (rank, second)
        Who dies when.
    minibatches : int
        Of each worker in a phase.
    batch_size : int
        Examples of a minibatch.
    n_params : int
        Where nothing is learned, the length of a dense vector.
    message_kib : float
        Where nothing is learned, of one worker's update.
    averaging_frequency : int
        Minibatches between two rounds of averaging.
    overlap : bool
        Whether workers train on while a round of averaging is under way.
    notice_s : float
        Until the others know of a death; design 0003 measured 0.03 to 0.14.
    seed : int
        Of steps.
    costs : Costs
        Of messages.
    """

    workers: int
    master: str = SHARED
    topology: str = PLAIN
    step_ms: float = 12.5
    jitter: float = 0.05
    workers_per_host: int = 1
    latency_ms: float = 0.1
    bandwidth_mbit: float = 10_000.0
    stragglers: tuple[float, ...] = ()
    deaths: tuple[tuple[int, float], ...] = ()
    minibatches: int = 40
    batch_size: int = 64
    n_params: int = 431_080
    message_kib: float = 9.5
    averaging_frequency: int = 5
    overlap: bool = False
    notice_s: float = 0.1
    seed: int = 1
    costs: Costs = field(default_factory=Costs)

    def __post_init__(self) -> None:
        who = "Setting"
        check_one_of(who, "master", self.master, (SHARED, AVERAGING))
        check_one_of(who, "topology", self.topology, (PLAIN, MESH))
        counts = ("workers", "minibatches", "batch_size", "averaging_frequency")
        for name in (*counts, "n_params", "workers_per_host"):
            check_count(who, name, getattr(self, name))
        for name in ("step_ms", "bandwidth_mbit"):
            check_positive(who, name, getattr(self, name))
        for name in ("jitter", "latency_ms", "message_kib", "notice_s"):
            check_at_least(who, name, getattr(self, name), 0)
        self._check_together()

    def _check_together(self) -> None:
        if self.overlap and self.master != AVERAGING:
            raise OptionError(
                "Setting: overlap goes with master 'averaging', got "
                f"{self.master!r}, which waits for no round."
            )
        if self.master == AVERAGING and self.topology == MESH:
            raise OptionError(
                "Setting: a mesh must carry updates, got master 'averaging', whose "
                "snapshots go to all. Use topology 'plain'."
            )
        most = MOST_WORKERS if self.topology == MESH else MOST_TO_ALL
        if self.workers > most:
            raise OptionError(
                f"Setting: topology {self.topology!r} must have at most {most} "
                f"workers, got {self.workers}."
            )
        if len(self.stragglers) > self.workers:
            raise OptionError(
                f"Setting: stragglers must be at most {self.workers}, as workers are, "
                f"got {len(self.stragglers)}."
            )
        strangers = [rank for rank, _ in self.deaths if not 0 <= rank < self.workers]
        if strangers:
            raise OptionError(
                f"Setting: deaths must be of workers 0 to {self.workers - 1}, got "
                f"{strangers}."
            )

    @property
    def bytes_per_s(self) -> float:
        """Of a line."""
        return self.bandwidth_mbit * 1e6 / 8

    @cached_property
    def hosts(self) -> dict[int, str]:
        """The name of the host of each worker; none where each has one of its own."""
        if self.workers_per_host == 1:
            return {}
        return {rank: str(self.host(rank)) for rank in range(self.workers)}

    def host(self, rank: int) -> int:
        """Return the number of the host that a worker is on."""
        return rank // self.workers_per_host

    def slowness(self, rank: int) -> float:
        """Return how many times as long as others a worker takes."""
        place = rank - (self.workers - len(self.stragglers))
        return self.stragglers[place] if place >= 0 else 1.0
