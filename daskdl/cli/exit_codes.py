"""Exit codes of commands, and one red line on stderr for an error."""

import contextlib
import json
import logging
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

import click

from daskdl.errors import (
    ClusterError,
    DaskdlError,
    DivergedError,
    OutputError,
    OutputExistsError,
    StaleMessageError,
    StorageError,
)

__all__ = [
    "EXIT_CODES",
    "Terminated",
    "debug_option",
    "errors_as_exit_codes",
    "json_option",
    "keep_for_json",
]

EXIT_CODES = (
    (0, "done"),
    (1, "failed while working"),
    (2, "bad input: an option, a file, a column, an output that exists"),
    (3, "the cluster: no answer, other versions, workers lost"),
    (4, "storage: a file could not be read or written; what is kept is told"),
    (130, "interrupted by Ctrl-C; the cluster is released, the checkpoint kept"),
    (143, "the same by SIGTERM, behind the next checkpoint if that comes soon"),
)

_NOISY = ("asyncio", "distributed.client")

_FAILED, _BAD_INPUT, _CLUSTER, _STORAGE = 1, 2, 3, 4


class Terminated(KeyboardInterrupt):
    """SIGTERM came: to be handled as Ctrl-C is, with its own exit code."""


@contextlib.contextmanager
def errors_as_exit_codes(ctx: click.Context) -> Iterator[None]:
    """Turn errors of the block into a message and an exit code.

    Notes
    -----
    click's own exceptions pass: they are its way to show help and usage errors.
    """
    before = _handle_sigterm(_on_sigterm)
    for name in _NOISY:
        logging.getLogger(name).addFilter(_is_news)
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt as error:
        _say(ctx, error, "interrupted.", _interrupt_code(error))
    except Exception as error:  # noqa: BLE001 - the last handler of the program
        _say(ctx, error, _text(error), _exit_code(error))
    finally:
        _handle_sigterm(before)
        for name in _NOISY:
            logging.getLogger(name).removeFilter(_is_news)


def debug_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--debug``."""
    return click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_remember("debug"),
        help="Show the traceback of an error.",
    )(function)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``, and give the function ``as_json``."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        callback=_remember("json"),
        help="End with one machine-readable line on stdout.",
    )(function)


def keep_for_json(results: Mapping[str, Any]) -> None:
    """Have the line that ``--json`` ends with tell results beside an error."""
    click.get_current_context().find_root().meta["daskdl.results"] = results


def _remember(name: str) -> Callable[[click.Context, click.Parameter, bool], bool]:
    def callback(ctx: click.Context, parameter: click.Parameter, value: bool) -> bool:
        ctx.find_root().meta[f"daskdl.{name}"] = value
        return value

    return callback


def _say(ctx: click.Context, error: BaseException, text: str, code: int) -> None:
    meta = ctx.find_root().meta
    if meta.get("daskdl.debug"):
        click.echo("".join(traceback.format_exception(error)), err=True)
    # A job file is told all that is wrong with it, a line each.
    for line in text.splitlines():
        click.secho(f"error: {line}", fg="red", err=True)
    if meta.get("daskdl.json"):
        told: dict[str, Any] = {"error": text, "exit_code": code}
        if "daskdl.results" in meta:
            told["results"] = meta["daskdl.results"]
        # Where stdout is what failed, the exit code has to do.
        with contextlib.suppress(OSError):
            click.echo(json.dumps(told))
    ctx.exit(code)


def _is_news(record: logging.LogRecord) -> bool:
    """Drop log lines that follow from an end which is told in one line anyway.

    Of tasks that an interrupt left behind asyncio says six lines each; a client that is
    closed while it looks for its scheduler shows the traceback of its own cancellation.
    """
    kind = record.exc_info[0] if record.exc_info else None
    is_cancelled = kind is not None and kind.__name__ == "CancelledError"
    return not is_cancelled and "was never retrieved" not in record.getMessage()


def _text(error: Exception) -> str:
    if isinstance(error, OutputExistsError):
        # The library's sentence, in the words of a command line.
        return str(error).replace("overwrite=True", "--overwrite")
    if isinstance(error, DaskdlError):
        return str(error)
    return f"{type(error).__name__}: {error}. Use --debug for the traceback."


def _exit_code(error: Exception) -> int:
    if isinstance(error, StaleMessageError | DivergedError):
        return _FAILED
    if isinstance(error, ClusterError) or _is_of_distributed(error):
        return _CLUSTER
    if _is_of_storage(error):
        return _STORAGE
    return _BAD_INPUT if isinstance(error, DaskdlError) else _FAILED


def _is_of_storage(error: Exception) -> bool:
    if isinstance(error, DaskdlError):
        return isinstance(error, StorageError | OutputError)
    # Plain ones of these kinds come from the network between processes as well.
    unclear = ConnectionError | TimeoutError
    return isinstance(error, OSError) and not isinstance(error, unclear)


def _is_of_distributed(error: Exception) -> bool:
    """Tell whether Dask itself gave up, without importing it: KilledWorker and such.

    Also where it raises a plain OSError, when it reaches no scheduler any more.
    """
    return "distributed" in (_package(type(error).__module__), _raised_in(error))


def _raised_in(error: Exception) -> str:
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    return "" if where is None else _package(where.tb_frame.f_globals["__name__"])


def _package(module: str) -> str:
    return module.partition(".")[0]


def _interrupt_code(error: KeyboardInterrupt) -> int:
    number = signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT
    return 128 + number


def _handle_sigterm(handler: Any) -> Any:
    """Set the handler and return the one before; nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGTERM, handler)


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    raise Terminated
