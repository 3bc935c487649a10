"""Compile the kernels of networks ahead, into the cache that training uses."""

import time
from dataclasses import dataclass
from typing import Any

from daskdl.cli.bare_configuration import is_bare_configuration
from daskdl.cli.inspection import inspect_path
from daskdl.cli.job_file import load_job
from daskdl.cli.job_network import job_network
from daskdl.errors import OptionError
from daskdl.kernels.machine_code import cache_directory
from daskdl.nn.build import build_network
from daskdl.nn.conf.network import configuration_from_dict
from daskdl.nn.fitting.compiling import compile_for
from daskdl.nn.network import Network

__all__ = ["Warmed", "warm"]

_BATCH_SIZE = 32  # what the job file's schema promises
_JOB_ENDINGS = (".yaml", ".yml")
_UPDATERS = ("sgd", "nesterovs", "adam", "adagrad", "rmsprop")
_LAYERS: dict[str, Any] = {
    "dense": (
        {"type": "feed_forward", "size": 8},
        [{"type": "dense", "n_out": 8, "activation": "relu"}],
        "output",
    ),
    "convolutions": (
        {"type": "convolutional", "height": 8, "width": 8, "channels": 1},
        [
            {"type": "convolution2d", "n_out": 4, "kernel_size": [3, 3]},
            {"type": "batch_normalization"},
            {
                "type": "subsampling",
                "pooling_type": "max",
                "kernel_size": [2, 2],
                "stride": [2, 2],
            },
        ],
        "output",
    ),
    "LSTM": (
        {"type": "recurrent", "size": 8},
        [{"type": "lstm", "n_out": 8}],
        "rnn_output",
    ),
}


@dataclass(frozen=True)
class Warmed:
    """Compiled code of a network: its name, new files, and seconds."""

    name: str
    compiled: int
    seconds: float


def warm(paths: tuple[str, ...]) -> list[Warmed]:
    """Compile the code for training networks ahead.

    Parameters
    ----------
    paths : tuple of str
        Jobs, saved networks, runs or configurations. Without any, what is the same for
        all networks of the usual layers and updaters; code of convolutions and LSTM
        layers is for their sizes, and needs the network.

    Raises
    ------
    OptionError
        If there is no network at a path, or it leaves sizes open.
    """
    if not paths:
        return [_warmed(*each, _BATCH_SIZE) for each in _usual()]
    return [_warmed(path, *_network_at(path)) for path in paths]


def _warmed(name: str, network: Network[Any], batch_size: int) -> Warmed:
    before, start_s = _files(), time.perf_counter()
    compile_for(network, batch_size)
    return Warmed(name, len(_files() - before), time.perf_counter() - start_s)


def _files() -> set[str]:
    folder = cache_directory()
    return set() if folder is None else {path.name for path in folder.glob("*.o")}


def _network_at(path: str) -> tuple[Network[Any], int]:
    if path.endswith(_JOB_ENDINGS) and not is_bare_configuration(path):
        # Its data may lie where only workers see them.
        job = load_job(path)
        return job_network(job), job.training.batch_size or _BATCH_SIZE
    found = inspect_path(path)
    if found.conf is None:
        raise OptionError(f"{path}: must be a network or a job, got {found.kind}.")
    return build_network(found.conf), _BATCH_SIZE


def _usual() -> list[tuple[str, Network[Any]]]:
    # What an updater needs is the same under any layers.
    updaters = dict.fromkeys(_LAYERS, _UPDATERS[:1]) | {"dense": _UPDATERS}
    return [
        (f"{layers}, {updater}", _usual_network(layers, updater))
        for layers, each in updaters.items()
        for updater in each
    ]


def _usual_network(name: str, updater: str) -> Network[Any]:
    input_type, layers, output = _LAYERS[name]
    last = {"type": output, "n_out": 4, "activation": "softmax", "loss": "mcxent"}
    values = {
        "input": input_type,
        "layers": [*layers, last],
        "updater": {"type": updater},
    }
    return build_network(configuration_from_dict(values))
