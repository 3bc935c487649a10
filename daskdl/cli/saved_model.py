"""A saved network, and how its training read the data."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from daskdl.cli.job_file import load_job
from daskdl.cli.model_place import place_of_model
from daskdl.cli.run_directory import JOB
from daskdl.data.filesystems import filesystem
from daskdl.data.sources.source import SourceOptions
from daskdl.data.store import kind_of
from daskdl.errors import OptionError
from daskdl.formats.load import load
from daskdl.nn.network import Network

__all__ = ["SavedModel", "columns_of", "open_model"]


@dataclass(frozen=True)
class SavedModel:
    """A network from a file or a run directory.

    Attributes
    ----------
    url : str
        Of the file.
    network : Network
        As saved, with the normalizer that the training fitted.
    options : SourceOptions
        How the job beside the file read its data; the defaults if there is no job.
    """

    url: str
    network: Network[Any]
    options: SourceOptions

    def source_options(
        self,
        *,
        features: Sequence[str] = (),
        label: Sequence[str] = (),
        data_format: str | None = None,
        unfinished: bool = False,
        **changes: Any,
    ) -> SourceOptions:
        """Return the training's options, overridden by those of the command line.

        Parameters
        ----------
        features, label : sequence of str
            Columns, or ``input=column`` for a graph; nothing keeps the training's.
        data_format : str, optional
            Stored form of the data. The training's is not taken over: other data may
            be stored otherwise, and what they are is found out.
        unfinished : bool
            Read directories without ``_SUCCESS``, whatever the training did.
        **changes
            Further options.
        """
        if unfinished:
            changes["require_success"] = False
        options = replace(self.options, format=data_format, **changes)
        if features:
            options = replace(options, features=columns_of("features", features))
        if label:
            options = replace(options, label=columns_of("label", label))
        return options


def open_model(path: str) -> SavedModel:
    """Load a network from a model file or a run directory.

    Of a run that was interrupted it is the last checkpoint.

    Raises
    ------
    SourceNotFoundError
        If there is nothing, or a directory without a network.
    FormatError
        If the file holds no network.
    """
    url = place_of_model(path)
    job = posixpath.join(posixpath.dirname(url), JOB)
    options = SourceOptions()
    if _exists(job):
        options = load_job(job).data.source_options()
    return SavedModel(url, load(url), options)


def columns_of(option: str, names: Sequence[str]) -> Any:
    """Return columns given on the command line as SourceOptions takes them.

    Raises
    ------
    OptionError
        If some are ``input=column`` and some are not.

    Examples
    --------
    >>> columns_of("features", ["a=x", "a=y", "b=z"])
    {'a': ('x', 'y'), 'b': ('z',)}
    """
    named = [name for name in names if "=" in name]
    if not named:
        return names[0] if len(names) == 1 else tuple(names)
    if len(named) != len(names):
        raise OptionError(
            f"--{option}: either all must be INPUT=COLUMN or none, got {list(names)}."
        )
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        key, _, column = name.partition("=")
        found[key] = (*found.get(key, ()), column)
    return found


def _exists(path: str) -> bool:
    return kind_of(*filesystem(path)) is not None
