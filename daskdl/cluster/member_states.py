"""What members alone have, on its way to the client and back.

It is in checkpoints, and goes on from fit to fit of the same network.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from daskdl.arrays.namespace import to_host
from daskdl.cluster.masters.regrouping import regrouped
from daskdl.cluster.orders import Restore
from daskdl.cluster.session_members import SessionMembers
from daskdl.nn.fitting.trained import Trained
from daskdl.nn.network import Network

States: TypeAlias = Sequence[Mapping[str, Any]]
"""By rank."""

# Of all members together. What is larger would make each fit of a loop wait for it.
MOST_KEPT_BYTES = 64 * 2**20


class MemberStates:
    """What the members of a session alone have.

    Parameters
    ----------
    members : SessionMembers
    given : sequence of mapping of str to object
        What those of an earlier session had, by rank.
    """

    def __init__(self, members: SessionMembers, given: States = ()) -> None:
        self._members = members
        self._given = given
        self._here: tuple[Mapping[str, Any], ...] | None = ()

    def restore(self) -> None:
        """Give the members, who have trained nothing, what was given to us."""
        ranks = sorted(self._members.addresses)
        states = regrouped(self._given, len(ranks))
        self._given, self._here = (), tuple(states)
        orders = {
            rank: Restore(state=state)
            for rank, state in zip(ranks, states, strict=False)
            if state
        }
        if orders:
            self._members.order(orders)

    def forget(self) -> None:
        """Note that the members train on, so that they have something else."""
        self._here = None

    def let_go(self) -> None:
        """Note that there is nothing to bring: the members have ended otherwise."""
        self._here = ()

    def bring(self) -> tuple[Mapping[str, Any], ...]:
        """Return what each member has, by rank; asks them between two phases."""
        if self._here is None:
            self._here = tuple(self._members.states())
        return self._here

    def settle(self, network: Trained) -> None:
        """Bring what is to be kept behind the fit, before the members return.

        If it is small, by what a vector like the parameters takes of each.
        """
        nbytes = network.params.nbytes * len(self._members.addresses)
        if nbytes <= MOST_KEPT_BYTES:
            self.bring()
        elif self._here is None:
            self._here = ()


@dataclass(frozen=True)
class KeptStates:
    """What members had when a fit ended, for the next one of the same network.

    Parameters
    ----------
    states : sequence of mapping of str to object
        By rank.
    checksum : int
        Of the parameters that the fit left.
    """

    states: States = ()
    checksum: int = 0

    @classmethod
    def behind(cls, network: Network[Any], states: States) -> "KeptStates":
        """Keep `states` as long as `network` stays as it is."""
        arrays = [
            value
            for state in states
            for value in state.values()
            if isinstance(value, np.ndarray)
        ]
        is_small = sum(array.nbytes for array in arrays) <= MOST_KEPT_BYTES
        return cls(states, _checksum(network)) if arrays and is_small else cls()

    def of(self, network: Network[Any]) -> States:
        """Return the states, none if the parameters have been changed since."""
        is_same = bool(self.states) and _checksum(network) == self.checksum
        return self.states if is_same else ()


def _checksum(network: Network[Any]) -> int:
    return zlib.crc32(to_host(network.params).tobytes())
