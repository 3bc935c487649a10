"""The scheduler's list of topics and members, without any input or output."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One member in the book.

    Parameters
    ----------
    address : str
        Of its worker.
    meta : str
        JSON from the member; the scheduler never opens it.
    receives : bool
        Whether messages are sent to it.
    """

    address: str
    meta: str
    receives: bool


@dataclass(frozen=True)
class View:
    """The members of one topic at one time.

    Parameters
    ----------
    topic : str
        Name of the topic.
    epoch : int
        Grows with every change, over all topics, and never goes back: a view that
        arrives late, even from an earlier topic of the same name, is seen to be older.
    members : dict
        Entries by member id.
    """

    topic: str
    epoch: int
    members: dict[str, Entry]

    def to_message(self) -> dict[str, Any]:
        """Return the view as plain values."""
        return asdict(self)

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> "View":
        """Return the view of :meth:`to_message`."""
        members = {id_: Entry(**entry) for id_, entry in message["members"].items()}
        return cls(message["topic"], message["epoch"], members)


class Registry:
    """Members by topic, and one counter of changes."""

    def __init__(self) -> None:
        self._epoch = 0
        self._topics: dict[str, dict[str, Entry]] = {}
        self._changed_at: dict[str, int] = {}

    def join(self, topic: str, member: str, entry: Entry) -> None:
        """Add a member."""
        self._topics.setdefault(topic, {})[member] = entry
        self._changed(topic)

    def leave(self, topic: str, member: str) -> bool:
        """Remove a member; False when it was not there."""
        if self._topics.get(topic, {}).pop(member, None) is None:
            return False
        self._changed(topic)
        return True

    def remove_worker(self, address: str) -> list[str]:
        """Remove all members on a worker; return the topics that this changed."""
        return [topic for topic in list(self._topics) if self.evict(topic, address)]

    def evict(self, topic: str, address: str) -> bool:
        """Remove a worker's members from a topic; False when there were none."""
        if address not in self.addresses(topic):
            return False
        members = self._topics[topic].items()
        self._topics[topic] = {
            id_: entry for id_, entry in members if entry.address != address
        }
        self._changed(topic)
        return True

    def clear(self) -> None:
        """Forget all members; the counter goes on."""
        self._epoch += 1
        self._topics.clear()
        self._changed_at.clear()

    def addresses(self, topic: str) -> set[str]:
        """Return the workers that have members in the topic."""
        return {entry.address for entry in self._topics.get(topic, {}).values()}

    def workers(self) -> set[str]:
        """Return the workers that have members in any topic."""
        return {address for topic in self._topics for address in self.addresses(topic)}

    def newcomers(self, topic: str, known: set[str]) -> set[str]:
        """Return the members that are not in `known`."""
        return self._topics.get(topic, {}).keys() - known

    def view(self, topic: str) -> View:
        """Return the topic as it is now; without members if it has none."""
        epoch = self._changed_at.get(topic, self._epoch)
        return View(topic, epoch, dict(self._topics.get(topic, {})))

    def _changed(self, topic: str) -> None:
        self._epoch += 1
        self._changed_at[topic] = self._epoch
        if not self._topics[topic]:
            del self._topics[topic]
            del self._changed_at[topic]
