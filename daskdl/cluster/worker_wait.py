"""What is told while workers are waited for: the same, whoever waits for them."""

import logging
import math

from distributed import Client

__all__ = ["TELL_EVERY_S", "WorkerWait"]

logger = logging.getLogger(__name__)

TELL_EVERY_S = 5.0


class WorkerWait:
    """Logs every few seconds what is waited for, and in the end who is there.

    Parameters
    ----------
    client : Client
        Of the cluster. One that was made with an address has no means to start workers,
        and the log says how somebody else does.
    wanted : int
        How many must be there.
    after_deaths : bool
        Whether there were as many, who all went: nannies, or others, start them anew.
    """

    def __init__(
        self, client: Client, wanted: int, *, after_deaths: bool = False
    ) -> None:
        self._client = client
        self._wanted = wanted
        self._after_deaths = after_deaths
        self._tell_s = -math.inf
        self._since = ""

    def begin_anew(self) -> None:
        """Note that the time is counted anew, because a worker came."""
        self._since = ", counted anew since one came"

    def look(self, there: int, now: float, end_s: float) -> bool:
        """Log what is waited for, if it is time.

        Parameters
        ----------
        there : int
            How many have come. If that is enough, none of them can take part yet.
        now, end_s : float
            By one clock: the time, and when the wait ends.

        Returns
        -------
        is_time : bool
            Also to ask for workers again.
        """
        if now <= self._tell_s:
            return False
        is_first = self._tell_s == -math.inf
        self._tell_s = now + TELL_EVERY_S
        logger.warning(
            "waiting for workers%s; %.0f s more at most%s%s",
            self._what(there),
            max(0.0, end_s - now),
            self._since,
            _advice(self._client) if is_first else "",
        )
        return True

    def _what(self, there: int) -> str:
        are = "is" if there == 1 else "are"
        if there >= self._wanted:
            return f" to get ready: {there} {are} there, and cannot take part yet"
        to_do = " to come back, as all went" if self._after_deaths else ""
        return f"{to_do}: {self._wanted} must be there, {there} {are}"

    def end(self, there: int) -> None:
        """Log who is there, if a wait was told."""
        if self._tell_s > -math.inf:
            logger.warning(
                "%d %s there", there, "worker is" if there == 1 else "workers are"
            )


def _advice(client: Client) -> str:
    if client.cluster is not None or client.scheduler is None:
        return ""
    return (
        f". Unless they come by themselves, run `dask worker {client.scheduler.address}"
        "`: a client that was made with an address starts none"
    )
