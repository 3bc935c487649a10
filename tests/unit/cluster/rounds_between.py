"""Members that take rounds together, in an order that a seed decides, and their deaths.

Links keep their order. Of what a member sent before it died each peer gets a part of
its own, and then hears that it is gone; each in its time. Vectors travel as copies, but
for sums, which nobody writes to. Half of the members let theirs be overwritten.
"""

import random
from collections import deque
from dataclasses import replace

import numpy as np

from daskdl.cluster.masters.combining import weighted_mean
from daskdl.cluster.masters.dense_round import RoundSequence
from daskdl.cluster.masters.dense_sum import Contribution

LEFT = "left"


def vectors_of(rank, number, sizes, dtype=np.float64):
    rng = np.random.default_rng([rank, number])
    return [rng.standard_normal(size).astype(dtype) for size in sizes]


class Member:
    """One member: it takes `rounds` rounds, one after the other."""

    def __init__(self, rank, peers, rounds, sizes, examples, *, overwrites):
        self.rank = rank
        self.rounds = RoundSequence(rank)
        self.rounds.begin(0, peers)
        self.totals = []
        self.sent = 0
        self.sent_bytes = 0
        self.is_over = False
        self._left = rounds
        self._sizes = sizes
        self._examples = examples
        self._overwrites = overwrites

    @property
    def is_idle(self):
        return self.rounds.current is None

    def start(self):
        number = len(self.totals)
        own = Contribution(position=number + 1, examples=self._examples)
        vectors = vectors_of(self.rank, number, self._sizes)
        self.rounds.start(own, vectors, weighted_mean, overwrites=self._overwrites)

    def take(self):
        self.totals.append(self.rounds.take())
        self._left -= 1
        self.is_over = not self._left


class Party:
    """All members, and what is on the way between them."""

    def __init__(self, seed, n, *, rounds=2, sizes=(7, 5), examples=None, deaths=()):
        self.rng = random.Random(seed)
        counts = examples or range(1, n + 1)
        self.members = {
            rank: Member(
                rank,
                set(range(n)) - {rank},
                rounds,
                sizes,
                count,
                overwrites=bool((seed + rank) % 2),
            )
            for rank, count in enumerate(counts)
        }
        self.links = {(a, b): deque() for a in range(n) for b in range(n) if a != b}
        self.deaths = dict(deaths)  # of a rank, after so many messages
        self.dead = set()

    @property
    def survivors(self):
        return [m for rank, m in self.members.items() if rank not in self.dead]

    def run(self):
        while choices := [*self._members_that_can_go(), *self._deliveries()]:
            self.rng.choice(choices)()

    def _members_that_can_go(self):
        steps = []
        for member in self.survivors:
            current = member.rounds.current
            if current is None:
                if not member.is_over:
                    steps.append(member.start)
            elif current.has_messages:
                steps.append(lambda member=member: self._send(member))
            elif current.total is not None:
                steps.append(lambda member=member: self._take(member))
        return steps

    def _deliveries(self):
        return [
            lambda link=link, to=to: self._deliver(link, to)
            for link, queue in self.links.items()
            if queue and (to := link[1]) not in self.dead
        ]

    def _take(self, member):
        member.take()
        if member.is_over and (over := member.rounds.over()) is not None:
            self._put(member, over, None)

    def _send(self, member):
        message, to = member.rounds.current.next_message()
        self._put(member, message, to)

    def _put(self, member, message, to):
        if self.deaths.get(member.rank) == member.sent:
            self._die(member.rank)
            return
        member.sent += 1
        message = as_it_travels(message)
        for other in self.members if to is None else [to]:
            if other != member.rank:
                self.links[member.rank, other].append(message)
                member.sent_bytes += np.asarray(bytes_of(message)).sum()

    def _die(self, rank):
        self.dead.add(rank)
        for (source, _), queue in self.links.items():
            if source == rank:
                for _ in range(self.rng.randint(0, len(queue))):
                    queue.pop()
                queue.append(LEFT)

    def _deliver(self, link, to):
        message = self.links[link].popleft()
        rounds = self.members[to].rounds
        if message is LEFT:
            rounds.left(link[0])
        else:
            rounds.receive(link[0], message)


def as_it_travels(message):
    told = message.message
    if told.what == "sum" or told.values is None:
        return message
    is_list = isinstance(told.values, list)
    values = [v.copy() for v in told.values] if is_list else told.values.copy()
    return replace(message, message=replace(told, values=values))


def bytes_of(message):
    values = message.message.values
    if isinstance(values, list):
        return [value.nbytes for value in values]
    return [0 if values is None else values.nbytes]
