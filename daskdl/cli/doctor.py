"""``daskdl doctor``: checks of this machine, and advice for failures."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import click

from daskdl.cli.data_options import storage_options
from daskdl.cli.exit_codes import debug_option, json_option

__all__ = ["command"]

_ENDLESS = 10**6


@click.command("doctor")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Also ask this scheduler and its workers, which look at stores and data, too.",
)
@click.option("--hdfs", metavar="URL", help="Also look at this URL, of any store.")
@click.option(
    "--spark", is_flag=True, help="Also check Spark, its executors and exports."
)
@click.option(
    "--data", metavar="PATH", help="Also look at these data, and read the first part."
)
@click.option(
    "--features",
    multiple=True,
    metavar="COLUMN",
    help="With --data: column with the features; may be given several times.",
)
@click.option(
    "--label",
    multiple=True,
    metavar="COLUMN",
    help="With --data: column with the label, which is not read if not given.",
)
@storage_options
@click.option("--gpu", is_flag=True, help="Also check for training on a GPU.")
@click.option(
    "--warm",
    is_flag=True,
    help="Compile ahead what training needs, instead of checking.",
)
@click.option(
    "--network",
    "networks",
    metavar="FILE",
    multiple=True,
    help="With --warm: for this job, saved network, run or configuration.",
)
@json_option
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    scheduler: str | None,
    hdfs: str | None,
    spark: bool,
    data: str | None,
    features: tuple[str, ...],
    label: tuple[str, ...],
    data_format: str | None,
    stored: tuple[str, ...],
    gpu: bool,
    warm: bool,
    networks: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check this installation; a cluster, a store, Spark and data with their options.

    Each check is a line: ok, warning, or error with what to do. Nothing is changed
    anywhere.

    With --warm, compile: code is kept in a folder of the user's, by kind of CPU, and
    processes that find it there start at once. Run it once on a machine, or once on
    each kind of machine that shares a home directory. Convolutions and LSTM layers are
    compiled for their sizes: name the networks with --network, once for each.

    Exit code 0: all that training needs works; 1: something does not. What is only
    optional (HDFS, a JVM) does not change the exit code, nor does a GPU without --gpu.
    """
    if warm:
        _warm(networks, as_json=as_json)
        return
    if networks:
        raise click.UsageError("--network needs --warm.")
    how = {"features": features, "label": label, "format": data_format}
    given = {name: value for name, value in how.items() if value}
    if data is None and (given or stored):
        raise click.UsageError(
            "--features, --label, --format and --option need --data."
        )
    from daskdl.cli.stored_options import stored_options

    given |= stored_options(stored)
    read = None if data is None else (data, given)
    findings = list(_findings(scheduler, read, hdfs, gpu=gpu, spark=spark))
    _print(findings, as_json=as_json)
    ctx.exit(1 if any(finding.is_failure for finding in findings) else 0)


def _findings(
    scheduler: str | None,
    data: tuple[str, dict[str, Any]] | None,
    hdfs: str | None,
    *,
    gpu: bool,
    spark: bool,
) -> Iterator[Any]:
    """Yield what is found, of that which was asked for."""
    from daskdl.cli.doctor_checks import check_here
    from daskdl.cli.doctor_cluster_checks import check_cluster, opened_cluster
    from daskdl.cli.doctor_data_checks import check_data
    from daskdl.cli.doctor_store_checks import check_store

    # Refused before anything else, where pyspark is missing.
    check_spark = _spark_checks() if spark else None
    yield from check_here()
    if gpu:
        from daskdl.cli.doctor_gpu_checks import check_gpu

        yield from check_gpu()
    with opened_cluster(scheduler) as (cluster, found):
        yield from found
        if cluster is not None:
            yield from check_cluster(cluster)
        if hdfs is not None:
            yield from check_store(hdfs, cluster)
        if data is not None:
            yield from check_data(*data, cluster)
        if check_spark is not None:
            yield from check_spark(cluster)


def _spark_checks() -> Any:
    import daskdl.spark

    return daskdl.spark.doctor


def _print(findings: Sequence[Any], *, as_json: bool) -> None:
    import json

    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("", "what", "found", "to do"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        to_do = "" if finding.is_ok else finding.to_do
        # The brackets of 'daskdl[hdfs]' are no markup.
        texts = (escape(text) for text in (finding.what, finding.found, to_do))
        table.add_row(finding.sign, *texts)
    _print_table(Console(stderr=as_json), table)
    if as_json:
        checks = {f.what: f.as_json() for f in findings}
        healthy = not any(finding.is_failure for finding in findings)
        click.echo(json.dumps({"healthy": healthy, "checks": checks}))


def _print_table(console: Any, table: Any) -> None:
    """Print a table; into a file or a pipe with whole lines, which can be searched."""
    if not console.is_terminal and "COLUMNS" not in os.environ:
        endless = console.options.update(width=_ENDLESS)
        needed = console.measure(table, options=endless).maximum
        console.width = max(console.width, needed)
    console.print(table, highlight=False)


def _warm(networks: tuple[str, ...], *, as_json: bool) -> None:
    import json

    from rich.console import Console

    from daskdl.cli.warming import warm
    from daskdl.kernels.jit import numba_is_used
    from daskdl.kernels.machine_code import cache_directory

    console = Console(stderr=as_json)
    if not numba_is_used():
        console.print("Nothing is compiled: NumPy's kernels are used.")
    facts: list[dict[str, Any]] = []
    for done in warm(networks):
        console.print(
            f"{done.name}: {done.compiled} compiled, {done.seconds:.1f} s",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        facts.append(
            {
                "network": done.name,
                "compiled": done.compiled,
                "seconds": round(done.seconds, 3),
            }
        )
    folder = str(cache_directory())
    console.print(f"folder: {folder}", highlight=False, markup=False, soft_wrap=True)
    if as_json:
        click.echo(json.dumps({"folder": folder, "warmed": facts}))
