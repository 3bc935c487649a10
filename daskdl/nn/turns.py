"""Several threads of a user, and one network: they use it one after the other."""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

from daskdl.errors import NetworkBusyError


class Turn:
    """A lock that a thread may take again while it has it, and that goes by turns.

    A lock of Python goes to whoever is awake: training, which takes it anew for each
    minibatch, would keep it from those that sleep until they get it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        # Held by the one who is next: who has just had its turn waits behind.
        self._next = threading.Lock()
        self._owner: int | None = None
        self._depth = 0

    def __enter__(self) -> None:
        me = threading.get_ident()
        # Nobody else writes our number.
        if self._owner != me:
            with self._next:
                self._lock.acquire()
            self._owner = me
        self._depth += 1

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
            self._lock.release()


class Turns:
    """What keeps threads apart that use one network.

    Notes
    -----
    A forked process begins anew: who had its turn need not be there.
    """

    def __init__(self) -> None:
        self._by_process: dict[int, _Here] = {}

    @property
    def turn(self) -> Turn:
        """To be held while vectors or buffers are used, for a minibatch at most."""
        return self._here.turn

    @property
    def keepers(self) -> set[int]:
        """The threads of users for which a team is kept."""
        return self._here.keepers

    @contextmanager
    def training(self, who: str, wait_s: float = 0) -> Generator[None, None, None]:
        """Be the thread that trains, until the end of a ``with`` block.

        Parameters
        ----------
        who : str
            For messages.
        wait_s : float
            How long another thread is waited for.

        Raises
        ------
        NetworkBusyError
            If another one does.
        """
        trains = self._here.trains
        if not trains.acquire(timeout=wait_s):
            raise NetworkBusyError(
                f"{who}: one thread at a time may train the network, but it is being "
                "trained by another thread. Wait until that ends, or train a clone()."
            )
        try:
            yield
        finally:
            trains.release()

    @property
    def _here(self) -> "_Here":
        here = self._by_process.get(os.getpid())
        # Of threads that come here at one time all get the same.
        return here or self._by_process.setdefault(os.getpid(), _Here())


class _Here:
    """The same in one process."""

    def __init__(self) -> None:
        self.turn = Turn()
        self.trains = threading.RLock()
        self.keepers: set[int] = set()
