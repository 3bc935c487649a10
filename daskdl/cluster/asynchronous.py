"""Front ends of asynchronous clients: what works on the cluster is awaited.

All of it is written for synchronous clients, since a fit asks the cluster hundreds of
things one after the other. With an asynchronous client each call opens a synchronous
one for itself, and works in a thread; the event loop is free meanwhile.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, TypeVar

from distributed import Client

__all__ = ["AWAITED", "serves_asynchronous_clients", "wait_to_train_s"]

AWAITED = (
    "calculate_score",
    "do_evaluation",
    "evaluate",
    "evaluate_regression",
    "evaluate_roc",
    "evaluate_roc_multi_class",
    "feed_forward_with_key",
    "feed_forward_with_mask_and_key",
    "fit",
    "fit_continuous_labeled_point",
    "fit_labeled_point",
    "fit_multi_data_set",
    "fit_paths",
    "pretrain",
    "pretrain_layer",
    "score",
    "score_and_evaluate",
    "score_examples",
)
"""The methods of front ends that ask the cluster for something."""

T = TypeVar("T", bound=type)

# A call that was cancelled ends when it next asks the cluster for something.
_CANCELLED_ENDS_WITHIN_S = 60.0

# Whether a method was called by another one, in the thread that works.
_IS_IN_THREAD: ContextVar[bool] = ContextVar("daskdl_is_in_thread", default=False)


def serves_asynchronous_clients(cls: T) -> T:
    """Let methods of a front end return a coroutine if its client is asynchronous."""
    for name in AWAITED:
        if hasattr(cls, name):
            setattr(cls, name, _awaited(getattr(cls, name)))
    return cls


def _awaited(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(self: Any, *args: Any, **options: Any) -> Any:
        if _IS_IN_THREAD.get() or not self._client.asynchronous:
            return method(self, *args, **options)
        return _in_thread(self, partial(method, self, *args, **options))

    return called


def wait_to_train_s() -> float:
    """Return how long to wait for another thread that trains the network.

    Of an asynchronous client it can only be one whose call was cancelled.
    """
    return _CANCELLED_ENDS_WITHIN_S if _IS_IN_THREAD.get() else 0.0


async def _in_thread(front: Any, work: Callable[[], Any]) -> Any:
    """Do the work of a front end in a thread, with a client that is its own."""
    # Two calls of one front end would train one network: they take turns.
    async with front._turn:
        client: Client = front._client
        connect = partial(
            Client,
            client.scheduler.address,
            security=client.security,
            set_as_default=False,
            asynchronous=False,
        )
        synchronous = await asyncio.to_thread(connect)
        front._client = synchronous
        try:
            return await asyncio.to_thread(_work, work)
        finally:
            # If the call was cancelled, this ends what the thread does.
            front._client = client
            await asyncio.to_thread(synchronous.close)


def _work(work: Callable[[], Any]) -> Any:
    # The thread has a context of its own, which ends with it.
    _IS_IN_THREAD.set(True)
    return work()
