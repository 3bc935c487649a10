"""The options of a topic."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from daskdl.checks import check_at_least, check_one_of

Merge = Callable[[list[Any]], Any]
WhenFull = Literal["block", "drop_oldest"] | Merge


@dataclass(frozen=True, kw_only=True)
class Role:
    """Whether a member of a topic sends, receives, or is the only one on its worker.

    Parameters
    ----------
    sends, receives : bool
        Whether it publishes and whether others send to it.
    is_exclusive : bool
        Whether a second exclusive member of the topic on its worker is refused.
    """

    sends: bool
    receives: bool
    is_exclusive: bool


MEMBER = Role(sends=True, receives=True, is_exclusive=True)
PUBLISHER = Role(sends=True, receives=False, is_exclusive=False)
SUBSCRIBER = Role(sends=False, receives=True, is_exclusive=False)


@dataclass(frozen=True, kw_only=True)
class TopicOptions:
    """Limits of a topic's queues, and what happens when a subscriber's queue is full.

    Parameters
    ----------
    when_full : {"block", "drop_oldest"} or callable
        What `publish` does when a subscriber's queue is full: wait for room, give up
        the oldest waiting messages, or replace all waiting messages by what the
        callable makes of them. It gets a list of at least two published objects, oldest
        first, must not change them, and returns one of the same kind.
    max_queue : int
        Messages that may wait for one subscriber.
    max_queue_bytes : int
        Bytes that may wait for one subscriber. One message is always allowed.
    inbox_bytes : int
        When so much was received and not taken, nothing more is read.
    """

    when_full: WhenFull = "block"
    max_queue: int = 32
    max_queue_bytes: int = 64 * 2**20
    inbox_bytes: int = 64 * 2**20

    def __post_init__(self) -> None:
        if not callable(self.when_full):
            modes = ("block", "drop_oldest", "a merge function")
            check_one_of("Topic", "when_full", self.when_full, modes)
        check_at_least("Topic", "max_queue", self.max_queue, 1)
        check_at_least("Topic", "max_queue_bytes", self.max_queue_bytes, 1)
        check_at_least("Topic", "inbox_bytes", self.inbox_bytes, 1)
