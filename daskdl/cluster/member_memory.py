"""What a member of a fit holds at the least, and workers that it cannot fit into.

Counted is what every member has after its first minibatches, whatever the data. What
comes and goes is not: activations, messages, and the pieces in which a network travels.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import dask
from distributed import Client

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
from daskdl.errors import OptionError, WorkerLostError
from daskdl.nn.conf.updaters import NoOp
from daskdl.nn.fitting.trained import Trained, network_of

__all__ = [
    "MemberMemory",
    "check_members_fit",
    "ended_for_memory",
    "fitting_workers",
    "member_memory",
]

# A worker that does not answer is not judged here.
ANSWER_S = 5.0
# After its imports, before it compiles or reads anything, a worker holds 125 MiB. What
# it holds at the moment is no better number: of a fit that ended much lies free.
_IMPORTED_BYTES = 120 << 20
# Who needs no more of the limit does not ask.
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
    kept = state if master.resets_updater else 0
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
    fractions = _ended_at(client, list(doubtful))
    small = [
        _SmallWorker(address, limit, fractions[address])
        for address, limit in doubtful.items()
        if address in fractions
    ]
    small = [worker for worker in small if needed.total > worker.left]
    if small and len(limits) - len(small) < selection.n_wanted:
        raise OptionError(_refusal(who, needed, small))


@dataclass(frozen=True)
class _SmallWorker:
    address: str
    limit: int
    fraction: float  # of the limit, at which its nanny ends it

    @property
    def left(self) -> int:
        return int(self.fraction * self.limit) - _IMPORTED_BYTES


def ended_for_memory(
    what: str, trained: Trained, master: TrainingMaster, *, in_vain: bool
) -> WorkerLostError:
    """Return what ends a fit whose members are ended for their memory time and again.

    Parameters
    ----------
    what : str
        What is said of the last of them, whose memory was full.
    trained, master
        What was to be trained, and how.
    in_vain : bool
        Whether none had trained.
    """
    trained_so_far = (
        "and none had trained a minibatch"
        if in_vain
        else "and the network could not be kept between"
    )
    return WorkerLostError(
        f"{what} Workers were ended for their memory again and again, "
        f"{trained_so_far}. A member holds at least "
        f"{member_memory(trained, master, 1)}; beside it a worker needs some "
        f"{_mib(HELD_BYTES)} MiB, and the activations of a minibatch."
    )


def _refusal(who: str, needed: MemberMemory, small: Sequence[_SmallWorker]) -> str:
    least = min(small, key=lambda worker: worker.left)
    others = f", as {len(small) - 1} more," if len(small) > 1 else ""
    enough = int((needed.total + HELD_BYTES) / least.fraction)
    return (
        f"{who}: a member must fit into its worker's memory, it holds at least "
        f"{needed}. Worker {least.address}{others} has {_mib(max(0, least.left))} MiB "
        f"for it: Dask ends it at {least.fraction:.0%} of memory_limit, "
        f"{_mib(least.limit)} MiB, and it holds {_mib(_IMPORTED_BYTES)} MiB itself. "
        f"Start workers with a memory_limit of {_mib(enough)} MiB or more, fewer of "
        "them on a machine if need be, or take an updater with less state or a smaller "
        "network."
    )


def _mib(n_bytes: int) -> str:
    return f"{n_bytes >> 20:,}"


def _ended_at(client: Client, addresses: Sequence[str]) -> dict[str, float]:
    """Return at which part of its limit each of these is ended, if it is."""
    arguments: dict[str, tuple[Any, ...]] = dict.fromkeys(addresses, ())
    answers: Answers = client.sync(call_each, client, ended_at, arguments, ANSWER_S)
    return {address: told for address, told in answers.values.items() if told}


def ended_at(dask_worker: Any) -> float:
    """Return at which part of its limit this worker is ended; 0 if it is not.

    Nor is it for networks that it keeps on a device.
    """
    if keeps_networks_on_device(dask_worker):
        return 0.0
    # Of the nanny, which hands its configuration to its worker.
    return float(dask.config.get("distributed.worker.memory.terminate") or 0.0)


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
