"""Open data as a network needs them."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from daskdl.cli.job_data import Data
from daskdl.data.class_names import agreed_names
from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.data.sources.unused_options import UnusedOptionError, without_options
from daskdl.nn.fitting.class_names import check_class_names
from daskdl.nn.fitting.preparation import options_for
from daskdl.nn.loss_evaluations import evaluation_for
from daskdl.nn.network import Network

__all__ = ["open_for", "open_job_data"]

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


def open_job_data(network: Network[Any], data: Data) -> tuple[Source, Source | None]:
    """Open the training data of a job, and its test data, if it has any.

    Raises
    ------
    DataError, OptionError
        As `open_for`, and if an option means nothing for both, both number the classes
        otherwise, or there is no evaluation for what the network gives.
    """
    options = data.source_options()
    train, unused = _opened(network, data.train, options)
    if data.test is None:
        if unused is not None:
            raise unused
        return train, None
    # Now, and not when the network is trained.
    evaluation_for(network)
    test, of_test = _opened(network, data.test, options)
    agreed_names((one.name, one.class_names) for one in (train, test))
    by_test = set() if of_test is None else set(of_test.options)
    if unused is not None and not by_test.isdisjoint(unused.options):
        raise unused
    return train, test


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
