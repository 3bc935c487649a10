"""The state of a topic, shared by the task's thread and the event loop."""

import threading

from daskdl.cluster.bus.inbox import Inbox
from daskdl.cluster.bus.options import Role, TopicOptions
from daskdl.cluster.bus.outbox import Outbox
from daskdl.cluster.bus.stats import TopicStats
from daskdl.errors import BusClosedError


class TopicState:
    """The lock and the parts of a topic that both sides use.

    It is held for moments only, never while data are pickled, merged or written, since
    the event loop waits for it.

    Parameters
    ----------
    name, me : str
        Of the topic and of this member.
    options : TopicOptions
        Bounds of the queues.
    role : Role
        What the member takes part in.
    """

    def __init__(self, name: str, me: str, options: TopicOptions, role: Role) -> None:
        self.name = name
        self.me = me
        self.options = options
        self.role = role
        self.changed = threading.Condition()
        self.stats = TopicStats()
        self.inbox = Inbox(self.changed, self.stats, max_bytes=options.inbox_bytes)
        self.is_closed = False
        if not role.receives:
            self.inbox.discard()  # nobody takes what would come

    def new_outbox(self) -> Outbox:
        """Return an empty outbox for a new member."""
        return Outbox(
            self.changed,
            self.stats,
            max_messages=self.options.max_queue,
            max_bytes=self.options.max_queue_bytes,
        )

    def close(self) -> bool:
        """Wake every waiting thread; False when this was done before."""
        with self.changed:
            was_open = not self.is_closed
            self.is_closed = True
            self.changed.notify_all()
            return was_open

    def check_open(self) -> None:
        """Refuse to go on after :meth:`close`."""
        if self.is_closed:
            raise BusClosedError(
                f"Topic {self.name!r}: must be open, it was closed or its worker stops."
            )
