"""The workers of a cluster that a fit was asked to use."""

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any

from distributed import Client

from daskdl.checks import check_count, check_positive, some
from daskdl.errors import ClusterError, OptionError, StepTimeoutError, WorkerLostError


class WorkerSelection:
    """Choose among the workers that are there.

    Parameters
    ----------
    client : Client
        A synchronous client.
    wanted : sequence of str or int, optional
        Addresses, or how many; ``None`` takes all that the cluster has.
    resources : dict of str to float
        What a worker must offer.

    Raises
    ------
    OptionError
        If resources are no amounts.
    """

    def __init__(
        self,
        client: Client,
        wanted: Sequence[str] | int | None,
        resources: Mapping[str, float],
    ) -> None:
        for name, amount in resources.items():
            check_positive("Session", f"resources[{name!r}]", amount)
        if wanted is not None and not isinstance(wanted, Sequence | Set):
            wanted = check_count("Session", "workers", wanted)
        self._client = client
        self._wanted = wanted
        self._resources = resources

    @property
    def n_wanted(self) -> int:
        """How many must be there to begin."""
        return self._wanted if isinstance(self._wanted, int) else 1

    @property
    def most(self) -> int | None:
        """How many may take part at a time; None for all that are suitable."""
        return self._wanted if isinstance(self._wanted, int) else None

    def is_met(self) -> bool:
        """Return whether as many as are needed are there."""
        return len(self.suitable()) >= self.n_wanted

    def suitable(self) -> list[str]:
        """Return workers that are there, were not excluded by name, and can do it."""
        there = sorted(self._offering())
        if self._wanted is None or isinstance(self._wanted, int):
            return there
        return [address for address in there if address in self._wanted]

    def memory_limits(self) -> list[int]:
        """Return what each suitable worker may hold, in bytes; 0 is no limit."""
        workers = self._workers()
        # One may come or go between two looks.
        there = [workers[one] for one in self.suitable() if one in workers]
        return [worker["memory_limit"] or 0 for worker in there]

    def nanny_limits(self) -> dict[str, int]:
        """Return beyond what suitable workers may be ended, in bytes; 0 is by nobody.

        Nannies do that. A worker that has none stands still at its limit.
        """
        workers = self._workers()
        return {
            address: (workers[address]["memory_limit"] or 0)
            if workers[address].get("nanny")
            else 0
            for address in self.suitable()
            if address in workers
        }

    def vacancies(self, members: int) -> int | None:
        """Return how many workers may join beside the members; None for all."""
        return max(0, self._wanted - members) if isinstance(self._wanted, int) else None

    def check(
        self,
        found: Collection[str],
        answering: Collection[str],
        paused: Mapping[str, str],
    ) -> None:
        """Refuse to begin with too few.

        Parameters
        ----------
        found : collection of str
            Who would take part.
        answering : collection of str
            Whoever is there and answers.
        paused : mapping of str to str
            Who is there and begins no task, and in words why.

        Raises
        ------
        WorkerLostError
            When there is no worker at all.
        StepTimeoutError
            When workers that are needed do not answer.
        ClusterError
            When workers that are needed begin no task.
        OptionError
            When the cluster does not have what was asked for.
        """
        n_wanted = self.n_wanted
        if len(found) >= n_wanted:
            return
        there = sorted(self._client.nthreads())
        if not there:
            raise WorkerLostError(
                "Session: at least one worker must be there, got none. Start workers, "
                "and try again."
            )
        if silent := sorted(set(self.suitable()) - set(answering)):
            raise StepTimeoutError(
                f"Session: workers {some(silent)} must answer before the fit starts, "
                "they do not. End them, or ask for fewer workers."
            )
        if states := [f"{a} {paused[a]}" for a in self.suitable() if a in paused]:
            raise ClusterError(
                f"Session: {n_wanted} workers must begin their task, {len(found)} can: "
                f"{some(states)}. Free their memory, give them more, or ask for fewer "
                "workers."
            )
        if self._resources:
            raise OptionError(
                f"Session: {n_wanted} workers must offer {self._resources}, got "
                f"{len(found)} of {len(there)} that do. Start workers with "
                "--resources, or leave resources out."
            )
        raise OptionError(
            f"Session: workers must be workers of the cluster, got "
            f"{self._wanted!r}; it has {len(there)}: {some(there)}."
        )

    def _offering(self) -> list[str]:
        if not self._resources:
            return list(self._client.nthreads())
        return [
            address
            for address, worker in self._workers().items()
            if all(
                worker["resources"].get(name, 0) >= amount
                for name, amount in self._resources.items()
            )
        ]

    def _workers(self) -> dict[str, Any]:
        # From 2025.4 to 2026.3 it lists five workers unless it is told not to.
        found: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return found
