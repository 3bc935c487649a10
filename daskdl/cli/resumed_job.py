"""The job of a run that goes on: the one that lies in its directory."""

import posixpath

from daskdl.cli.directory_replacement import place_of_unfinished, unfinished_of
from daskdl.cli.run_directory import JOB, run_to_resume
from daskdl.data.filesystems import filesystem

__all__ = ["job_of_run", "place_of_run"]


def place_of_run(directory: str) -> str:
    """Return where a run belongs, of that place or of its directory until then."""
    directory = directory.rstrip("/")
    return place_of_unfinished(directory) or directory


def job_of_run(place: str) -> str:
    """Return the path or URL of the job of a run that is not finished.

    Raises
    ------
    SourceNotFoundError, OptionError
        As :func:`daskdl.cli.run_directory.run_to_resume`.
    """
    fs, path = filesystem(place)
    made = run_to_resume(fs, path, place, unfinished_of(fs, path))
    return posixpath.join(place + made.removeprefix(path), JOB)
