"""Options that commands share which read data."""

from collections.abc import Callable
from typing import Any

import click

__all__ = ["DataCommand", "cluster_from", "data_options", "storage_options"]

_HOW_STORED = (
    click.option(
        "--format",
        "data_format",
        metavar="NAME",
        help="parquet, csv, json, ...; found out if not given.",
    ),
    click.option(
        "--option",
        "stored",
        multiple=True,
        metavar="KEY=VALUE",
        help="How the data are stored, with a key of a job's `data` section: "
        "delimiter=';', header=false, storage_options='{timeout_s: 30}'. May be given "
        "several times.",
    ),
)

_OPTIONS = (
    click.option(
        "--features",
        multiple=True,
        metavar="COLUMN",
        help="Column with the features; given several times they stand side by side. "
        "INPUT=COLUMN for a graph. If not given: as in the training, else 'features'.",
    ),
    *_HOW_STORED,
    click.option(
        "--unfinished",
        is_flag=True,
        help="Read a directory without _SUCCESS too; the job that writes it may not be "
        "done.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Work on the cluster of this scheduler instead of on this machine.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Worker processes to start, one a core if not given; with --scheduler how "
        "many must be there at least.",
    ),
    click.option(
        "--start-timeout-s",
        type=click.FloatRange(min=0, min_open=True),
        default=60.0,
        metavar="SECONDS",
        help="How long workers may take to come; 60 if not given.",
    ),
)


class DataCommand(click.Command):
    """A command that reads columns: an option for each, and none takes several."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; say how to name several columns where arguments are too many."""
        names = {"--features", "--label"}.intersection(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            # Others, such as of an option that is missing, are of kinds of their own.
            if type(error) is click.UsageError and names:
                name = min(names)
                raise click.UsageError(
                    f"{error.message}. {name} takes one column: give it again for each "
                    "further one.",
                    ctx,
                ) from error
            raise


def data_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading data and finding workers."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def storage_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for how data are stored."""
    for option in reversed(_HOW_STORED):
        function = option(function)
    return function


def cluster_from(
    scheduler: str | None, workers: int | None, start_timeout_s: float
) -> Any:
    """Return the ClusterOptions that the command line names."""
    from daskdl.cluster.connect import ClusterOptions

    return ClusterOptions(
        scheduler=scheduler, workers=workers, start_timeout_s=start_timeout_s
    )
