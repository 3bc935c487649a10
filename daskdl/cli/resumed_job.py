"""The job of a run that goes on: the one that lies in its directory."""

import posixpath
from typing import Any

from daskdl.cli.directory_replacement import place_of_unfinished, unfinished_of
from daskdl.cli.job import Job
from daskdl.cli.job_file import load_job
from daskdl.cli.run_directory import JOB, RunDirectory, run_to_resume
from daskdl.data.filesystems import filesystem
from daskdl.errors import OptionError
from daskdl.nn.fitting.first_difference import first_difference

__all__ = ["check_job_of_complete", "job_of_run", "place_of_run"]

# Where a run goes on, and what is written beside it, is no matter of what it comes to.
_FREE = frozenset(["cluster", "output"])
_FREE_WITHIN = {
    "data": ["storage_options"],
    "training": ["epochs", "checkpoints", "tensorboard", "mlflow"],
}


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


def check_job_of_complete(directory: RunDirectory, job: Job) -> None:
    """Refuse a job that would come to other results than lie in its directory.

    Raises
    ------
    OptionError
        If it has more epochs, or differs in what decides about the network or what it
        is evaluated on: checkpoints, which tell the rest, are gone.
    """
    done = load_job(directory.path(JOB))
    trained = done.training.epochs
    if job.training.epochs > trained:
        raise OptionError(
            f"run: training.epochs must be at most {trained} with --resume, got "
            f"{job.training.epochs}: {directory.url} is complete. To train on, begin a "
            f"run with `model: {directory.url}`."
        )
    if difference := first_difference("job", _deciding(done), _deciding(job)):
        key = difference[0].removeprefix("job.")
        raise OptionError(
            f"run: {key} must stay as it was with --resume, got another value: "
            f"{directory.url} is complete. Give --output in place of --resume for "
            "another run."
        )


def _deciding(job: Job) -> dict[str, Any]:
    """Return what decides about the network of a job and its evaluation."""
    values = job.model_dump(mode="json", by_alias=True, exclude=set(_FREE))
    for section, keys in _FREE_WITHIN.items():
        for key in keys:
            values[section].pop(key, None)
    return values
