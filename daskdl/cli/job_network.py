"""The network that a job trains: described in the job, or saved by an earlier one."""

from typing import Any

from daskdl.cli.job import Job
from daskdl.cli.model_place import place_of_model
from daskdl.errors import OptionError
from daskdl.formats.load import load
from daskdl.nn.build import build_network
from daskdl.nn.network import Network


def job_network(job: Job) -> Network[Any]:
    """Return the network that a job begins with.

    It has the normalizer and the names of classes that the job says, or else those that
    it came with.

    Raises
    ------
    SourceNotFoundError, FormatError
        If `model` is neither a file of a network nor a run directory with one.
    OptionError
        If the names are not those of its classes, or the normalizer changes labels
        that tell classes.
    """
    network = _beginning(job)
    if job.data.normalize is not None:
        try:
            network.normalizer = job.data.normalizer()
        except OptionError as error:
            raise OptionError(f"data.normalize: {error}") from error
    if job.data.class_names is not None:
        try:
            network.class_names = job.data.class_names
        except OptionError as error:
            raise OptionError(f"data.class_names: {error}") from error
    return network


def _beginning(job: Job) -> Network[Any]:
    if job.model is None:
        return build_network(job.network)
    return load(place_of_model(job.model))
