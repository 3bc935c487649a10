"""Events of a fit as lines of JSON, from its client to the scheduler."""

import json
from dataclasses import asdict
from typing import Any

from daskdl.nn.fitting.events import (
    CheckpointFailed,
    EpochFinished,
    Event,
    FitStarted,
    Progress,
    SpansMeasured,
    WorkerLeftOut,
    WorkerLost,
    WorkersJoined,
    WorkersRejoined,
)

__all__ = ["TOLD", "from_line", "to_line"]

# What the page shows; residuals would be more than all the rest.
TOLD: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        CheckpointFailed,
        EpochFinished,
        FitStarted,
        Progress,
        SpansMeasured,
        WorkerLeftOut,
        WorkerLost,
        WorkersJoined,
        WorkersRejoined,
    )
}


def to_line(event: Event) -> str | None:
    """Return an event as JSON; None if the page has no use for it."""
    kind = type(event).__name__
    if kind not in TOLD:
        return None
    # A listener may report numbers of NumPy.
    return json.dumps([kind, asdict(event)], default=float)


def from_line(line: str) -> Event:
    """Return the event of :func:`to_line`."""
    kind, values = json.loads(line)
    event: Event = TOLD[kind](**{name: _frozen(one) for name, one in values.items()})
    return event


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
