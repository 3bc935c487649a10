"""Topic publish/subscribe between Dask workers, over the workers' own connections.

A client calls :func:`install`, and :func:`uninstall` at the end. In a task,
``get_bus().topic(name)`` joins a topic; :class:`Pub` and :class:`Sub` are the simple
form. See docs/design/0003-bus.md.
"""

from daskdl.cluster.bus.installation import install, uninstall
from daskdl.cluster.bus.messages import Event, Joined, Left, Member, Message
from daskdl.cluster.bus.pubsub import Pub, Sub
from daskdl.cluster.bus.stats import TopicStats
from daskdl.cluster.bus.this_worker import get_bus
from daskdl.cluster.bus.topic import Topic

__all__ = [
    "Event",
    "Joined",
    "Left",
    "Member",
    "Message",
    "Pub",
    "Sub",
    "Topic",
    "TopicStats",
    "get_bus",
    "install",
    "uninstall",
]
