"""Hooks of a training master: what runs on workers around each minibatch."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from daskdl.errors import OptionError

if TYPE_CHECKING:
    from daskdl.nn.batches import Batch
    from daskdl.nn.network import Network

__all__ = ["TrainingHook", "hooks_of"]


class TrainingHook:
    """Called on the worker before and after each minibatch; derive from it.

    A hook travels to every worker with the training master, by pickle: what it needs
    has to be there, and what it changes of itself stays on that worker. An exception of
    a hook ends the fit. Listeners are called in your process instead, and hear of all
    workers.

    Every training master has hooks, so that front ends, searches and
    :class:`~daskdl.ParallelWrapper` call them, in pretraining too. ``network.fit`` and
    :func:`daskdl.fit` have no master and call none, as in DL4J, where only Spark's
    workers do.

    References
    ----------
    DL4J's TrainingHook.
    """

    def pre_update(self, minibatch: "Batch", network: "Network[Any]") -> None:
        """Look at a minibatch before it is trained.

        Parameters
        ----------
        minibatch : DataSet or MultiDataSet
            As it was read, before the normalizer of the network. Not to be changed: it
            may be kept for the next epoch.
        network : Network
            The worker's own, which the others have not seen yet.
        """

    def post_update(self, minibatch: "Batch", network: "Network[Any]") -> None:
        """Look at a minibatch after it was trained.

        Parameters
        ----------
        minibatch, network
            See :meth:`pre_update`. ``network.score`` is that of the minibatch.
        """


def hooks_of(who: str, given: Any) -> tuple[TrainingHook, ...]:
    """Return the hooks that were given, one or several.

    Raises
    ------
    OptionError
        If one is none.
    """
    if isinstance(given, TrainingHook):
        return (given,)
    hooks = tuple(given) if isinstance(given, Iterable) else (given,)
    for hook in hooks:
        if not isinstance(hook, TrainingHook):
            raise OptionError(
                f"{who}: training_hooks must be objects of classes that derive from "
                f"daskdl.TrainingHook, got {type(hook).__name__}."
            )
    return hooks
