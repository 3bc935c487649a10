"""``daskdl doctor``: checks of this machine, and advice for failures."""

import os
from typing import Any

import click

from daskdl.cli.exit_codes import debug_option, json_option

__all__ = ["command"]

_ENDLESS = 10**6


@click.command("doctor")
@click.option("--scheduler", metavar="ADDRESS", help="Also ask this scheduler.")
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
    gpu: bool,
    warm: bool,
    networks: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check this installation, and a cluster with --scheduler.

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
    import json

    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from daskdl.cli.doctor_checks import Finding, check_cluster, check_here

    findings: list[Finding] = check_here()
    if gpu:
        from daskdl.cli.doctor_gpu_checks import check_gpu

        findings += check_gpu()
    if scheduler is not None:
        findings.append(check_cluster(scheduler))
    table = Table(box=None, pad_edge=False)
    for heading in ("", "what", "found", "to do"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        to_do = "" if finding.is_ok else finding.to_do
        # The brackets of 'daskdl[hdfs]' are no markup.
        texts = (escape(text) for text in (finding.what, finding.found, to_do))
        table.add_row(finding.sign, *texts)
    console = Console(stderr=as_json)
    _print_table(console, table)
    healthy = not any(finding.is_failure for finding in findings)
    if as_json:
        checks = {f.what: {"ok": f.is_ok, "found": f.found} for f in findings}
        click.echo(json.dumps({"healthy": healthy, "checks": checks}))
    ctx.exit(0 if healthy else 1)


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
