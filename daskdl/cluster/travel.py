"""What goes from the client to workers with a fit, known to arrive before it starts.

A hook that holds an open file, a loader whose module is not installed on the workers, a
layer of a package that they do not have: each is named, where it would be an error of
pickle out of the middle of a fit otherwise.
"""

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import cloudpickle
from distributed import Client

from daskdl.cluster.masters.options import TrainingMaster
from daskdl.cluster.plain_tasks import run_tasks
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import OptionError
from daskdl.training.registered_kinds import unpack_kinds

__all__ = ["check_travels", "travelling"]

KINDS = "the network's own kinds of layers and losses"


def travelling(
    master: TrainingMaster, options: SourceOptions, kinds: bytes
) -> dict[str, Any]:
    """Return what of a fit is of the user's own and goes to workers, by its name.

    Parameters
    ----------
    master : TrainingMaster
    options : SourceOptions
    kinds : bytes
        Of :func:`~daskdl.training.registered_kinds.packed_kinds`.
    """
    everything = {
        "training_hooks": master.training_hooks,
        "loader": options.loader,
        "pre_processor": options.pre_processor,
        KINDS: kinds,
    }
    return {name: value for name, value in everything.items() if not _is_ours(value)}


def check_travels(client: Client, who: str, things: Mapping[str, Any]) -> None:
    """Pickle things, and load them in one task on a worker.

    Parameters
    ----------
    client : Client
    who : str
        For messages.
    things : mapping of str to object
        By their names. Without any nothing is asked of the cluster.

    Raises
    ------
    OptionError
        If one cannot be pickled, or a worker cannot load it.
    """
    packed = {name: _packed(who, name, thing) for name, thing in things.items()}
    if not packed:
        return

    def submit(numbers: Sequence[int], workers: list[str]) -> list[Any]:
        return [
            client.submit(load_each, packed, pure=False, workers=workers)
            for _ in numbers
        ]

    (refused,) = run_tasks(client, who, 1, submit)
    for name, why in refused.items():
        raise OptionError(
            f"{who}: {name} must be something that workers can load, got {why}. "
            "Install on the workers what it comes from."
        )


def load_each(packed: Mapping[str, bytes]) -> dict[str, str]:
    """Load things; return why, for each that cannot be. Runs as a Dask task."""
    reasons = {name: _why_not(name, data) for name, data in packed.items()}
    return {name: why for name, why in reasons.items() if why}


def _why_not(name: str, data: bytes) -> str:
    try:
        thing = pickle.loads(data)
        if name == KINDS:
            unpack_kinds(thing)
    except Exception as error:  # noqa: BLE001
        # Whatever their modules raise.
        return f"{type(error).__name__}: {error}"
    return ""


def _packed(who: str, name: str, thing: Any) -> bytes:
    try:
        data: bytes = cloudpickle.dumps(thing)
    except Exception as error:
        raise OptionError(
            f"{who}: {name} must be something that can be pickled for the workers, got "
            f"{error}. Let it hold names of files and hosts, and open them where it "
            "runs."
        ) from error
    return data


def _is_ours(value: Any) -> bool:
    """Return whether every worker that has daskdl has it, or there is nothing."""
    if isinstance(value, tuple):
        return all(map(_is_ours, value))
    if isinstance(value, bytes):
        return not value
    return value is None or type(value).__module__.partition(".")[0] == "daskdl"
