"""``daskdl inspect``: the contents of a path."""

import click

from daskdl.cli.data_options import storage_options
from daskdl.cli.exit_codes import debug_option, json_option

__all__ = ["command"]


@click.command("inspect")
@click.argument("path")
@click.option(
    "--svg",
    metavar="FILE",
    help="Draw the network, as a picture that browsers show.",
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@storage_options
@json_option
@debug_option
def command(
    path: str,
    svg: str | None,
    overwrite: bool,
    data_format: str | None,
    stored: tuple[str, ...],
    as_json: bool,
) -> None:
    """Tell about a job file, a saved network, a run, or data at PATH.

    Of a network: each layer with what goes in and out and its parameters, loss,
    updater, counters and normalizer. Files of daskdl and of DL4J will do, and DL4J's
    configurations in JSON or YAML. A job is checked as `run` checks it, and its data
    are looked at. Of data that tell it without being read through: columns, rows and
    files; PATH may be a pattern then.
    """
    import json

    from rich.console import Console

    from daskdl.cli.inspection import inspect_path, write_picture
    from daskdl.cli.stored_options import stored_options

    found = inspect_path(path, stored_options(stored), data_format)
    if svg is not None:
        write_picture(found, svg, overwrite=overwrite)
    Console(stderr=as_json).print(
        found.text, highlight=False, markup=False, soft_wrap=True
    )
    if as_json:
        click.echo(json.dumps(found.facts))
