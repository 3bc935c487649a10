"""What happens, to which master, at which moment: the table of faults."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from tests.integration.cluster.faults import pool


class Moment(Enum):
    """When it happens."""

    SCAN = "scan"  # before the data are read for the first time
    START = "start"  # before members are started
    EPOCH = "epoch"  # amid the second epoch
    BORDER = "border"  # at the end of the first
    FINISH = "finish"  # before members return the network
    EVALUATE = "evaluate"  # amid an evaluation
    PREDICT = "predict"  # amid predictions


class Fault(Enum):
    """What happens."""

    NONE = "none"
    KILL_ONE = "kill one"
    KILL_ALL = "kill all"
    STOP_A_WHILE = "stop for 20 s"
    STOP_FOR_GOOD = "stop for good"
    RESTART = "restart"
    SCALE = "scale"
    CUT = "cut"
    MEMORY = "memory full"
    CLIENT_KILLED = "client killed"
    DISK_FULL = "disk full"
    NAN = "NaN"


STRIKES: dict[Fault, Callable[[pool.Pool], None]] = {
    Fault.KILL_ONE: pool.kill_one,
    Fault.KILL_ALL: pool.kill_all,
    Fault.STOP_A_WHILE: pool.stop_for_a_while,
    Fault.STOP_FOR_GOOD: pool.stop_for_good,
    Fault.RESTART: pool.restart,
    Fault.SCALE: pool.scale,
    Fault.CUT: pool.cut,
    Fault.MEMORY: pool.fill_memory,
}
MASTERS = ("sharing", "averaging", "allreduce")
_OF_NO_MASTER = (Moment.SCAN, Moment.EVALUATE, Moment.PREDICT)
# Where else than anywhere a fault can happen.
_ONLY = {
    # Without members there is no connection between workers.
    Fault.CUT: (Moment.EPOCH, Moment.BORDER, Moment.FINISH),
    Fault.DISK_FULL: (Moment.BORDER,),
    Fault.NAN: (Moment.EPOCH,),
}


@dataclass(frozen=True)
class Cell:
    """One entry of the table."""

    fault: Fault
    master: str
    moment: Moment

    @property
    def name(self) -> str:
        return f"{self.fault.value}/{self.master}/{self.moment.value}"


def cells() -> Iterator[Cell]:
    """Return all cells that can happen."""
    for fault in Fault:
        for moment in _ONLY.get(fault, tuple(Moment)):
            masters = MASTERS[:1] if moment in _OF_NO_MASTER else MASTERS
            for master in masters:
                yield Cell(fault, master, moment)


def cell_named(name: str) -> Cell:
    return next(cell for cell in cells() if cell.name == name)
