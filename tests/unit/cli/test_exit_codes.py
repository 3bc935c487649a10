"""How commands end."""

import asyncio
import errno
import json
import logging
import os
import signal

import click
import pytest

from daskdl import errors
from daskdl.cli.exit_codes import debug_option, errors_as_exit_codes, json_option


class OfDistributed(Exception):
    pass


OfDistributed.__module__ = "distributed.scheduler"


class Ended(click.Group):
    def invoke(self, ctx):
        with errors_as_exit_codes(ctx):
            return super().invoke(ctx)


@pytest.fixture
def result_of(runner):
    """A function that runs a command which raises, or does, what it is given."""

    def run(error, *arguments):
        return runner.invoke(command_of(error), ["work", *arguments])

    return run


def command_of(error):
    @click.group(cls=Ended)
    def group():
        pass

    @group.command()
    @json_option
    @debug_option
    def work(as_json):
        if isinstance(error, BaseException):
            raise error
        error()

    return group


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.OptionError("x"), 2),
        (errors.ShapeError("x"), 2),
        (errors.ColumnError("x"), 2),
        (errors.FormatError("x"), 2),
        (errors.OutputExistsError("x"), 2),
        (errors.MissingExtraError("x"), 2),
        (errors.SchedulerUnreachableError("x"), 3),
        (errors.VersionMismatchError("x"), 3),
        (errors.WorkerLostError("x"), 3),
        (errors.StepTimeoutError("x"), 3),
        (OfDistributed("x"), 3),
        (errors.StaleMessageError("x"), 1),
        (errors.OutputError("x"), 4),
        (errors.StorageError("x"), 4),
        (OSError(errno.EIO, "x"), 4),
        (PermissionError("x"), 4),
        (ConnectionResetError("x"), 1),
        (ZeroDivisionError("x"), 1),
        (KeyboardInterrupt(), 130),
        (lambda: None, 0),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), 143),
    ],
    ids=lambda value: getattr(type(value), "__name__", None),
)
def test_each_error_has_its_exit_code(result_of, error, code):
    assert result_of(error).exit_code == code


def test_the_message_is_one_line_on_stderr(result_of):
    result = result_of(errors.ColumnError("data: column 'x' must exist."))
    assert result.stderr == "error: data: column 'x' must exist.\n"


def test_nothing_is_on_stdout_after_an_error(result_of):
    assert result_of(errors.ColumnError("x")).stdout == ""


def test_an_error_that_is_not_ours_names_its_class(result_of):
    assert (
        "error: ZeroDivisionError: by zero."
        in result_of(ZeroDivisionError("by zero")).stderr
    )


def test_there_is_no_traceback_without_debug(result_of):
    assert "Traceback" not in result_of(ZeroDivisionError("x")).stderr


def test_debug_shows_the_traceback(result_of):
    assert "Traceback" in result_of(ZeroDivisionError("x"), "--debug").stderr


def test_json_tells_the_error_in_the_last_line(result_of):
    result = result_of(errors.ColumnError("no x"), "--json")
    assert json.loads(result.stdout) == {"error": "no x", "exit_code": 2}


def test_the_handler_of_sigterm_is_put_back(result_of):
    before = signal.getsignal(signal.SIGTERM)
    result_of(lambda: None)
    assert signal.getsignal(signal.SIGTERM) is before


def test_several_refusals_are_a_line_each(result_of):
    result = result_of(errors.OptionError("a: x.\nb: y."))
    assert result.stderr == "error: a: x.\nerror: b: y.\n"


def test_tasks_that_an_interrupt_left_behind_are_not_told(result_of, caplog):
    def leave():
        logging.getLogger("asyncio").error("Task exception was never retrieved")
        logging.getLogger("asyncio").error("something else")

    result_of(leave)
    assert caplog.messages == ["something else"]


def test_a_client_that_is_closed_as_it_looks_for_its_scheduler_is_not_told(
    result_of, caplog
):
    def leave():
        logger = logging.getLogger("distributed.client")
        try:
            raise asyncio.CancelledError
        except asyncio.CancelledError as error:
            logger.exception(error)
        logger.error("Failed to reconnect to scheduler")

    result_of(leave)
    assert caplog.messages == ["Failed to reconnect to scheduler"]


def test_a_plain_error_that_dask_raises_is_one_of_the_cluster(result_of):
    """As when the scheduler is gone: an OSError, which is no error of storage."""
    scope = {"__name__": "distributed.comm.core"}
    exec("def connect():\n    raise OSError('Timed out trying to connect')", scope)
    assert result_of(scope["connect"]).exit_code == 3


def test_a_full_stdout_does_not_hide_the_exit_code(result_of, monkeypatch):
    def full(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(click, "echo", full)
    monkeypatch.setattr(click, "secho", lambda *args, **kwargs: None)
    assert result_of(errors.ColumnError("x"), "--json").exit_code == 2
