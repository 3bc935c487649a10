"""The command ``daskdl``: which commands there are, and how they end.

Only click is imported before a command runs, so that ``daskdl --help`` is instant. A
command is a module of its own; its heavy imports are inside its function.
"""

import atexit
import gc
import importlib
import importlib.metadata
import os
import sys
from typing import Any

import click

from daskdl.arrays.blas import kernel_choice
from daskdl.cli.exit_codes import EXIT_CODES, errors_as_exit_codes

__all__ = ["main"]

# The interpreter collects garbage several times on its way out, which takes 0.4 s.
# Registered first, so that it runs last.
atexit.register(gc.freeze)

_COMMANDS = (
    "run",
    "report",
    "evaluate",
    "predict",
    "inspect",
    "convert",
    "doctor",
)


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
        with errors_as_exit_codes(ctx):
            return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), text) for code, text in EXIT_CODES])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="daskdl", prog_name="daskdl")
@click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="FILE",
    help="A Python file, or an installed module, to import first: it registers layers "
    "of your own. May be given several times.",
)
def main(imports: tuple[str, ...]) -> None:
    """Train, evaluate and use neural networks on a Dask cluster.

    With --json a command prints exactly one machine-readable line, the last of stdout;
    everything for people then goes to stderr.
    """
    if "numpy" not in sys.modules:
        os.environ.update(kernel_choice())
    if imports:
        from daskdl.cli.imports import import_all, whole_names

        import_all(whole_names(imports, os.getcwd()), "--import")
