"""One member of a session as the driver sees it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from distributed import Future

from daskdl.cluster.shared_state import SharedState
from daskdl.data.plan import Minibatch
from daskdl.training.state import NetworkState


@dataclass
class SessionMember:
    """A member: where it is, its task, and what it was given and did.

    Parameters
    ----------
    address : str
    future : Future
    network : SharedState
        From which it started.
    state : NetworkState or None
        The same here; ``None`` once its task has started.
    host : str or None
        Where it is; ``None`` before that.
    partitions : set of int
        That it was given.
    gathered : dict of int to Minibatch
        Of data in memory, by index: where it has their rows.
    trained : int
        Minibatches, in phases that ended.
    """

    address: str
    future: Future
    network: SharedState
    state: NetworkState | None = None
    host: str | None = None
    partitions: set[int] = field(default_factory=set)
    gathered: dict[int, Minibatch] = field(default_factory=dict)
    trained: int = 0

    @property
    def is_ready(self) -> bool:
        """Whether its task has started."""
        return self.host is not None

    def started(self, host: str) -> None:
        """Note that its task has started, and where."""
        self.host, self.state = host, None


def seasoned(members: Iterable[SessionMember]) -> dict[str, SessionMember]:
    """Return those, by address, who trained at least half as much as who did most.

    Updater states of gradient sharing are those of a member's own updates: whoever had
    next to nothing to train has next to none.
    """
    given = list(members)
    most = max((member.trained for member in given), default=0)
    return {one.address: one for one in given if 2 * one.trained >= most}
