"""Run a job: check it, train, evaluate, write the results."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from distributed import Client

from daskdl.cli.data_opening import open_job_data
from daskdl.cli.graceful_end import GracefulEnd
from daskdl.cli.job import Job
from daskdl.cli.job_cluster import Cluster
from daskdl.cli.job_early_stopping import validation_listener
from daskdl.cli.job_file import job_text, load_job
from daskdl.cli.job_network import job_network
from daskdl.cli.job_pretraining import check_layers, is_amid_pretraining, pretrain
from daskdl.cli.progress import View, count, starting
from daskdl.cli.results import Results, evaluations_for
from daskdl.cli.resumed_job import check_job_of_complete
from daskdl.cli.run_directory import (
    EVALUATION,
    JOB,
    PAGE,
    REPORT,
    STATISTICS,
    TIMELINE,
    RunDirectory,
)
from daskdl.cli.run_metrics import RunMetrics, without_nan
from daskdl.cli.run_page import timeline_text
from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.cluster.frontend import front_end
from daskdl.cluster.preflight import check_master
from daskdl.data.sources.partition import Source
from daskdl.errors import DaskdlError, FormatError, OptionError, WorkerLostError
from daskdl.formats.run_network import MODEL
from daskdl.nn.early_stopping.early_stopping import EarlyStopping
from daskdl.nn.fitting.evaluated_data import check_evaluated
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.run_checkpoint import RunCheckpoint
from daskdl.nn.network import Network

__all__ = ["checked_cluster", "cluster_options", "run_job"]

_BATCH_SIZE = 32  # what the job file's schema promises
# What ends a run that could go on from a checkpoint; others are to be mended first.
_ENDS_EARLY = KeyboardInterrupt | WorkerLostError


def run_job(
    job: Job,
    view: View,
    *,
    overwrite: bool,
    resume: bool = False,
    start_s: float,
    keep_results: Callable[[Mapping[str, Any]], None],
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
    keep_results : callable
        Given the metrics of a run that failed once it was trained, as plain values.

    Returns
    -------
    RunMetrics

    Raises
    ------
    OptionError, DataError, ShapeError, OutputExistsError, DeviceError
        Before a worker starts, as far as that can be known then.
    """
    directory = RunDirectory(
        job.output or "run", overwrite=overwrite, resume=resume, tell=view.note
    )
    directory.check()
    if directory.is_complete:
        check_job_of_complete(directory, job)
        view.note(f"{directory.url} is complete: nothing is trained")
        return RunMetrics(
            model=directory.path(MODEL), wall_s=round(time.monotonic() - start_s, 3)
        )
    network = job_network(job, view.note)
    cluster = checked_cluster(job, network)
    cluster.check_here()
    data = open_job_data(network, job)
    validation = _validation(network, job, data.get("validation"))
    hearing = _hearing(job, directory, view, validation, data.get("test"))
    results: Results | None = None
    try:
        _begin(directory, job, resume=resume)
        has_devices = cluster.type == "cuda"
        view.note(starting(cluster.scheduler, cluster.workers, has_devices=has_devices))
        with connect(cluster) as client:
            front = _front_end(client, network, job)
            _train(front, data, job, directory, view, hearing, resume=resume)
            results = Results(job, front.network, front.last_fit)
            if validation is not None and job.training.early_stopping is not None:
                results = replace(results, early_stopping=validation.result)
                front = _front_end(client, results.network, job)
            # Before anything else can fail: it is what hours of training gave.
            directory.save_model(front.network)
            if "test" in data:
                test = data["test"]
                view.note(f"evaluating on {test.name}")
                scored = front.score_and_evaluate(
                    test,
                    evaluations_for(front.network),
                    start_timeout_s=job.cluster.start_timeout_s,
                )
                results = replace(results, scored=scored, test_name=test.name)
        _write(directory, results)
        directory.finish()
    except BaseException as error:
        # Also what Ctrl-C and SIGTERM raise.
        _leave(directory, error, view, is_resumed=resume)
        if results is not None:
            metrics = _metrics(results, directory, start_s)
            # They may be nowhere else.
            for line in metrics.lines():
                view.note(line)
            keep_results(metrics.to_dict())
        raise
    return _metrics(results, directory, start_s)


def _metrics(results: Results, directory: RunDirectory, start_s: float) -> RunMetrics:
    return results.metrics(model=directory.model, wall_s=time.monotonic() - start_s)


def _leave(
    directory: RunDirectory, error: BaseException, view: View, *, is_resumed: bool
) -> None:
    """Leave the directory of a run that failed, and say what is kept, and where."""
    made = directory.here
    directory.leave()
    if directory.here != made:
        if is_resumed:
            # What was told until now names it so.
            view.note(f"{made} is renamed: it is {directory.here} now")
        if isinstance(error, DaskdlError):
            texts = [str(text).replace(made, directory.here) for text in error.args]
            error.args = tuple(texts)
    if directory.kept is None and isinstance(error, _ENDS_EARLY):
        view.note("no checkpoint is kept: the run ended before its first")
    # Of checkpoints that are all damaged the error tells.
    if directory.kept is not None and not isinstance(error, FormatError):
        view.note(directory.kept)


def checked_cluster(job: Job, network: Network[Any]) -> ClusterOptions:
    """Return the cluster options of a job, or refuse what no cluster could do.

    Raises
    ------
    OptionError
        If options of the cluster do not go together, or the network and its training
        master.
    """
    check_master("training.master", network, job.training.training_master())
    if job.training.pretrain is not None:
        check_layers(network, job.training.pretrain)
    return cluster_options(job.cluster)


def cluster_options(cluster: Cluster) -> ClusterOptions:
    """Return the options for :func:`daskdl.cluster.connect.connect`."""
    # Resources are a matter of each fit.
    options = cluster.model_dump(by_alias=True, exclude={"resources"})
    return ClusterOptions(**options)


def _front_end(client: Client, network: Network[Any], job: Job) -> Any:
    master = job.training.training_master()
    return front_end(client, network, master)


def _validation(
    network: Network[Any], job: Job, data: Source | None
) -> EarlyStopping | None:
    if data is None:
        return None
    return validation_listener(
        job.training.validation,
        job.training.early_stopping,
        network,
        data,
        start_timeout_s=job.cluster.start_timeout_s,
    )


def _hearing(
    job: Job,
    directory: RunDirectory,
    view: View,
    validation: EarlyStopping | None,
    test: Source | None,
) -> list[Listener]:
    """Return what hears of the training; refuse what is not installed for that."""
    # What the first reports is shown, and what it keeps in a checkpoint.
    hearing: list[Listener] = [view] if validation is None else [validation, view]
    if test is not None:
        hearing.append(_TestDataCheck(test))
    if job.training.tensorboard is not None:
        hearing.append(job.training.tensorboard.listener(directory.here))
    if job.training.mlflow is not None:
        hearing.append(job.training.mlflow.listener(directory.url))
    return hearing


def _begin(directory: RunDirectory, job: Job, *, resume: bool) -> None:
    """Make the directory of a run; that of one that goes on has its job."""
    directory.make()
    if not resume:
        directory.write(JOB, job_text(job))


class _TestDataCheck(Listener):
    """Looks at test data before anything is trained, as early stopping does at its."""

    def __init__(self, data: Source) -> None:
        self._data = data

    def on_fit_start(self, fit: Fit) -> None:
        """Refuse data that do not fit the network, as far as first examples tell."""
        check_evaluated("data.test", fit, self._data)


class _JobKeeper(Listener):
    """Writes the job with which a run goes on, once that is accepted.

    One that is refused leaves the job that lies there, which `--resume` alone takes.
    """

    def __init__(self, directory: RunDirectory, job: Job) -> None:
        self._directory = directory
        self._job = job

    def on_fit_start(self, fit: Fit) -> None:
        """Write it: the fit took all arguments."""
        self._directory.write(JOB, job_text(self._job))


def _train(
    front: Any,
    data: Mapping[str, Source],
    job: Job,
    directory: RunDirectory,
    view: View,
    hearing: Sequence[Listener],
    *,
    resume: bool,
) -> None:
    found = directory.checkpoints() if resume else []
    options = job.training.pretrain
    began = load_job(directory.path(JOB)).training.pretrain if found else None
    may_be_amid = found and (options or began) is not None
    is_amid = bool(may_be_amid) and is_amid_pretraining(directory.here)
    if is_amid and options is None:
        raise OptionError(
            "run: training.pretrain must stay as it was with --resume, got none: "
            f"{directory.url} is amid its pretraining."
        )
    accepted: list[Listener] = [_JobKeeper(directory, job)] if resume else []
    if found:
        view.note(f"going on from {directory.path(found[0])}")
    elif resume:
        view.note(
            f"{directory.here} has no checkpoint: the run ended before its first. It "
            f"begins anew, with {count(job.training.epochs, 'epoch')} to train; "
            "training.checkpoints.every_minutes writes checkpoints within an epoch, too"
        )
    when = job.training.checkpoints.model_dump()
    with GracefulEnd(view.note) as graceful_end:
        if options is not None and (is_amid or not found):
            # None before anything is trained: the job itself says how to begin.
            checkpoints = RunCheckpoint(directory.here, at_start=False, **when)
            pretrain(
                front,
                data["pretrain"],
                options,
                view,
                listeners=[view, checkpoints, graceful_end, *accepted],
                resume=directory.here if is_amid else None,
                **_how(job, data["pretrain"]),
            )
        if not job.training.epochs:
            return
        train = data["train"]
        parts = count(len(train.partitions), "partition")
        view.note(f"reading {train.name}: {parts}")
        # With one of what pretraining gave, in place of its own.
        behind = {"at_start": options is not None, "overwrite": options is not None}
        checkpoints = RunCheckpoint(directory.here, **behind, **when)
        front.fit(
            train,
            epochs=job.training.epochs,
            listeners=[*hearing, checkpoints, graceful_end, *accepted],
            resume=directory.here if found and not is_amid else None,
            **_how(job, train),
        )


def _how(job: Job, data: Source) -> dict[str, Any]:
    """Return what a job says of all its training."""
    return {
        "batch_size": _batch_size(job, data),
        "shuffle": job.training.shuffle,
        "resources": job.cluster.resources,
        "start_timeout_s": job.cluster.start_timeout_s,
    }


def _batch_size(job: Job, train: Source) -> int | None:
    if job.training.batch_size is not None or train.minibatches:
        return job.training.batch_size
    return _BATCH_SIZE


def _write(directory: RunDirectory, results: Results) -> None:
    statistics = without_nan(results.statistics())
    directory.write(STATISTICS, json.dumps(statistics, indent=1, allow_nan=False))
    directory.write(TIMELINE, timeline_text(results.report.timeline))
    if results.evaluation is not None:
        directory.write(EVALUATION, results.evaluation.to_json())
    facts = results.page_facts()
    directory.write(PAGE, facts.to_json())
    page = facts.page(f"Run {directory.url}", results.report, job_text(results.job))
    directory.write(REPORT, page)
