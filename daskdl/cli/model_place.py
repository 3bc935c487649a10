"""The file that a path to a model means: itself, or one in the directory of a run."""

import posixpath
from typing import Any

from daskdl.cli.directory_replacement import unfinished_of
from daskdl.cli.run_directory import JOB, is_of_one_run
from daskdl.data.filesystems import filesystem
from daskdl.data.store import kind_of
from daskdl.errors import SourceNotFoundError
from daskdl.formats.run_network import MODEL, network_in
from daskdl.nn.fitting.checkpoint_directory import CHECKPOINTS

__all__ = ["place_of_model"]


def place_of_model(path: str) -> str:
    """Return the path or URL of the network that `path` means.

    Parameters
    ----------
    path : str
        Of a file, or of the directory of a run: of one that was interrupted the last
        checkpoint is taken.

    Raises
    ------
    SourceNotFoundError
        If there is nothing, or a directory without a network.
    """
    path = path.rstrip("/")
    fs, inside = filesystem(path)
    kind = kind_of(fs, inside)
    if kind == "file":
        return path
    if kind is None:
        raise SourceNotFoundError(
            f"{path}: must be a model file or a run directory, nothing is there."
            f"{_networks_beside(fs, inside)}"
        )
    found = network_in(fs, inside)
    if found is None:
        raise SourceNotFoundError(
            f"{path}: must be a model file or a run directory with {MODEL} or "
            f"{CHECKPOINTS}, got {_without_network(fs, inside)}"
        )
    return posixpath.join(path, found)


def _without_network(fs: Any, directory: str) -> str:
    if not is_of_one_run(fs, directory):
        return f"a directory without one.{_networks_beside(fs, directory)}"
    return (
        "one of a run that has not finished an epoch: it was interrupted, or still "
        f"goes on. Go on with it by `daskdl run --resume`, or train with its {JOB}."
    )


def _networks_beside(fs: Any, path: str) -> str:
    """Return a hint at runs to that place that are not finished, or were broken off."""
    found = [made for made in unfinished_of(fs, path) if network_in(fs, made)]
    if not found:
        return ""
    names = ", ".join(map(posixpath.basename, found))
    return f" Beside it lies, of a run that is not finished: {names}."
