"""Lines for logs, a minute apart."""

import logging
import sys

import numpy as np
import pytest

from daskdl.nn.fitting import minute_progress
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.hearing import hearing_of
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.minute_progress import MinuteProgress, minutes_on_stderr
from daskdl.nn.fitting.progress import ProgressLine
from tests.unit.networks.small import mlp


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

    found = Clock()
    monkeypatch.setattr(minute_progress, "time", found)
    return found


@pytest.fixture
def bare_logging(monkeypatch):
    """Be as a program that has set up no logging, once called: pytest sets up some."""

    def be_bare():
        monkeypatch.setattr(minute_progress.logger, "propagate", False)
        monkeypatch.setattr(minute_progress.logger, "handlers", [])

    return be_bare


@pytest.fixture
def script(monkeypatch):
    """Neither a prompt nor a notebook."""
    monkeypatch.delattr(sys, "ps1", raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)


def test_a_line_comes_once_a_minute_and_at_the_end(clock, caplog):
    caplog.set_level(logging.INFO)
    fit = Fit((), 3, lambda: None)
    fit.epoch = 2
    fit.count(0, 1500, 0.25)
    progress = MinuteProgress()
    progress.on_fit_start(fit)
    for clock.now in (10.0, 59.0, 61.0, 62.0, 120.0, 122.0):
        progress.iteration_done(fit)
    assert caplog.messages == ["epoch 2/3  1,500 examples  score 0.25"] * 2
    fit.values = {"validation_accuracy": 0.5}
    progress.on_fit_end(fit)
    assert caplog.messages[2].endswith("score 0.25  validation_accuracy 0.5")


def fitted():
    rng = np.random.default_rng(1)
    labels = np.eye(3, dtype=np.float32)[rng.integers(0, 3, 12)]
    features = rng.normal(size=(12, 4)).astype(np.float32)
    mlp().fit((features, labels), batch_size=4)


def test_a_fit_writes_to_stderr_within_the_block(bare_logging, script, capsys):
    bare_logging()
    with minutes_on_stderr():
        with minutes_on_stderr():
            fitted()
        fitted()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("daskdl: epoch 1/1  12 examples") for line in lines)


def test_a_library_writes_nothing_that_nobody_asked_for(bare_logging, script, capsys):
    bare_logging()
    with minutes_on_stderr():
        pass
    fitted()
    assert capsys.readouterr() == ("", "")


def test_handlers_of_the_program_have_the_lines(script, caplog, capsys):
    with caplog.at_level(logging.INFO), minutes_on_stderr():
        fitted()
    assert [message.split("  ")[0] for message in caplog.messages] == ["epoch 1/1"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        (None, [MinuteProgress]),
        (Listener(), [Listener, MinuteProgress]),
        ([], []),
    ],
)
def test_who_gives_no_listeners_at_all_is_not_told(caplog, script, given, kinds):
    caplog.set_level(logging.INFO)
    assert [type(one) for one in hearing_of("fit", given)] == kinds


def test_at_a_prompt_the_line_is_written_over(caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    (found,) = hearing_of("fit", None)
    assert isinstance(found, ProgressLine)
