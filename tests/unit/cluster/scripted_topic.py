"""A topic whose events are written down beforehand, and a network of vectors alone."""

from collections import deque

import numpy as np

from daskdl.cluster.bus import Member, Message
from daskdl.cluster.masters.dense_round import RoundMessage
from daskdl.cluster.masters.dense_sum import Contribution
from daskdl.cluster.masters.dense_sum import Message as Told
from daskdl.cluster.workload import Workload


class ScriptedTopic:
    """A topic whose events are written down beforehand."""

    def __init__(self, *events, peers=(1,)):
        self.events = deque(events)
        self.published = []
        self.receivers = []  # of each that was published; None is all
        self.is_roomy = True
        self._members = {
            f"m{rank}": Member("tcp://x", {"rank": rank}) for rank in peers
        }

    def members(self):
        return dict(self._members)

    def get(self, timeout_s):
        return self.events.popleft() if self.events else None

    def drain(self):
        taken = list(self.events)
        self.events.clear()
        return taken

    def publish(self, data, *, to=None, **options):
        self.published.append(data)
        self.receivers.append(to)

    def has_room(self, nbytes, to=None):
        return self.is_roomy

    def behind(self):
        return []


class Network:
    """Just the vectors and counters that an exchange touches."""

    running_slots = ()

    def __init__(self, n=4):
        self.params = np.zeros(n, np.float32)
        self.updater_state = np.zeros(0, np.float32)
        self.iteration_count = 0
        self.epoch_count = 0
        self.most = np.inf

    def subtract(self, update):
        self.gradients = np.array(update, np.float32)
        self.params -= self.gradients

    def hold_constraints(self):
        self.params.clip(-self.most, self.most, out=self.params)


def work(minibatches, totals=()):
    """Return a workload of so many, to which no more come."""
    return Workload(0, [None] * minibatches, dict(totals))


def brought(rank, value, *, round=0, members=(0, 1), **contribution):
    """The message with which a peer brings its parameters, as they go to all."""
    own = Contribution(
        **{"position": 1, "examples": 8, "iteration_count": 1, **contribution}
    )
    values = [np.full(4, value, np.float32)]
    return in_round(
        rank, Told("contribution", values=values, contribution=own), round, members
    )


def in_round(rank, told, round=0, members=(0, 1)):
    return Message(f"m{rank}", "t", 1, 1, RoundMessage((0, round), members, told))


def update(exchange, network, value):
    network.subtract(np.full(4, value, np.float32))
    exchange.updated(network)


def train(exchange, network, value):
    update(exchange, network, -value)
    exchange.iteration_done(network, 8)
