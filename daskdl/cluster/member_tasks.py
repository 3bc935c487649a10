"""The tasks of members, and the networks that they start from."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from distributed import Client, Future

from daskdl.cluster.orders import SessionSpec
from daskdl.cluster.placement import cancel
from daskdl.cluster.session import run_member
from daskdl.cluster.session_member import SessionMember
from daskdl.cluster.shared_state import SharedState, share_state
from daskdl.training.state import NetworkState

# Above tasks of other users that came later: a session waits for all its members.
PRIORITY = 10


class MemberTasks:
    """Submit the tasks of members, each to its worker, and release them.

    Parameters
    ----------
    client : Client
    spec : SessionSpec
    resources : mapping of str to float
        What a task holds of its worker.
    """

    def __init__(
        self, client: Client, spec: SessionSpec, resources: Mapping[str, float]
    ) -> None:
        self._client = client
        self._spec = spec
        self._resources = dict(resources)
        self._shared: list[SharedState] = []

    def start(
        self, addresses: Mapping[int, str], state: NetworkState, where: Sequence[str]
    ) -> dict[int, SessionMember]:
        """Submit the tasks of members that start from a network.

        Parameters
        ----------
        addresses : mapping of int to str
            Of the members, by rank.
        state : NetworkState
        where : sequence of str
            Addresses of workers that may make the network of what travels.

        Returns
        -------
        members : dict of int to SessionMember
        """
        shared = share_state(self._client, state, workers=where, priority=PRIORITY)
        self._shared.append(shared)
        return {
            rank: SessionMember(
                address, self._submit(rank, address, shared), shared, state
            )
            for rank, address in addresses.items()
        }

    def _submit(self, rank: int, address: str, shared: SharedState) -> Future:
        return self._client.submit(
            run_member,
            self._spec,
            rank,
            address,
            shared.future,
            key=f"{self._spec.topic}-{rank}",
            workers=[address],
            allow_other_workers=False,
            resources=self._resources or None,
            pure=False,
            retries=0,
            priority=PRIORITY,
        )

    def stuck(
        self, members: Mapping[int, SessionMember], silent: str
    ) -> dict[int, NetworkState]:
        """Return who cannot start, by rank, and from what network.

        They wait for one that nobody has, or was to make, but a worker that does not
        answer.
        """
        waiting = [one for one in members.values() if one.state is not None]
        lost = [
            shared
            for shared in self._shared
            if any(member.network == shared for member in waiting)
            and self._is_only_on(silent, shared)
        ]
        return {
            rank: member.state
            for rank, member in members.items()
            if member.state is not None and member.network in lost
        }

    def _is_only_on(self, silent: str, shared: SharedState) -> bool:
        keys = [future.key for future in shared.all]
        is_only: bool = self._client.run_on_scheduler(only_on, keys, silent)
        return is_only

    def cancel(
        self, gone: Iterable[SessionMember], left: Collection[SessionMember]
    ) -> None:
        """Cancel tasks of members that went, and networks that no other came from."""
        futures = [member.future for member in gone]
        needed = [member.network for member in left]
        for shared in [one for one in self._shared if one not in needed]:
            self._shared.remove(shared)
            futures += shared.all
        self._client.cancel(futures)

    def close(self, left: Iterable[SessionMember]) -> None:
        """Cancel the tasks of all that are left, and all networks."""
        networks = [future for shared in self._shared for future in shared.all]
        cancel(self._client, [member.future for member in left] + networks)


def only_on(keys: Sequence[str], address: str, dask_scheduler: Any) -> bool:
    """Return whether only one worker has, or makes, a task. Runs on the scheduler.

    Parameters
    ----------
    keys : sequence of str
        The task, and what it is made of.
    address : str
    """
    tasks = [dask_scheduler.tasks[key] for key in keys if key in dask_scheduler.tasks]
    holders = [{worker.address for worker in task.who_has or ()} for task in tasks]
    if not tasks or holders[0] - {address}:
        return False
    makers = {task.processing_on.address for task in tasks if task.processing_on}
    return {address} in holders or address in makers
