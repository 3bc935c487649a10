"""The one clock by which members of a session are judged, and what becomes of those.

Whoever is silent for less than the limit is waited for, whatever it is that it does not
do: send heartbeats, take an order, return the network.
"""

import time
from collections.abc import Collection, Mapping
from typing import Any

from daskdl.cluster.complaints import Complaint, Complaints
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.cluster.silent_workers import Heartbeat, SilentWorkers, heard


class Liveness:
    """Judge the members of a session.

    Parameters
    ----------
    master : TrainingMaster

    Attributes
    ----------
    limit_s : float
        How long a member may be silent: less than its peers bear before they complain.
    start_limit_s : float
        The same before its task has begun, well before the start is given up.
    """

    def __init__(self, master: TrainingMaster) -> None:
        self._members = SilentWorkers(master.peer_timeout_s / 2)
        self._starting = SilentWorkers(
            min(self._members.limit_s, master.start_timeout_s / 2)
        )
        self.limit_s = self._members.limit_s
        self.start_limit_s = self._starting.limit_s
        self._complaints = Complaints(self.limit_s / 2)
        # Whose tasks may go on: as which member.
        self._given_up: dict[str, int] = {}

    def silent(
        self,
        members: Collection[str],
        starting: Collection[str],
        beats: Mapping[str, Heartbeat],
    ) -> dict[str, float]:
        """Return who has sent no heartbeat for too long, and for how long.

        Parameters
        ----------
        members, starting : collection of str
            Addresses of those whose task has begun, and of the others.
        beats : mapping of str to Heartbeat
            As of :func:`~daskdl.cluster.silent_workers.heartbeats`.
        """
        judges = ((self._members, members), (self._starting, starting))
        return {
            address: judge.limit_s
            for judge, addresses in judges
            for address in judge.judge(addresses, beats)
        }

    def complain(self, rank: int, values: Mapping[str, Any]) -> None:
        """Take in that member `rank` does not hear some others."""
        complaint = Complaint(frozenset(values["silent"]), tuple(values["stage"]))
        self._complaints.take(rank, complaint, time.monotonic())

    def unheard(self, ranks: Collection[int]) -> int | None:
        """Return the member that must go for others to hear each other, or None."""
        return self._complaints.verdict(ranks, time.monotonic())

    def give_up(self, address: str, rank: int) -> None:
        """Note that a member that may be alive counts as gone."""
        self._given_up[address] = rank

    def heard_again(self, beats: Mapping[str, Heartbeat]) -> dict[int, str]:
        """Return the addresses of members, by rank, that were given up and are back."""
        back = heard(beats)
        return {
            rank: address for address, rank in self._given_up.items() if address in back
        }

    def take_back(self, address: str) -> None:
        """Note that the task of a member that was given up has ended."""
        del self._given_up[address]
