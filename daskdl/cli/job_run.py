"""Run a job: check it, train, evaluate, write the results."""

import json
import time
from typing import Any

from distributed import Client

from daskdl.cli.data_opening import open_job_data
from daskdl.cli.graceful_end import GracefulEnd
from daskdl.cli.job import Job
from daskdl.cli.job_cluster import Cluster
from daskdl.cli.job_file import job_text, load_job
from daskdl.cli.job_network import job_network
from daskdl.cli.progress import View, count, starting
from daskdl.cli.results import Results, evaluations_for
from daskdl.cli.run_directory import (
    EVALUATION,
    JOB,
    REPORT,
    STATISTICS,
    RunDirectory,
)
from daskdl.cli.run_metrics import RunMetrics, without_nan
from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.cluster.frontend import front_end
from daskdl.cluster.inference import Scored
from daskdl.cluster.preflight import check_master
from daskdl.data.sources.partition import Source
from daskdl.errors import FormatError, OptionError
from daskdl.formats.run_network import MODEL
from daskdl.nn.fitting.run_checkpoint import RunCheckpoint
from daskdl.nn.network import Network

__all__ = ["checked_cluster", "cluster_options", "run_job"]

_BATCH_SIZE = 32  # what the job file's schema promises


def run_job(
    job: Job, view: View, *, overwrite: bool, resume: bool = False, start_s: float
) -> RunMetrics:
    """Run `job` and leave its run directory.

    Parameters
    ----------
    job : Job
        With whole paths, as :func:`daskdl.cli.job_file.load_job` returns it.
    view : View
        Shown what goes on.
    overwrite : bool
        Replace the results of an earlier run.
    resume : bool
        Go on with the run that was to be at the job's output.
    start_s : float
        When the command began, on the monotonic clock.

    Returns
    -------
    RunMetrics

    Raises
    ------
    OptionError, DataError, ShapeError, OutputExistsError
        Before a worker starts, as far as that can be known then.
    """
    directory = RunDirectory(
        job.output or "run", overwrite=overwrite, resume=resume, tell=view.note
    )
    directory.check()
    if directory.is_complete:
        _refuse_more_epochs(directory, job)
        view.note(f"{directory.url} is complete: nothing is trained")
        wall_s = time.monotonic() - start_s
        return RunMetrics(model=directory.path(MODEL), wall_s=round(wall_s, 3))
    network = job_network(job, view.note)
    cluster = checked_cluster(job, network)
    train, test = open_job_data(network, job.data)
    try:
        directory.make()
        directory.write(JOB, job_text(job))
        view.note(starting(cluster.scheduler, cluster.workers))
        with connect(cluster) as client:
            front = _front_end(client, network, job)
            _train(front, train, job, directory, view, resume=resume)
            scored = _evaluate(front, test, view)
        test_name = test.name if test else ""
        results = Results(job, front.network, front.last_fit, scored, test_name)
        _write(directory, results)
        directory.finish()
    except BaseException as error:
        # Also what Ctrl-C and SIGTERM raise.
        directory.leave()
        # Of checkpoints that are all damaged the error tells.
        if directory.kept is not None and not isinstance(error, FormatError):
            view.note(directory.kept)
        raise
    return results.metrics(
        model=directory.path(MODEL), wall_s=time.monotonic() - start_s
    )


def _refuse_more_epochs(directory: RunDirectory, job: Job) -> None:
    """Refuse what a run that is complete cannot do: its checkpoints are gone."""
    trained = load_job(directory.path(JOB)).training.epochs
    if job.training.epochs > trained:
        raise OptionError(
            f"run: training.epochs must be at most {trained} with --resume, got "
            f"{job.training.epochs}: {directory.url} is complete. To train on, begin a "
            f"run with `model: {directory.url}`."
        )


def checked_cluster(job: Job, network: Network[Any]) -> ClusterOptions:
    """Return the cluster options of a job, or refuse what no cluster could do.

    Raises
    ------
    OptionError
        If options of the cluster do not go together, or the network and its training
        master.
    """
    check_master("training.master", network, job.training.training_master())
    return cluster_options(job.cluster)


def cluster_options(cluster: Cluster) -> ClusterOptions:
    """Return the options for :func:`daskdl.cluster.connect.connect`."""
    # Resources are a matter of each fit.
    return ClusterOptions(**cluster.model_dump(exclude={"resources"}))


def _front_end(client: Client, network: Network[Any], job: Job) -> Any:
    master = job.training.training_master()
    return front_end(client, network, master)


def _train(
    front: Any,
    train: Source,
    job: Job,
    directory: RunDirectory,
    view: View,
    *,
    resume: bool,
) -> None:
    found = directory.checkpoints() if resume else []
    if resume:
        view.note(
            f"going on from {directory.path(found[0])}"
            if found
            else "no checkpoint is there yet: the run begins anew"
        )
    parts = count(len(train.partitions), "partition")
    view.note(f"reading {train.name}: {parts}")
    when = job.training.checkpoints.model_dump()
    # None before anything is trained: the job itself says how to begin.
    checkpoints = RunCheckpoint(directory.here, at_start=False, **when)
    with GracefulEnd(view.note) as graceful_end:
        front.fit(
            train,
            epochs=job.training.epochs,
            batch_size=_batch_size(job, train),
            shuffle=job.training.shuffle,
            resources=job.cluster.resources,
            listeners=[view, checkpoints, graceful_end],
            resume=directory.here if found else None,
        )
    # Before anything else can fail: it is what hours of training gave.
    directory.save_model(front.network)


def _evaluate(front: Any, test: Source | None, view: View) -> Scored | None:
    if test is None:
        return None
    view.note(f"evaluating on {test.name}")
    scored: Scored = front.score_and_evaluate(test, evaluations_for(front.network))
    return scored


def _batch_size(job: Job, train: Source) -> int | None:
    if job.training.batch_size is not None or train.minibatches:
        return job.training.batch_size
    return _BATCH_SIZE


def _write(directory: RunDirectory, results: Results) -> None:
    statistics = without_nan(results.report.to_dict())
    directory.write(STATISTICS, json.dumps(statistics, indent=1, allow_nan=False))
    if results.evaluation is not None:
        directory.write(EVALUATION, results.evaluation.to_json())
    directory.write(REPORT, results.page(f"Run {directory.url}"))
