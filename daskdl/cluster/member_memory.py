"""What a member of a fit holds at the least, and workers that it cannot fit into.

Counted is what every member has after its first minibatches, whatever the data. What
comes and goes is not: activations, messages, and the pieces in which a network travels.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import dask
import psutil
from distributed import Client

from daskdl.checks import some
from daskdl.cluster.calls import Answers, call_each
from daskdl.cluster.masters.options import (
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
    TrainingMaster,
)
from daskdl.cluster.worker_device import keeps_networks_on_device
from daskdl.cluster.worker_selection import WorkerSelection
from daskdl.data.room import HELD_BYTES
from daskdl.errors import OptionError
from daskdl.nn.conf.updaters import NoOp
from daskdl.nn.fitting.trained import Trained, network_of

__all__ = ["MemberMemory", "check_members_fit", "fitting_workers", "member_memory"]

# A worker that does not answer is not judged here.
ANSWER_S = 5.0
# Who asks for no more need not ask its workers.
_SURELY_FREE = 0.9


@dataclass(frozen=True)
class MemberMemory:
    """What a member holds of its network, in bytes.

    Parameters
    ----------
    params, updater_state, gradients : int
        Of the network that it trains.
    exchanged : int
        What the training master keeps beside them from minibatch to minibatch.
    travelled : int
        The network that the member started from, which Dask holds as long as it runs.
    """

    params: int
    updater_state: int
    gradients: int
    exchanged: int
    travelled: int

    @property
    def total(self) -> int:
        """All of it."""
        own = self.params + self.updater_state + self.gradients
        return own + self.exchanged + self.travelled

    def __str__(self) -> str:
        """Return it in words, in MiB."""
        return (
            f"{_mib(self.total)} MiB: parameters {_mib(self.params)}, updater state "
            f"{_mib(self.updater_state)}, gradients {_mib(self.gradients)}, what the "
            f"training master keeps {_mib(self.exchanged)}, and the network that it "
            f"starts from {_mib(self.travelled)}"
        )


def member_memory(
    trained: Trained, master: TrainingMaster, n_members: int
) -> MemberMemory:
    """Return what each member of a fit holds at the least.

    Parameters
    ----------
    trained : Network or LayerPretraining
    master : TrainingMaster
    n_members : int
        One alone keeps less for others.
    """
    params = int(network_of(trained).params.nbytes)
    state = int(trained.updater_state.nbytes)
    # Nobody writes to those of frozen parameters, so that they take no memory.
    learning = [block for block in trained.plan.blocks if _learns(block.updater)]
    n_learning = sum(block.size for block in learning if not block.is_pretraining)
    return MemberMemory(
        params=params,
        updater_state=state,
        gradients=n_learning * int(trained.params.itemsize),
        exchanged=_exchanged(master, int(trained.params.nbytes), state, n_members),
        travelled=params + state,
    )


def _learns(updater: Any) -> bool:
    return not isinstance(updater, NoOp)


def _exchanged(master: TrainingMaster, params: int, state: int, members: int) -> int:
    """Return what the exchange of this master allocates; see `cluster/exchanges`."""
    are_several = members > 1
    if isinstance(master, SharedTrainingMaster):
        # The residual, and the base that all know.
        return params * (1 + are_several)
    if not isinstance(master, ParameterAveragingTrainingMaster):
        # What the gradients of all come to.
        return params * are_several
    brought = params + (state if master.save_updater and not master.overlap else 0)
    kept = 0 if master.save_updater else state
    if isinstance(master, BlockMomentumTrainingMaster):
        kept += params  # where the last round ended
    # The mean; with `overlap` what was brought is a copy.
    return kept + (brought * (2 if master.overlap else 1) if are_several else 0)


def check_members_fit(
    client: Client,
    who: str,
    trained: Trained,
    master: TrainingMaster,
    workers: Sequence[str] | int | None,
    resources: Mapping[str, float] | None,
) -> None:
    """Refuse a network that surely does not fit into the workers of a fit.

    Workers that nobody ends for their memory are not judged: those without a limit or
    without a nanny, and those that keep networks on a device.

    Parameters
    ----------
    client : Client
        A synchronous client.
    who : str
        For the message.
    trained, master
        What is trained, and how.
    workers, resources
        As :class:`~daskdl.cluster.worker_selection.WorkerSelection` takes them.

    Raises
    ------
    OptionError
        If fewer workers than the fit needs can hold a member.
    """
    selection = WorkerSelection(client, workers, resources or {})
    limits = selection.nanny_limits()
    n_members = min(len(limits), selection.most or len(limits))
    needed = member_memory(trained, master, n_members)
    doubtful = {
        address: limit
        for address, limit in limits.items()
        if limit and needed.total + HELD_BYTES > _SURELY_FREE * limit
    }
    if len(limits) - len(doubtful) >= selection.n_wanted:
        return
    held = _held_by_workers(client, list(doubtful))
    small = {
        address: (limit, *held[address])
        for address, limit in doubtful.items()
        if address in held and needed.total > _left(limit, *held[address])
    }
    if len(limits) - len(small) < selection.n_wanted and small:
        raise OptionError(_refusal(who, needed, small))


def _left(limit: int, held: int, fraction: float) -> int:
    """Return what a worker has left before its nanny ends it, in bytes."""
    # What is more may be data, which others may be about to take away.
    return int(fraction * limit) - min(held, HELD_BYTES)


def _refusal(
    who: str, needed: MemberMemory, small: Mapping[str, tuple[int, int, float]]
) -> str:
    address, (limit, held, fraction) = min(small.items(), key=lambda one: one[1])
    others = f" and {len(small) - 1} more" if len(small) > 1 else ""
    enough = int((needed.total + HELD_BYTES) / fraction)
    return (
        f"{who}: a member must fit into its worker's memory. It holds at least "
        f"{needed}. Worker {address}{others} has {_mib(_left(limit, held, fraction))} "
        f"MiB for it: Dask ends it at {fraction:.0%} of memory_limit, which is "
        f"{_mib(limit)} MiB, and {_mib(min(held, HELD_BYTES))} MiB are taken. Start "
        f"workers with a memory_limit of {_mib(enough)} MiB and more, fewer of them on "
        "a machine if need be, or take an updater with less state, or a smaller "
        "network."
    )


def _mib(n_bytes: int) -> str:
    return f"{n_bytes >> 20:,}"


def _held_by_workers(
    client: Client, addresses: Sequence[str]
) -> dict[str, tuple[int, float]]:
    """Return what these hold now, and at which part of the limit each is ended."""
    arguments: dict[str, tuple[Any, ...]] = dict.fromkeys(addresses, ())
    answers: Answers = client.sync(
        call_each, client, held_by_worker, arguments, ANSWER_S
    )
    return {a: told for a, told in answers.values.items() if told is not None}


def held_by_worker(dask_worker: Any) -> tuple[int, float] | None:
    """Return what this worker holds, and at which part of its limit it is ended.

    None where members are not ended for what networks take.
    """
    # Of the nanny, which hands its configuration to its worker.
    fraction = dask.config.get("distributed.worker.memory.terminate")
    if not fraction or keeps_networks_on_device(dask_worker):
        return None
    return int(psutil.Process().memory_info().rss), float(fraction)


@contextmanager
def fitting_workers(
    enough: AbstractContextManager[None], check: Callable[[], None]
) -> Iterator[None]:
    """Wait until there are enough workers, and check that members fit into them.

    Parameters
    ----------
    enough : context manager
        As of :func:`~daskdl.cluster.enough_workers.enough_workers`.
    check : callable
        :func:`check_members_fit` of the fit.
    """
    with enough:
        check()
        yield
