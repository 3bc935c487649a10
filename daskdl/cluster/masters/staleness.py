"""How late messages of gradient sharing are taken in."""

from collections.abc import Iterable
from dataclasses import dataclass

from daskdl.nn.fitting.events import Staleness


@dataclass
class StalenessTally:
    """What messages were late, summed up.

    Attributes
    ----------
    messages, total, most : int
        How many were counted; minibatches that they were late, together and at most.
    """

    messages: int = 0
    total: int = 0
    most: int = 0

    def add(self, late: int) -> None:
        """Count a message that was `late` minibatches; one that was early is 0."""
        self.messages += 1
        self.total += max(late, 0)
        self.most = max(self.most, late)


def staleness_of(tallies: Iterable[StalenessTally]) -> Staleness | None:
    """Return mean and maximum over all members; None if there was no message."""
    told = [tally for tally in tallies if tally.messages]
    if not told:
        return None
    messages = sum(tally.messages for tally in told)
    return Staleness(
        mean=sum(tally.total for tally in told) / messages,
        most=max(tally.most for tally in told),
    )
