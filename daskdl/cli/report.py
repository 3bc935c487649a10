"""``daskdl report``: the page of a run once more."""

import click

from daskdl.cli.exit_codes import debug_option, json_option

__all__ = ["command"]


@click.command("report")
@click.argument("run")
@click.option(
    "--output",
    metavar="FILE",
    help="File or URL for the page, if not report.html in RUN.",
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@json_option
@debug_option
def command(run: str, output: str | None, overwrite: bool, as_json: bool) -> None:
    """Remake the page of RUN, the directory of a run that has ended.

    It is drawn as this version draws it, from statistics.json, timeline.jsonl and what
    else the run left. Runs of earlier versions left less, and have no timeline.
    """
    import json

    from rich.console import Console

    from daskdl.cli.run_directory import REPORT
    from daskdl.cli.run_page import remade_page
    from daskdl.data.files import write_output

    place = output or f"{run.rstrip('/')}/{REPORT}"
    # A path that is no text in this locale stands in some files.
    content = remade_page(run).encode(errors="surrogateescape")
    write_output(
        place,
        lambda out: out.write(content),
        # The page in the directory was made from the same.
        overwrite=overwrite or output is None,
    )
    Console(stderr=as_json).print(
        f"report: {place}", highlight=False, markup=False, soft_wrap=True
    )
    if as_json:
        click.echo(json.dumps({"report": place}))
