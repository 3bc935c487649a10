"""What goes wrong in a simulated fit, one thing each."""

from collections.abc import Collection
from enum import Enum, auto

from tests.unit.cluster.simulation_cluster import Fate, Worker


class Fault(Enum):
    """A fault of one worker; the others are healthy."""

    NONE = auto()
    KILLED_AS_IT_STARTS = auto()
    KILLED_IN_THE_FIRST_EPOCH = auto()
    KILLED_BETWEEN_EPOCHS = auto()
    KILLED_IN_THE_SECOND_EPOCH = auto()
    KILLED_AT_THE_FINISH = auto()
    # The scheduler gives it up, and it lives on for a while.
    LOST_BUT_ALIVE = auto()
    # Its messages wait at its peers' doors, and theirs at its own.
    SLOW = auto()
    JOINS_LATE = auto()
    KILLED_AFTER_IT_JOINED = auto()


# Orders are: train, end the epoch, train, end the epoch, finish.
_FATES = {
    Fault.KILLED_AS_IT_STARTS: Fate(0, 5),
    Fault.KILLED_IN_THE_FIRST_EPOCH: Fate(1, 150),
    Fault.KILLED_BETWEEN_EPOCHS: Fate(2, 10),
    Fault.KILLED_IN_THE_SECOND_EPOCH: Fate(3, 150),
    Fault.KILLED_AT_THE_FINISH: Fate(5, 40),
    Fault.LOST_BUT_ALIVE: Fate(3, 150, is_zombie=True),
    Fault.KILLED_AFTER_IT_JOINED: Fate(1, 150),
}
_LATE = (Fault.JOINS_LATE, Fault.KILLED_AFTER_IT_JOINED)


def workers_with(
    fault: Fault, healthy: int = 2, places: Collection[int] = ()
) -> list[Worker]:
    """Return healthy workers, and one more that has the fault, or one at each place."""
    n_faulty = len(places) or 1
    return [
        _faulty(fault, number)
        if number in (places or {healthy})
        else Worker(f"w{number}")
        for number in range(healthy + n_faulty)
    ]


def _faulty(fault: Fault, number: int) -> Worker:
    worker = Worker(f"faulty{number}", _FATES.get(fault), is_slow=fault is Fault.SLOW)
    if fault in _LATE:
        worker.from_epoch = 1
    return worker
