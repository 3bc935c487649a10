"""The files at a path, as the source that reads them lists them."""

import os
from collections.abc import Sequence
from typing import Any

from daskdl.checks import check_type
from daskdl.data.sources.source import SourceOptions, opened_by
from daskdl.errors import OptionError
from daskdl.option_types import with_checked_types

__all__ = ["list_paths"]

_WHO = "list_paths"


@with_checked_types
def list_paths(
    path_or_url: str | os.PathLike[str],
    *,
    endings: str | Sequence[str] = (),
    require_success: bool = True,
    storage_options: dict[str, Any] | None = None,
) -> list[str]:
    """Return the data files at a path, in the order in which they are read.

    What DL4J's ``SparkUtils.listPaths`` does, with everything below directories.

    Parameters
    ----------
    path_or_url : str or path
        A directory, a file, or a pattern.
    endings : str or sequence of str
        Take only files whose names end in one of these, such as ``".bin"``.
    require_success : bool
        Refuse the directory of a job without ``_SUCCESS``.
    storage_options : dict, optional
        Handed to the file system.

    Returns
    -------
    list of str
        URLs; plain paths of local files. Part files are in the order of their rows,
        other names in that of the numbers in them. Hidden ones are left out, as in
        Spark.

    Raises
    ------
    SourceNotFoundError
        If there is nothing at the path.
    UnfinishedJobError
        If ``_SUCCESS`` is missing.
    DataError
        If a directory holds no data file, or is a table of a format of its own.
    OptionError
        If no source is installed that lists paths.

    References
    ----------
    ``SparkUtils.listPaths`` of Deeplearning4j 1.0.0-M2.1, which compares endings with
    the name of the directory.
    """
    check_type(_WHO, "path_or_url", path_or_url, str, os.PathLike)
    options = SourceOptions(
        require_success=require_success, storage_options=storage_options or {}
    )
    opener = opened_by(os.fspath(path_or_url))
    listed = getattr(opener, "list_paths", None)
    if listed is None:
        raise OptionError(
            f"{_WHO}: path_or_url must be a path of files, got {path_or_url}, which "
            f"{type(opener).__name__} opens."
        )
    wanted = (endings,) if isinstance(endings, str) else tuple(endings)
    return [url for url in listed(path_or_url, options) if url.endswith(wanted or "")]
