"""``daskdl doctor``: what works here, what is missing, and how to get it."""

import click

from daskdl.cli.exits import debug_option, json_option

__all__ = ["command"]


@click.command("doctor")
@click.option("--scheduler", metavar="ADDRESS", help="Also ask this scheduler.")
@json_option
@debug_option
@click.pass_context
def command(ctx: click.Context, scheduler: str | None, as_json: bool) -> None:
    """Check this installation, and a cluster with --scheduler.

    Exit code 0: all that training needs works; 1: something does not. What is only
    optional (HDFS, a JVM, a GPU) does not change the exit code.
    """
    import json

    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from daskdl.cli.checkup import Finding, check_cluster, check_here

    findings: list[Finding] = check_here()
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
    Console(stderr=as_json).print(table, highlight=False)
    healthy = not any(finding.is_failure for finding in findings)
    if as_json:
        checks = {f.what: {"ok": f.is_ok, "found": f.found} for f in findings}
        click.echo(json.dumps({"healthy": healthy, "checks": checks}))
    ctx.exit(0 if healthy else 1)
