"""Orders from the driver to the members of a session.

Orders travel from the client to a worker's mailbox and may hold arrays. Reports travel
as scheduler events and hold plain values only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from daskdl.cluster.masters.options import TrainingMaster
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.plan import Minibatch
from daskdl.data.room import LEAST_ROOM
from daskdl.data.sources.partition import Partition


@dataclass(frozen=True, kw_only=True)
class SessionSpec:
    """The settings of a session, the same for all its members.

    A member keeps `cache_bytes` of the data, and reads `ahead_bytes` ahead.
    """

    session: str
    master: TrainingMaster
    normalizer: Normalizer | None = None
    cache_bytes: int = LEAST_ROOM.cache_bytes
    ahead_bytes: int = 0

    @property
    def topic(self) -> str:
        """Name of the bus topic and of the scheduler events of the session."""
        return f"daskdl-{self.session}"


@dataclass(frozen=True, kw_only=True)
class Restore:
    """Go on with what a member had in an earlier session; see `ClusterExchange`."""

    state: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class TrainPhase:
    """Train these minibatches, together with these members.

    An epoch is one phase; if a member is lost, its unfinished minibatches are dealt
    again as a further phase. `members` are ranks, `hosts` those that they are on, each
    named by :func:`~daskdl.cluster.host_memory.host_here`. `partitions` are those that
    this member has not been given before. `totals` are how many minibatches each member
    trains; None if that is not settled: more may come, or some may go, until the phase
    is closed.
    """

    phase: int
    epoch: int
    members: frozenset[int]
    minibatches: tuple[Minibatch, ...]
    partitions: Mapping[int, Partition] = field(default_factory=dict)
    totals: Mapping[int, int] | None = None
    hosts: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MoreWork:
    """Train these minibatches of the phase as well, after the others."""

    phase: int
    minibatches: tuple[Minibatch, ...]
    partitions: Mapping[int, Partition] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StandStill:
    """End the phase where all members stand at a common position, as soon as may be."""

    phase: int


@dataclass(frozen=True, kw_only=True)
class ClosePhase:
    """End the phase when as many minibatches are trained, by rank; no more come."""

    phase: int
    totals: Mapping[int, int]


@dataclass(frozen=True, kw_only=True)
class EndEpoch:
    """Count the epoch: all its minibatches are trained."""


@dataclass(frozen=True, kw_only=True)
class Finish:
    """Share the residual with these members, and return the network."""

    phase: int
    members: frozenset[int]


@dataclass(frozen=True, kw_only=True)
class MemberGone:
    """A member is gone; the others wait for it no more."""

    rank: int


@dataclass(frozen=True, kw_only=True)
class Stop:
    """End at once: the session failed or was given up."""

    reason: str


Order = (
    Restore
    | TrainPhase
    | MoreWork
    | StandStill
    | ClosePhase
    | EndEpoch
    | Finish
    | MemberGone
    | Stop
)
