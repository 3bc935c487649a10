"""What a command that works on workers begins with, in front of its own imports."""

import click

from daskdl.cluster import ready_processes

__all__ = ["begin_workers", "end_workers"]


def begin_workers(scheduler: str | None) -> None:
    """Begin with the imports of workers that will be started here.

    Whatever ends the command ends them.

    Parameters
    ----------
    scheduler : str or None
        Of the cluster that the command is told to work on, whose workers run already.
    """
    if scheduler is None:
        click.get_current_context().call_on_close(end_workers)
        ready_processes.begin()


def end_workers() -> None:
    """End what :func:`begin_workers` began, if it did, and no workers came of it."""
    ready_processes.end()
