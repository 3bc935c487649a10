"""``daskdl evaluate``: how good a saved network is on labelled data."""

import time

import click

from daskdl.cli.data_options import DataCommand, cluster_from, data_options
from daskdl.cli.exit_codes import debug_option, json_option

__all__ = ["command"]


@click.command("evaluate", cls=DataCommand)
@click.argument("model")
@click.argument("data")
@click.option(
    "--label",
    multiple=True,
    metavar="COLUMN",
    help="Column with the label. OUTPUT=COLUMN for a graph. If not given: as in the "
    "training, else 'label'.",
)
@data_options
@json_option
@debug_option
def command(
    model: str,
    data: str,
    label: tuple[str, ...],
    features: tuple[str, ...],
    data_format: str | None,
    stored: tuple[str, ...],
    unfinished: bool,
    scheduler: str | None,
    workers: int | None,
    start_timeout_s: float,
    as_json: bool,
) -> None:
    """Evaluate MODEL on DATA.

    MODEL is a saved network or the directory of a run; with a run's job.yaml beside it
    the data are read as the training read its own. DATA is a path or URL.
    """
    start_s = time.monotonic()
    from rich.console import Console

    from daskdl.cli.progress import open_view, starting
    from daskdl.cli.run_metrics import RunMetrics
    from daskdl.cluster.ready_processes import processes_ready

    # In front of what takes most of a second to import.
    with (
        open_view(Console(stderr=True)) as view,
        processes_ready(scheduler, workers),
    ):
        view.begin(f"reading {model}")
        from daskdl.cli.data_opening import open_for
        from daskdl.cli.run_page import accuracy_of
        from daskdl.cli.saved_model import open_model
        from daskdl.cli.stored_options import stored_options
        from daskdl.cluster.connect import connect
        from daskdl.cluster.frontend import front_end
        from daskdl.nn.loss_evaluations import evaluation_for

        given = stored_options(stored)
        saved = open_model(model)
        options = saved.source_options(
            features=features,
            label=label,
            data_format=data_format,
            unfinished=unfinished,
            **given,
        )
        empty = evaluation_for(saved.network)
        source = open_for(saved.network, data, options, given=given)
        view.note(starting(scheduler, workers))
        cluster = cluster_from(scheduler, workers, start_timeout_s)
        with connect(cluster, needs_all=False) as client:
            n_workers = len(client.nthreads())
            front = front_end(client, saved.network)
            view.note(f"evaluating on {source.name}")
            work_s = time.monotonic()
            scored = front.score_and_evaluate(
                source, [empty], start_timeout_s=start_timeout_s
            )
            work_s = time.monotonic() - work_s
    console = Console(stderr=as_json)
    (evaluation,) = scored.evaluations
    console.print(evaluation.stats(), highlight=False, markup=False, soft_wrap=True)
    metrics = RunMetrics(
        accuracy=accuracy_of(evaluation),
        loss=scored.loss_sum / scored.examples,
        examples=scored.examples,
        skipped=scored.skipped,
        examples_per_s=round(scored.examples / work_s, 1),
        wall_s=round(time.monotonic() - start_s, 3),
        workers=n_workers,
        lost_workers=tuple(front.last_changes.lost),
        joined_workers=tuple(front.last_changes.joined),
        model=saved.url,
    )
    metrics.print_table(console)
    if as_json:
        click.echo(metrics.to_line())
