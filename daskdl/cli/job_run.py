"""Run a job: check it, train, evaluate, write the results."""

import json
import time
from typing import Any

from distributed import Client

from daskdl.cli.data_opening import open_job_data
from daskdl.cli.job import Job
from daskdl.cli.job_cluster import Cluster
from daskdl.cli.job_file import job_text
from daskdl.cli.job_network import job_network
from daskdl.cli.progress import View, count, starting
from daskdl.cli.results import Results, evaluations_for
from daskdl.cli.run_directory import (
    CHECKPOINT,
    EVALUATION,
    JOB,
    MODEL,
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
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.network import Network

__all__ = ["checked_cluster", "cluster_options", "run_job"]

_BATCH_SIZE = 32  # what the job file's schema promises


def run_job(job: Job, view: View, *, overwrite: bool, start_s: float) -> RunMetrics:
    """Run `job` and leave its run directory.

    Parameters
    ----------
    job : Job
        With whole paths, as :func:`daskdl.cli.job_file.load_job` returns it.
    view : View
        Shown what goes on.
    overwrite : bool
        Replace the results of an earlier run.
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
    directory = RunDirectory(job.output or "run", overwrite=overwrite, tell=view.note)
    directory.check()
    network = job_network(job, view.note)
    cluster = checked_cluster(job, network)
    train, test = open_job_data(network, job.data)
    try:
        directory.make()
        directory.write(JOB, job_text(job))
        view.note(starting(cluster.scheduler, cluster.workers))
        with connect(cluster) as client:
            front = _front_end(client, network, job)
            _train(front, train, job, directory, view)
            scored = _evaluate(front, test, view)
        test_name = test.name if test else ""
        results = Results(job, front.network, front.last_fit, scored, test_name)
        _write(directory, results)
        directory.finish()
    except BaseException:
        # Also what Ctrl-C and SIGTERM raise.
        directory.leave()
        if directory.kept is not None:
            view.note(directory.kept)
        raise
    return results.metrics(
        model=directory.path(MODEL), wall_s=time.monotonic() - start_s
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
    front: Any, train: Source, job: Job, directory: RunDirectory, view: View
) -> None:
    parts = count(len(train.partitions), "partition")
    view.note(f"reading {train.name}: {parts}")
    front.fit(
        train,
        epochs=job.training.epochs,
        batch_size=_batch_size(job, train),
        shuffle=job.training.shuffle,
        resources=job.cluster.resources,
        listeners=[view, _Checkpoints(directory)],
    )
    # Before anything else can fail: it is what hours of training gave.
    directory.save_model(front.network)


class _Checkpoints(Listener):
    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory

    def on_epoch_end(self, fit: Fit) -> None:
        """Keep the network in the run's directory."""
        self._directory.save(CHECKPOINT, fit.network)


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
