"""Workers that come while a fit runs show that they can take part before they join.

A newcomer may be killed or stopped as it joins, lack a package, have another daskdl, or
not see the data. None of that may touch the members: it is tried in a task of its own,
beside the fit, with its own time-out.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from distributed import Client, Future, get_worker

from daskdl.cluster.bus import get_bus
from daskdl.cluster.bus.probing import installed_version
from daskdl.cluster.mailbox import PLUGIN_NAME
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.plan import Minibatch
from daskdl.data.reader import MinibatchReader
from daskdl.data.sources.partition import Partition
from daskdl.errors import ClusterError
from daskdl.nn.batches import Batch, as_arrays
from daskdl.nn.build import build_network
from daskdl.nn.conf.network import configuration_from_dict
from daskdl.nn.fitting.preparation import PreparedData
from daskdl.nn.network import Network
from daskdl.training.registered_kinds import unpack_kinds
from daskdl.training.state import NetworkState

logger = logging.getLogger(__name__)

# Whoever began a moment ago is waited for between two epochs, so that a worker which
# came during the last one, however short, trains in the next.
PATIENCE_S = 3.0
LOOK_AGAIN_S = 0.05

OnLeftOut = Callable[[str, str], None]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The network and the minibatch that a newcomer is tried with.

    Parameters
    ----------
    version : str
        That of daskdl here, which it must have too.
    configuration : dict
        Of the network.
    kinds : bytes
        As of :class:`~daskdl.training.state.NetworkState`.
    normalizer : Normalizer or None
    minibatch : Minibatch or None
        One that it must be able to read; None where the data travel in any case.
    partitions : mapping of int to Partition
        Those of the minibatch.
    """

    version: str
    configuration: dict[str, Any]
    kinds: bytes = b""
    normalizer: Normalizer | None = None
    minibatch: Minibatch | None = None
    partitions: Mapping[int, Partition] = field(default_factory=dict)


def trial_of(data: PreparedData, state: NetworkState) -> Trial:
    """Return the trial of newcomers of a fit."""
    trial = Trial(
        version=installed_version(),
        configuration=state.configuration,
        kinds=state.kinds,
    )
    source = data.source
    if source.in_memory:
        return trial
    minibatch = data.minibatches[0]
    needed = {piece.partition for piece in minibatch.pieces}
    return replace(
        trial,
        normalizer=data.normalizer,
        minibatch=minibatch,
        partitions={number: source.partitions[number] for number in needed},
    )


def try_out(trial: Trial) -> None:
    """Load the network and a minibatch as a member would. A Dask task on a newcomer.

    Raises
    ------
    ClusterError
        When it has another daskdl, or lacks the bus or the mailboxes.
    Exception
        Whatever keeps it from building the network, or reading a minibatch and
        computing with it.
    """
    found = installed_version()
    if found != trial.version:
        raise ClusterError(f"daskdl must be {trial.version}, got {found}")
    worker = get_worker()
    get_bus(worker)
    if PLUGIN_NAME not in worker.plugins:
        raise ClusterError(f"the worker must have the plugin {PLUGIN_NAME}")
    unpack_kinds(trial.kinds)
    network = build_network(configuration_from_dict(trial.configuration))
    if trial.minibatch is None:
        return
    network.restore_normalizer(trial.normalizer)
    _compute(network, MinibatchReader(trial.partitions).read(trial.minibatch))


def _compute(network: Network[Any], batch: Batch) -> None:
    """Compute what a minibatch allows: pretraining does without labels."""
    arrays = as_arrays("newcomer", batch)
    if arrays.labels:
        network.compute_score(batch)
    else:
        network.output(arrays.features, features_mask=arrays.features_masks)


@dataclass
class _OnTrial:
    since_s: float
    future: Future | None = None  # None until it has the plugins
    is_late: bool = False

    @property
    def status(self) -> str:
        return "pending" if self.future is None else str(self.future.status)


class Probation:
    """Keep book of the newcomers of one fit.

    Parameters
    ----------
    client : Client
    timeout_s : float
        How long a newcomer may take before it is told that one is late.
    submit_options : dict
        Of the tasks that try them out.
    on_left_out : callable
        Told the address and the reason of each that cannot take part.
    """

    def __init__(
        self,
        client: Client,
        timeout_s: float,
        submit_options: Mapping[str, Any],
        on_left_out: OnLeftOut,
    ) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._submit_options = submit_options
        self._on_left_out = on_left_out
        self._on_trial: dict[str, _OnTrial] = {}
        self._refused: set[str] = set()

    def refuse(self, address: str) -> None:
        """Do not ask a worker again."""
        self._refused.add(address)

    def forgive(self, address: str) -> None:
        """Ask a worker again that was refused."""
        self._refused.discard(address)

    def willing(self, free: Iterable[str]) -> list[str]:
        """Return the workers of `free` that were not refused."""
        return [address for address in free if address not in self._refused]

    def look(
        self, free: Iterable[str], trial: Trial, prepared: Mapping[str, str | None]
    ) -> None:
        """Begin to try out newcomers; drop those that went or failed, name late ones.

        Parameters
        ----------
        free : iterable of str
            Workers that may join.
        trial : Trial
        prepared : mapping of str to str or None
            Who has the plugins: None; or why it cannot. Nothing of ours is sent to
            others: a task that it cannot load may end a worker.
        """
        there = self.willing(free)
        for address in self._on_trial.keys() - set(there):
            self._cancel(address)
        for address in there:
            each = self._on_trial.setdefault(address, _OnTrial(time.monotonic()))
            if each.future is not None or address not in prepared:
                self._judge(address)
            elif (wrong := prepared[address]) is not None:
                self._refuse(address, f"failed with {wrong}")
            else:
                each.future = self._submit(address, trial)

    def passed(self) -> list[str]:
        """Return the newcomers that may join."""
        return [
            address
            for address, each in self._on_trial.items()
            if each.status == "finished"
        ]

    def has_just_begun(self) -> bool:
        """Whether a newcomer should be waited for a moment longer."""
        latest_s = time.monotonic() - PATIENCE_S
        return any(
            each.status == "pending" and each.since_s > latest_s
            for each in self._on_trial.values()
        )

    def close(self) -> None:
        """Give up all trials."""
        for address in list(self._on_trial):
            self._cancel(address)

    def _submit(self, address: str, trial: Trial) -> Future:
        return self._client.submit(
            try_out,
            trial,
            workers=[address],
            allow_other_workers=False,
            pure=False,
            retries=0,
            **self._submit_options,
        )

    def _judge(self, address: str) -> None:
        each = self._on_trial[address]
        status = each.status
        if status == "finished":
            return
        if status == "error" and each.future is not None:
            self._refuse(address, f"failed with {each.future.exception(1)!r}")
        elif status != "pending":
            # Cancelled, or lost with its worker: whoever is there is tried again.
            self._cancel(address)
        elif time.monotonic() - each.since_s > self._timeout_s and not each.is_late:
            # Busy with other tasks, or stopped: it costs nothing to keep the door open.
            each.is_late = True
            self._tell(address, f"did not within {self._timeout_s:g} s")

    def _refuse(self, address: str, reason: str) -> None:
        self._tell(address, reason)
        self._refused.add(address)
        self._cancel(address)

    def _cancel(self, address: str) -> None:
        future = self._on_trial.pop(address).future
        if future is not None:
            self._client.cancel([future])

    def _tell(self, address: str, what: str) -> None:
        logger.warning(
            "Session: newcomer %s must show that it can take part, it %s. The fit goes "
            "on without it.",
            address,
            what,
        )
        self._on_left_out(address, f"it must show that it can take part, it {what}")
