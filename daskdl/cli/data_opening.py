"""Open data as a network needs them."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from daskdl.cli.job import Job
from daskdl.data.class_names import agreed_names
from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.data.sources.unused_options import UnusedOptionError, without_options
from daskdl.nn.fitting.class_names import check_class_names
from daskdl.nn.fitting.preparation import options_for
from daskdl.nn.loss_evaluations import evaluation_for
from daskdl.nn.network import Network

__all__ = ["open_for", "open_job_data"]

_KEYS = ("train", "test", "validation")

_Paths = str | tuple[str, ...]


def open_for(
    network: Network[Any],
    paths: _Paths,
    options: SourceOptions,
    *,
    given: Collection[str] = (),
) -> Source:
    """Open data with the classes, widths and shapes that the network knows.

    Parameters
    ----------
    network : Network
        What the data are for.
    paths : str or tuple of str
        Paths or URLs.
    options : SourceOptions
        How the data are stored.
    given : collection of str
        Options that somebody gave for these data. The others are those of the training,
        whose data may be of another form.

    Raises
    ------
    DataError, OptionError
        What can be refused without reading the data through: a path, a column, an
        option that was given and means nothing.
    """
    return _opened(network, paths, options, given)[0]


def open_job_data(network: Network[Any], job: Job) -> dict[str, Source]:
    """Open the data of a job.

    Returns
    -------
    dict of str to Source
        `train`, and `test` and `validation` as far as the job has them; `pretrain`,
        without labels, where it pretrains, and nothing else where it does not train.

    Raises
    ------
    DataError, OptionError
        As `open_for`, and if an option means nothing for all of them, they number the
        classes otherwise, or there is no evaluation for what the network gives.
    """
    data = job.data
    options = data.source_options()
    given = {name: getattr(data, name) for name in _KEYS if job.training.epochs}
    named = {name: paths for name, paths in given.items() if paths is not None}
    if data.test is not None:
        # Now, and not when the network is trained.
        evaluation_for(network)
    opened = {name: _opened(network, paths, options) for name, paths in named.items()}
    if job.training.pretrain is not None:
        paths = data.train if data.pretrain is None else data.pretrain
        unlabelled = replace(options, require_labels=False)
        opened["pretrain"] = _opened(network, paths, unlabelled)
    sources = {name: source for name, (source, _) in opened.items()}
    agreed_names((one.name, one.class_names) for one in sources.values())
    _check_used([error for _, error in opened.values()])
    return sources


def _check_used(unused: Sequence[UnusedOptionError | None]) -> None:
    """Refuse options that mean nothing for any of the data."""
    sets = [set() if error is None else set(error.options) for error in unused]
    if set.intersection(*sets):
        raise next(error for error in unused if error is not None)


def _opened(
    network: Network[Any],
    paths: _Paths,
    options: SourceOptions,
    given: Collection[str] = (),
) -> tuple[Source, UnusedOptionError | None]:
    """Open data, without options that mean nothing for them; return which these are."""
    data = paths if isinstance(paths, str) else list(paths)
    options = options_for(network, options, data)
    unused: UnusedOptionError | None = None
    try:
        source = open_source(data, options)
    except UnusedOptionError as error:
        if not set(given).isdisjoint(error.options):
            raise
        fitting = replace(options, **without_options(options, error.options))
        source, unused = open_source(data, fitting), error
    check_class_names(network, source)
    return source, unused
