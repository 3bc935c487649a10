"""Lines for logs, a minute apart."""

import pytest

from daskdl.nn.fitting.fit import Fit
from daskdl_bridge.spark import minute_progress
from daskdl_bridge.spark.minute_progress import MinuteProgress


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

    found = Clock()
    monkeypatch.setattr(minute_progress, "time", found)
    return found


def test_a_line_comes_once_a_minute_and_at_the_end(clock, capsys):
    fit = Fit((), 3, lambda: None)
    fit.epoch, fit.examples, fit.score = 2, 1500, 0.25
    progress = MinuteProgress()
    progress.on_fit_start(fit)
    for clock.now in (10.0, 59.0, 61.0, 62.0, 120.0, 122.0):
        progress.iteration_done(fit)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["daskdl: epoch 2/3  1,500 examples  score 0.25"] * 2
    fit.values = {"validation_accuracy": 0.5}
    progress.on_fit_end(fit)
    assert capsys.readouterr().err.endswith("score 0.25  validation_accuracy 0.5\n")
