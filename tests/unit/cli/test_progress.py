"""How a fit shows."""

import io
import logging
from dataclasses import replace

from rich.console import Console

from daskdl.cli.progress import LiveView, PlainView, open_view
from daskdl.nn.fitting import events

STARTED = events.FitStarted(
    workers=("tcp://a", "tcp://b"), examples=1437, minibatches=45, epochs=3
)
LOST = events.WorkerLost(
    time_s=1.5, epoch=2, worker="tcp://b", redealt_examples=320, repeated_examples=32
)
DONE = events.EpochFinished(
    time_s=2.0, epoch=2, examples=1437, score=0.25, wall_s=1.0, workers=1
)


def progress(examples):
    return events.Progress(
        time_s=1.0,
        epoch=2,
        examples=examples,
        iteration=7,
        score=0.5,
        examples_per_s=2000.0,
        workers=2,
        bytes_sent=15_000,
    )


def console():
    return Console(file=io.StringIO(), width=100)


def plain_lines(*told, clock=lambda: 0.0):
    view = PlainView(console(), clock)
    for event in told:
        view.on_event(event)
    return view._console.file.getvalue().splitlines()


def test_the_start_tells_what_is_trained():
    assert plain_lines(STARTED) == [
        "training 1,437 examples in 45 minibatches, 3 epochs, on 2 workers"
    ]


def test_what_goes_on_before_the_start_is_told():
    event = events.Preparing(doing="checking the data")
    assert plain_lines(event) == ["checking the data"]


def test_progress_tells_the_figures():
    assert plain_lines(STARTED, progress(640))[1] == (
        "epoch 2/3  640 examples  2,000/s  score 0.5  2 workers  15.0 kB sent"
    )


def test_what_the_log_warns_of_is_shown_once(capfd):
    """A warning that is also an event of the fit, too: a failed checkpoint, say."""
    screen = io.StringIO()
    logger = logging.getLogger("daskdl.cluster.driver")
    with open_view(Console(file=screen, width=200)) as view:
        logger.warning("epoch 2: no checkpoint: %s", "x: no answer.")
        view.on_event(STARTED)
        view.on_event(
            events.CheckpointFailed(time_s=2.0, epoch=2, reason="x: no answer.")
        )
    assert screen.getvalue().count("x: no answer.") == 1
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("daskdl").handlers == []


def test_workers_in_place_of_all_are_told_with_what_is_repeated():
    event = events.WorkersRejoined(
        time_s=1.5, epoch=1, workers=("tcp://c", "tcp://d"), repeated_examples=1320
    )
    assert plain_lines(STARTED, event)[1] == (
        "2 workers came where all had gone: on from the last snapshot behind "
        "epoch 1, 1,320 examples are trained again"
    )


def test_workers_that_join_are_told():
    event = events.WorkersJoined(time_s=1.5, epoch=2, workers=("tcp://c", "tcp://d"))
    assert plain_lines(STARTED, event)[1] == "epoch 2/3  joined by tcp://c, tcp://d"


def test_a_lost_worker_is_told_with_what_is_repeated():
    assert plain_lines(STARTED, LOST)[1] == (
        "epoch 2/3  lost worker tcp://b: 320 examples dealt again, of which 32 may "
        "count twice"
    )


def test_the_end_of_an_epoch_is_told():
    assert plain_lines(STARTED, DONE)[1] == "epoch 2/3  done in 1.0 s  score 0.25"


def test_what_listeners_reported_of_an_epoch_is_told():
    done = replace(DONE, values={"validation_loss": 0.12345})
    (_, line) = plain_lines(STARTED, done)
    assert line == "epoch 2/3  done in 1.0 s  score 0.25  validation_loss 0.1235"


def test_the_end_of_the_fit_is_not_told():
    assert plain_lines(events.FitFinished(time_s=3.0)) == []


def test_plain_progress_comes_every_few_seconds_only():
    times = iter([0.0, 0.0, 0.0, 1.0, 4.9, 5.0, 5.0])
    told = [progress(10), progress(20), progress(30), progress(40)]
    lines = plain_lines(*told, clock=lambda: next(times))
    assert [line.split()[0] for line in lines] == ["10", "40"]


def test_plain_events_come_between_progress_at_once():
    assert len(plain_lines(STARTED, progress(10), LOST, DONE)) == 4


def test_a_name_in_brackets_is_no_markup():
    view = PlainView(console())
    view.note("reading /data/[red]x")
    assert view._console.file.getvalue() == "reading /data/[red]x\n"


def test_what_is_no_terminal_gets_plain_lines():
    with open_view(console()) as view:
        assert isinstance(view, PlainView)


def test_a_terminal_gets_a_live_view():
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    with open_view(terminal) as view:
        assert isinstance(view, LiveView)


def test_a_live_view_moves_its_bar():
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    with LiveView(terminal) as view:
        view.on_event(STARTED)
        view.on_event(progress(640))
        _, task = view._bar.tasks
        assert (task.completed, task.fields["epoch"]) == (640, "epoch 2/3")


def test_a_live_view_keeps_what_happened():
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    with LiveView(terminal) as view:
        view.on_event(STARTED)
        view.on_event(LOST)
    assert "lost worker tcp://b" in terminal.file.getvalue()


def test_a_live_view_moves_before_there_is_a_fit():
    """Something without a total moves by itself; a fit takes its place."""
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    with LiveView(terminal) as view:
        view.begin("reading job.yaml")
        (waiting,) = view._bar.tasks
        assert (waiting.total, waiting.visible) == (None, True)
        assert waiting.fields["epoch"] == "reading job.yaml"
        view.on_event(STARTED)
        assert not waiting.visible


def test_a_live_view_moves_after_a_fit_again():
    """Its bar would stand where the fit was last told of."""
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    with LiveView(terminal) as view:
        view.on_event(STARTED)
        view.on_event(progress(640))
        view.on_event(events.FitFinished(time_s=2.0))
        waiting, task = view._bar.tasks
        assert (waiting.visible, task.visible) == (True, False)


def test_a_log_has_no_line_of_what_goes_away_again():
    told = io.StringIO()
    PlainView(Console(file=told)).begin("reading job.yaml")
    assert told.getvalue() == ""
