"""Counters of a topic: messages, bytes, drops, reconnects."""

from dataclasses import dataclass


@dataclass
class TopicStats:
    """Counters of one topic on one worker since it was opened.

    Parameters
    ----------
    messages_sent, bytes_sent : int
        Handed to connections, once for each subscriber; repeats are not counted.
    merged, dropped : int
        Messages that were folded into another or given up, once for each subscriber.
    messages_received, bytes_received : int
        Delivered into the inbox.
    blocked_s : float
        Time that `publish` waited for room.
    reconnects : int
        Connections that were opened again after a break.
    peak_queued_bytes : int
        The most that was ever kept for one subscriber: waiting and unacknowledged.
    peak_inbox_bytes : int
        The most that was ever received and not yet taken.
    """

    messages_sent: int = 0
    bytes_sent: int = 0
    merged: int = 0
    dropped: int = 0
    messages_received: int = 0
    bytes_received: int = 0
    blocked_s: float = 0.0
    reconnects: int = 0
    peak_queued_bytes: int = 0
    peak_inbox_bytes: int = 0
