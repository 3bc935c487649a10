"""How many threads a network takes for itself, and how it is used by several."""

from contextlib import AbstractContextManager

from daskdl.checks import check_count
from daskdl.nn.joint_passes import JointPasses


class ThreadUse:
    """What of a network has to do with threads.

    Notes
    -----
    Threads of a user may call one network at one time: each call waits for its turn,
    training for each minibatch. Fork, pickle and clone begin anew.
    """

    _passes: JointPasses

    @property
    def threads(self) -> int | None:
        """How many threads a pass takes at most; None for all this process may use.

        BLAS has no more meanwhile, and never more than the process gives it.
        """
        return self._passes.threads

    @threads.setter
    def threads(self, threads: int | None) -> None:
        if threads is not None:
            check_count(type(self).__name__, "threads", threads)
        self._passes.threads = threads

    def keeping_threads(self) -> AbstractContextManager[None]:
        """Keep threads for a loop around ``fit_minibatch``, until a block ends."""
        return self._passes.keeping_threads()

    def training(self, who: str) -> AbstractContextManager[None]:
        """Let no other thread train the network, until the end of a ``with`` block.

        Parameters
        ----------
        who : str
            Class and method, for the error.

        Raises
        ------
        NetworkBusyError
            If another one trains it already.
        """
        return self._passes.turns.training(who)

    @property
    def _turn(self) -> AbstractContextManager[None]:
        """To be held by who uses vectors and buffers; others wait meanwhile."""
        return self._passes.turns.turn
