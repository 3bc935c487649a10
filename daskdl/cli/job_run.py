"""Run a job: refuse what can be refused, train, evaluate, write the results."""

import json
import time
from typing import Any

from daskdl.cli.figures import Figures, without_nan
from daskdl.cli.job import Cluster, Job
from daskdl.cli.job_file import job_text
from daskdl.cli.progress import View
from daskdl.cli.results import Results, evaluation_for, page
from daskdl.cli.run_directory import (
    CHECKPOINT,
    EVALUATION,
    JOB,
    MODEL,
    REPORT,
    STATISTICS,
    RunDirectory,
)
from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.cluster.frontend import front_end
from daskdl.data.normalizers import NormalizerStandardize
from daskdl.data.sources.source import Source, open_source
from daskdl.nn.build import build_network
from daskdl.nn.network import Network
from daskdl.training.preparation import options_for

__all__ = ["cluster_options", "run_job"]

_BATCH_SIZE = 32  # what the job file's schema promises


def run_job(job: Job, view: View, *, overwrite: bool, start_s: float) -> Figures:
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
    Figures

    Raises
    ------
    OptionError, DataError, ShapeError, OutputExistsError
        Before a worker starts, as far as that can be known then.
    """
    directory = RunDirectory(job.output or "run", overwrite=overwrite)
    directory.check()
    network = build_network(job.network)
    train, test = _open(job, network)
    options = cluster_options(job.cluster)
    directory.make()
    directory.write(JOB, job_text(job))
    try:
        return _train(job, network, train, test, options, directory, view, start_s)
    except BaseException:
        # Also what Ctrl-C and SIGTERM raise.
        if directory.checkpoint is not None:
            view.note(f"checkpoint kept: {directory.checkpoint}")
        raise
    finally:
        directory.discard_if_empty()


def cluster_options(cluster: Cluster) -> ClusterOptions:
    """Return the options for :func:`daskdl.cluster.connect.connect`."""
    return ClusterOptions(**cluster.model_dump())


def _open(job: Job, network: Network) -> tuple[Source, Source | None]:
    options = options_for(network, job.data.source_options())
    train = open_source(_as_data(job.data.train), options)
    test = None if job.data.test is None else _as_data(job.data.test)
    return train, None if test is None else open_source(test, options)


def _as_data(paths: str | tuple[str, ...]) -> str | list[str]:
    return paths if isinstance(paths, str) else list(paths)


def _train(
    job: Job,
    network: Network,
    train: Source,
    test: Source | None,
    options: ClusterOptions,
    directory: RunDirectory,
    view: View,
    start_s: float,
) -> Figures:
    normalizer = (
        NormalizerStandardize() if job.data.normalize == "standardize" else None
    )
    with connect(options) as client:
        front: Any = front_end(
            client, network, job.training.training_master(), normalizer=normalizer
        )
        front.fit(
            train,
            epochs=job.training.epochs,
            batch_size=_batch_size(job, train),
            shuffle=job.training.shuffle,
            on_event=view.on_event,
            on_epoch=lambda trained: directory.save(
                CHECKPOINT, trained, normalizer=normalizer
            ),
        )
        # Before anything else can fail: what hours of training gave.
        model = directory.save(MODEL, front.network, normalizer=normalizer)
        directory.remove(CHECKPOINT)
        scored = None
        if test is not None:
            view.note(f"evaluating on {test.name}")
            scored = front.score_and_evaluate(test, [evaluation_for(network)])
    results = Results(job, front.last_fit, scored)
    _write(directory, results)
    return results.figures(model=model, wall_s=time.monotonic() - start_s)


def _batch_size(job: Job, train: Source) -> int | None:
    if job.training.batch_size is not None or train.minibatches:
        return job.training.batch_size
    return _BATCH_SIZE


def _write(directory: RunDirectory, results: Results) -> None:
    statistics = without_nan(results.report.to_dict())
    directory.write(STATISTICS, json.dumps(statistics, indent=1, allow_nan=False))
    if results.evaluation is not None:
        directory.write(EVALUATION, results.evaluation.to_json())
    directory.write(REPORT, page(results))
