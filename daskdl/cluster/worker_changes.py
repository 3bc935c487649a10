"""Which workers went and came while tasks ran."""

from dataclasses import dataclass, field


@dataclass
class WorkerChanges:
    """Addresses of workers, in the order of what happened.

    Attributes
    ----------
    lost : list of str
        Went, or were left out though tasks were theirs.
    joined : list of str
        Came, and could be given tasks.
    left_out : list of str
        Were there, and did not answer, or not with the client's Python and daskdl: had
        no tasks.
    """

    lost: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
