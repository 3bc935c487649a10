"""``daskdl inspect``: what is at a path."""

import click

from daskdl.cli.exits import debug_option, json_option

__all__ = ["command"]


@click.command("inspect")
@click.argument("path")
@json_option
@debug_option
def command(path: str, as_json: bool) -> None:
    """Tell what is at PATH: a job file, a saved network, a run, or data.

    A job is checked as `run` checks it, and its data are looked at. Of data that tell
    it without being read through: columns, rows and files.
    """
    import json

    from rich.console import Console

    from daskdl.cli.inspection import inspect_path

    found = inspect_path(path)
    Console(stderr=as_json).print(
        found.text, highlight=False, markup=False, soft_wrap=True
    )
    if as_json:
        click.echo(json.dumps(found.facts))
