"""Messages and events that a subscriber gets from a topic."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Member:
    """One participant of a topic, as the others see it.

    Parameters
    ----------
    address : str
        Of its Dask worker. Not an identity: a restarted worker may reuse it.
    meta : dict
        What the member gave when it opened the topic.
    """

    address: str
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Message:
    """One published message, or several that were merged for a slow subscriber.

    Parameters
    ----------
    source : str
        Member id of the publisher.
    topic : str
        Name of the topic.
    first, last : int
        Numbers of the first and the last published message that this one stands for.
        The publisher counts from 1. A gap after the previous `last` means that messages
        were dropped (``when_full="drop_oldest"``) or published before this member came.
    data : object
        What was published, or what the merge function made of it. Belongs to the
        receiver, who may change it.
    """

    source: str
    topic: str
    first: int
    last: int
    data: Any


@dataclass(frozen=True)
class Joined:
    """A member came. Given before its first message."""

    member: str
    address: str
    meta: dict[str, Any]


@dataclass(frozen=True)
class Left:
    """A member publishes no more. Given once, after its last message.

    Parameters
    ----------
    member : str
        Its id, which is never used again.
    clean : bool
        True when it ended the topic: everything it published to this member was
        delivered. False when it was lost or gave up.
    """

    member: str
    clean: bool


Event = Message | Joined | Left
