"""The command ``daskdl``: which commands there are, and how they end.

Only click is imported before a command runs, so that ``daskdl --help`` is instant. A
command is a module of its own; its heavy imports are inside its function.
"""

import importlib
import importlib.metadata
from typing import Any

import click

from daskdl.cli.exits import EXIT_CODES, ended

__all__ = ["main"]

_COMMANDS = ("run", "evaluate", "predict", "inspect", "convert", "doctor")


class _Commands(click.Group):
    """Imports a command's module when it is asked for; turns errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(
            f"daskdl.cli.{cmd_name}"
        ).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        with ended(ctx):
            return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), text) for code, text in EXIT_CODES])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="daskdl", prog_name="daskdl")
def main() -> None:
    """Train, evaluate and use neural networks on a Dask cluster.

    With --json a command prints exactly one machine-readable line, the last of stdout;
    everything for people then goes to stderr.
    """
