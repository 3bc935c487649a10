"""Who needs the bus: fits, and clients that installed it. Kept on the scheduler.

A fit reports to its client by events, which Dask keeps for as long as the scheduler
lives, up to a thousand a topic. They go with the fit.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Members that may be late ask before they say something. What others said in the moment
# in which the client let go is on its way, and one may be stopped behind its question.
LAST_EVENTS_S = (5.0, 60.0, 600.0)


@dataclass(frozen=True)
class Holder:
    """A user of the bus.

    Attributes
    ----------
    client : str
        Whose it is.
    events : str or None
        The topic of the events that it gets.
    """

    client: str
    events: str | None = None


def forget_events(scheduler: Any, topic: str) -> None:
    """Drop the events of a fit that has ended, those too that are on their way."""
    _drop(scheduler, topic)
    for later_s in LAST_EVENTS_S:
        asyncio.get_running_loop().call_later(later_s, _drop, scheduler, topic)


def _drop(scheduler: Any, topic: str) -> None:
    # Dask has no public way to, from 2024.8 to 2026.8. Where this one is missing they
    # stay, as they always did.
    topics = getattr(getattr(scheduler, "_broker", None), "_topics", {})
    topics.pop(topic, None)


def end_holder(names: Sequence[str], holder: str, dask_worker: Any) -> None:
    """Tell the plugins of a worker that a holder's client is gone."""
    for name in names:
        end = getattr(dask_worker.plugins.get(name), "end", None)
        if end is not None:
            end(holder)
