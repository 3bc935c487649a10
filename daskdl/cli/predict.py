"""``daskdl predict``: predictions of a saved network, with the keys of the examples."""

import os
import time

import click

from daskdl.cli.data_options import DataCommand, cluster_from, data_options
from daskdl.cli.exit_codes import debug_option, json_option

__all__ = ["command"]


@click.command("predict", cls=DataCommand)
@click.argument("model")
@click.argument("data")
@click.option(
    "--key",
    required=True,
    multiple=True,
    metavar="COLUMN",
    help="Column that names each example; it comes back with the prediction. Given "
    "several times they name it together.",
)
@click.option(
    "--output",
    required=True,
    metavar="DIR",
    help="Directory or URL for the predictions, part files that Spark reads.",
)
@click.option(
    "--output-format",
    metavar="NAME",
    default="parquet",
    help="Of its files: parquet, if not given, csv, json, sequence_file or pickle.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="Further column that stands beside the predictions as it is stored; may be "
    "given several times, and `all` keeps all.",
)
@click.option("--overwrite", is_flag=True, help="Replace what is at the output.")
@data_options
@json_option
@debug_option
def command(
    model: str,
    data: str,
    key: tuple[str, ...],
    output: str,
    output_format: str,
    keep: tuple[str, ...],
    overwrite: bool,
    features: tuple[str, ...],
    data_format: str | None,
    stored: tuple[str, ...],
    unfinished: bool,
    scheduler: str | None,
    workers: int | None,
    start_timeout_s: float,
    as_json: bool,
) -> None:
    """Predict DATA with MODEL.

    MODEL is a saved network or the directory of a run. The output has one row for each
    row of DATA, with the key, `prediction`, and for classes `probability`; it appears
    whole or not at all.
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
        from daskdl.cli.paths import resolve_path
        from daskdl.cli.saved_model import open_model
        from daskdl.cli.stored_options import stored_options
        from daskdl.cluster.connect import connect
        from daskdl.cluster.frontend import front_end
        from daskdl.cluster.results import check_apart, check_kept, check_key

        given = stored_options(stored)
        saved = open_model(model)
        options = saved.source_options(
            features=features,
            data_format=data_format,
            unfinished=unfinished,
            key=key,
            keep=keep or None,
            require_labels=False,
            **given,
        )
        check_key("predict", "--key", key)
        asked = {*given, "keep"} if keep else given
        source = open_for(saved.network, data, options, given=asked)
        check_kept("predict", "--keep", source)
        url = resolve_path(os.getcwd(), output)
        check_apart("predict", "--output", url, resolve_path(os.getcwd(), data))
        _check_output(url, output_format, overwrite=overwrite)
        view.note(starting(scheduler, workers))
        cluster = cluster_from(scheduler, workers, start_timeout_s)
        with connect(cluster, needs_all=False) as client:
            n_workers = len(client.nthreads())
            front = front_end(client, saved.network)
            view.note(f"predicting {source.name}")
            work_s = time.monotonic()
            rows = front.feed_forward_with_key(
                source,
                key=key,
                output=url,
                output_format=output_format,
                overwrite=overwrite,
                start_timeout_s=start_timeout_s,
                options=source.options,
            )
            work_s = time.monotonic() - work_s
    metrics = RunMetrics(
        examples=rows,
        skipped=front.last_skipped,
        examples_per_s=round(rows / work_s, 1),
        wall_s=round(time.monotonic() - start_s, 3),
        workers=n_workers,
        lost_workers=tuple(front.last_changes.lost),
        joined_workers=tuple(front.last_changes.joined),
        model=saved.url,
        predictions=url,
    )
    metrics.print_table(Console(stderr=as_json))
    if as_json:
        click.echo(metrics.to_line())


def _check_output(url: str, output_format: str, *, overwrite: bool) -> None:
    """Refuse an output that exists now, not after the workers have started."""
    from daskdl.cli.output_errors import output_error
    from daskdl.data.retries import BROKEN
    from daskdl.data.sinks import open_sink
    from daskdl.errors import DaskdlError, OutputExistsError, UnfinishedOutputError

    sink = open_sink(url, format=output_format, overwrite=overwrite)
    try:
        sink.prepare()
    except UnfinishedOutputError as error:
        raise UnfinishedOutputError(f"predict: --output {error}") from error
    except OutputExistsError as error:
        if overwrite:
            raise
        raise OutputExistsError(
            f"predict: --output must not exist yet, got {url}. "
            "Choose another, or replace it with --overwrite."
        ) from error
    except BROKEN as error:
        if isinstance(error, DaskdlError):
            raise
        raise output_error("predict: --output", url, error) from error
    finally:
        sink.abort()
