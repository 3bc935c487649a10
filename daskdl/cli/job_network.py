"""The network that a job trains: described in the job, or saved by an earlier one."""

from typing import Any

from daskdl.cli.job import Job
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.formats.load import load
from daskdl.nn.build import build_network
from daskdl.nn.network import Network


def job_network(job: Job) -> Network[Any]:
    """Return the network that a job begins with.

    Raises
    ------
    SourceNotFoundError, FormatError
        If `model` is no file, or none of a network.
    """
    if job.model is not None:
        return load(job.model)
    return build_network(job.network)


def job_normalizer(job: Job, network: Network[Any]) -> Normalizer | None:
    """Return what happens to the data: what the job says, or the network came with."""
    return job.data.normalizer() or network.normalizer
