"""Wait for the workers that take the place of all members of a fit."""

import math
import time
from collections.abc import Callable, Collection

from daskdl.cluster.probation import LOOK_AGAIN_S
from daskdl.cluster.worker_wait import WorkerWait

# Those who come back together start together; who comes later joins.
GATHER_S = 2.0
# So many may come and go before one of them can take part: whatever ends them, each of
# them took seconds.
MOST_IN_VAIN = 100


def await_replacements(
    able: Callable[[], list[str]],
    present: Callable[[], Collection[str]],
    ask: Callable[[], None],
    wait: WorkerWait,
    wanted: int,
    timeout_s: float,
) -> list[str]:
    """Return the workers that may start, as many as there were if they come together.

    Parameters
    ----------
    able : callable
        Returns the addresses of those that can take part.
    present : callable
        Returns the addresses of those that have come, whether or not they can yet.
    ask : callable
        Asks for workers; called again and again while there is none.
    wait : WorkerWait
        Told how it goes.
    wanted : int
        How many there were.
    timeout_s : float
        How long to wait for one. It begins anew whenever one comes: who is killed
        before it can take part shows that others may follow.

    Returns
    -------
    addresses : list of str
        Empty if there is none in time.
    """
    end_s = time.monotonic() + timeout_s
    first_s = math.inf
    seen: set[str] = set()
    while len(there := able()) < wanted:
        now = time.monotonic()
        first_s = min(first_s, now) if there else math.inf
        if now > (first_s + GATHER_S if there else end_s):
            break
        here = set(present())
        came = here - seen
        if came and len(seen) < MOST_IN_VAIN:
            end_s = now + timeout_s
            wait.begin_anew()
        seen |= came
        if not there and wait.look(len(here), now, end_s):
            ask()
        time.sleep(LOOK_AGAIN_S)
    return there
