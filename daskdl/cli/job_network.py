"""The network that a job trains: described in the job, or saved by an earlier one."""

from collections.abc import Callable
from typing import Any

from daskdl.cli.chosen_dialect import in_dialect
from daskdl.cli.job import Job
from daskdl.cli.model_place import place_of_model
from daskdl.errors import OptionError
from daskdl.formats.load import load
from daskdl.nn.build import build_network
from daskdl.nn.network import Network


def job_network(
    job: Job, tell: Callable[[str], None] = lambda line: None
) -> Network[Any]:
    """Return the network that a job begins with.

    It has the normalizer and the names of classes that the job says, or else those that
    it came with.

    Parameters
    ----------
    job : Job
        With whole paths.
    tell : function of str
        Takes lines for people: which file it is, and what another dialect changes.

    Raises
    ------
    SourceNotFoundError, FormatError
        If `model` is neither a file of a network nor a run directory with one.
    OptionError
        If the names are not those of its classes, the normalizer changes labels that
        tell classes, or the network is none in the dialect.
    """
    network = _beginning(job, tell)
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


def _beginning(job: Job, tell: Callable[[str], None]) -> Network[Any]:
    if job.model is None:
        return build_network(job.network)
    url = place_of_model(job.model.path)
    tell(f"going on from {url}")
    network = load(url)
    if job.model.dialect is None:
        return network
    network, changed = in_dialect("model.dialect", network, job.model.dialect)
    for line in changed:
        tell(line)
    return network
