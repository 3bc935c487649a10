"""The page in Dask's dashboard: what it keeps, what it shows, and how it goes."""

import asyncio
import re
import sys
import threading
import time
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from daskdl.cluster.dashboard import kept_fits
from daskdl.cluster.dashboard import listener as told_by
from daskdl.cluster.dashboard.kept_fits import KEPT_S, MOST_LANES, KeptFits
from daskdl.cluster.dashboard.listener import DashboardListener
from daskdl.cluster.dashboard.page import draw_ended, draw_fits
from daskdl.cluster.dashboard.plugin import PLUGIN_NAME, TELL_OP, begin_fit
from daskdl.cluster.dashboard.told_events import from_line, to_line
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.nn.fitting.events import (
    EpochFinished,
    FitFinished,
    FitStarted,
    Progress,
    ResidualMeasured,
    SpansMeasured,
    WorkerLost,
    WorkersRejoined,
)

STARTED = FitStarted(epochs=3, workers=("tcp://a:1",), examples=320)


def progress(time_s=1.0, **values):
    how = {
        "epoch": 2,
        "examples": 100,
        "iteration": 30,
        "score": 0.25,
        "examples_per_s": 1234.0,
        "workers": 2,
        "bytes_sent": 0,
    }
    return Progress(time_s=time_s, **{**how, **values})


def spans(member=0, worker="tcp://a:1", **values):
    return SpansMeasured(
        time_s=1.0,
        worker=worker,
        member=member,
        start_s=0.5,
        stop_s=1.0,
        seconds={"compute": 0.4},
        minibatches=7,
        clock_offset_s=0.0,
        clock_error_s=0.0,
        **values,
    )


def lost(worker="tcp://b:1", time_s=1.0, reason=""):
    return WorkerLost(
        time_s=time_s,
        epoch=1,
        worker=worker,
        reason=reason,
        redealt_examples=0,
        repeated_examples=0,
    )


def epoch(number, **values):
    how = {"examples": 320, "score": 0.5, "wall_s": 1.0, "workers": 2}
    return EpochFinished(time_s=1.0 * number, epoch=number, **how, **values)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def fits(clock):
    return KeptFits(draw_ended, clock)


def shown(fits):
    return draw_fits(fits, again_s=5.0, has_dashboard=False)


@pytest.mark.parametrize(
    "event",
    [
        STARTED,
        progress(),
        spans(latest=((0.5, "compute", 0.4),)),
        lost(reason="memory"),
        epoch(1, values={"test_accuracy": 0.5}),
        WorkersRejoined(time_s=1.0, epoch=1, workers=("b",), repeated_examples=3),
    ],
)
def test_events_travel_as_they_are(event):
    assert from_line(to_line(event)) == event


def test_numbers_of_numpy_travel_too():
    told = from_line(to_line(epoch(1, values={"auc": np.float32(0.5)})))
    assert told.values == {"auc": 0.5}


def test_what_the_page_does_not_show_does_not_travel():
    measured = dict.fromkeys(ResidualMeasured.__annotations__, 0)
    assert to_line(ResidualMeasured(**measured)) is None
    assert to_line(FitFinished(time_s=1.0)) is None


def test_a_running_fit_is_shown(fits, clock):
    fits.begin("s", "client", "MultiLayerNetwork")
    fits.take("s", [STARTED, epoch(1), progress(), spans(), lost()])
    clock.now = 65.0
    page = shown(fits)
    for told in ("2 of 3", "100 of 320", "1,234", "1 min 5 s", "tcp://b:1", "lost"):
        assert told in page
    assert page.count('<svg class="bar"') == 1
    assert 'http-equiv="refresh" content="5"' in page


def test_a_fit_of_which_nothing_was_told_is_shown(fits):
    fits.begin("s", "client", "MultiLayerNetwork")
    assert "MultiLayerNetwork" in shown(fits)
    fits.take("s", [STARTED])
    assert "1 of 3" in shown(fits)


def test_without_fits_the_page_says_so(fits):
    assert "No fit runs." in shown(fits)


def test_a_fit_that_ended_is_listed_and_has_its_page(fits, clock):
    fits.begin("s", "client", "MultiLayerNetwork")
    fits.take("s", [STARTED, epoch(3), spans()])
    clock.now = 7300.0
    fits.end("s", "in order")
    page = shown(fits)
    assert '<a href="daskdl/1">Fit 1</a>' in page
    assert "2 h 1 min" in page
    (ended,) = fits.ended
    assert "3 of 3" in ended.page
    assert "in order" in ended.page
    assert "refresh" not in ended.page
    assert not fits.take("s", [progress()])


BAD = "<script>alert('&\"')</script>"


def test_everything_on_the_pages_is_escaped(fits):
    fits.begin("s", "client", BAD)
    fits.take(
        "s",
        [
            FitStarted(epochs=3, workers=(BAD,)),
            spans(worker=BAD, latest=((0.5, BAD, 0.4), (0.6, "compute", 0.1))),
            lost(BAD, reason=BAD),
            WorkersRejoined(time_s=1.0, epoch=1, workers=(BAD,), repeated_examples=0),
            progress(),
        ],
    )
    pages = [shown(fits)]
    fits.end("s", BAD)
    pages += [shown(fits), fits.ended[0].page]
    for page in pages:
        assert "<script" not in page
        assert "alert('" not in page


def test_of_an_endless_fit_a_bounded_part_is_kept(fits):
    fits.begin("s", "client", "network")
    for number in range(9000):
        events = [epoch(number), progress(1.0 * number), lost(time_s=1.0 * number)]
        fits.take("s", events)
    report = fits.running["s"].report
    assert len(report.epochs) < 4001
    assert len(report.progress) < 4001
    assert len(report.lost) == kept_fits.MOST_ROWS
    assert report.lost[-1].time_s == 8999.0


def test_all_fits_share_the_lanes_there_are(fits):
    fits.begin("first", "client", "network")
    fits.begin("second", "client", "network")
    fits.take("first", [spans(member) for member in range(MOST_LANES - 1)])
    fits.take("second", [spans(member) for member in range(10)])
    assert len(fits.running["second"].report.timeline.lanes) == 1
    fits.end("first", "in order")
    fits.take("second", [spans(member) for member in range(10)])
    assert len(fits.running["second"].report.timeline.lanes) == 10


def test_epochs_that_are_trained_again_are_told_again(fits):
    fits.begin("s", "client", "network")
    again = WorkersRejoined(time_s=9.0, epoch=1, workers=("b",), repeated_examples=0)
    fits.take("s", [STARTED, epoch(1), epoch(2), again, epoch(2)])
    assert [one.epoch for one in fits.running["s"].report.epochs] == [1, 2]


def test_more_fits_than_there_is_room_for_are_counted(fits):
    begun = [fits.begin(str(n), "client", "network") for n in range(18)]
    assert begun.count(False) == 2
    assert "2 more began and are not shown" in shown(fits)
    for number in range(16):
        fits.end(str(number), "in order")
    assert "not shown" not in shown(fits)


def test_old_fits_are_forgotten(fits, clock):
    for number in range(kept_fits.MOST_ENDED + 3):
        fits.begin(str(number), "client", "network")
        fits.end(str(number), "in order")
        clock.now += 1.0
    assert len(fits.ended) == kept_fits.MOST_ENDED
    assert fits.ended[0].number == kept_fits.MOST_ENDED + 3
    clock.now += KEPT_S - 4.0
    assert fits.forget() == pytest.approx(1.0)
    assert len(fits.ended) == 3
    clock.now += 5.0
    assert fits.forget() is None


class Scheduler(SimpleNamespace):
    """Has what the page needs of one."""

    def __init__(self, **values):
        super().__init__(plugins={}, handlers={}, **values)

    def add_plugin(self, plugin, name):
        self.plugins[name] = plugin

    def remove_plugin(self, name):
        del self.plugins[name]


@pytest.fixture
def pages(monkeypatch):
    """Dask's navigation, without Bokeh."""
    module, pages = ModuleType("dashboard"), ["status", "info"]
    module.template_variables = lambda scheduler: {"pages": pages}
    monkeypatch.setitem(sys.modules, "distributed.dashboard.scheduler", module)
    return pages


def http_scheduler():
    applications = ["dask"]
    application = SimpleNamespace(
        applications=applications, add_application=applications.append
    )
    return Scheduler(http_application=application)


@pytest.mark.asyncio
async def test_without_a_server_there_is_no_page():
    scheduler = Scheduler()
    assert not await begin_fit("s", "client", "network", scheduler)
    assert not scheduler.plugins


@pytest.mark.asyncio
async def test_it_leaves_with_the_last_fit_as_if_it_had_not_been(pages, monkeypatch):
    scheduler = http_scheduler()
    assert await begin_fit("s", "client", "network", scheduler)
    assert await begin_fit("t", "other", "network", scheduler)
    assert pages == ["status", "info", "daskdl"]
    plugin = scheduler.plugins[PLUGIN_NAME]
    assert 'href="status"' in plugin.page()
    tell = scheduler.handlers[TELL_OP]
    line = to_line(STARTED)
    assert await tell(session="s", lines=[line], how="in order") == {"ok": True}
    assert await tell(session="s", lines=[line], how="") == {"ok": False}
    plugin.remove_client(scheduler, "other")
    assert plugin.fits.ended[0].how == "its client is gone"

    monkeypatch.setattr(kept_fits, "KEPT_S", 0.0)
    plugin.look_again()
    assert pages == ["status", "info"]
    assert scheduler.http_application.applications == ["dask"]
    assert not scheduler.handlers
    assert not scheduler.plugins


@pytest.mark.asyncio
async def test_it_looks_again_when_the_oldest_fit_is_to_be_forgotten(monkeypatch):
    scheduler = http_scheduler()
    await begin_fit("s", "client", "network", scheduler)
    monkeypatch.setattr(kept_fits, "KEPT_S", 0.05)
    await scheduler.handlers[TELL_OP](session="s", lines=[], how="in order")
    assert scheduler.plugins
    for _ in range(100):
        await asyncio.sleep(0.05)
        if not scheduler.plugins:
            break
    assert not scheduler.plugins


@pytest.mark.asyncio
async def test_it_stops_looking_when_the_scheduler_closes():
    scheduler = http_scheduler()
    await begin_fit("s", "client", "network", scheduler)
    plugin = scheduler.plugins[PLUGIN_NAME]
    plugin.look_again()
    await plugin.close()
    assert plugin._timer.cancelled()


@pytest.mark.asyncio
async def test_the_page_is_drawn_once_for_all_who_look(pages):
    scheduler = http_scheduler()
    await begin_fit("s", "client", "network", scheduler)
    plugin = scheduler.plugins[PLUGIN_NAME]
    assert plugin.page() is plugin.page()
    plugin._drawn_s -= 10.0
    plugin._again_s = 100.0
    before = plugin.page()
    plugin._drawn_s -= 100.0
    assert plugin.page() is not before


class Client:
    """A client of a scheduler that keeps what it is told."""

    id, status = "client", "running"

    def __init__(self, answer=True):
        self.told, self._answer = [], answer
        self.begun = None
        self._loop = asyncio_loop = asyncio.new_event_loop()
        self.loop = SimpleNamespace(asyncio_loop=asyncio_loop)
        self.scheduler = SimpleNamespace(**{TELL_OP: self._tell})
        self._thread = threading.Thread(target=asyncio_loop.run_forever)
        self._thread.start()

    async def _tell(self, session, lines, how):
        if isinstance(self._answer, Exception):
            raise self._answer
        self.told.append((lines, how))
        return {"ok": self._answer}

    def run_on_scheduler(self, function, *args):
        if isinstance(self._answer, Exception):
            raise self._answer
        self.begun = args
        return True

    def sync(self, function, *args, callback_timeout):
        future = asyncio.run_coroutine_threadsafe(
            function(*args), self.loop.asyncio_loop
        )
        return future.result(callback_timeout)

    def close(self):
        loop = self._loop
        # What was cancelled ends first.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()


@pytest.fixture
def client_that():
    opened = []

    def make(answer=True):
        opened.append(Client(answer))
        return opened[-1]

    yield make
    for client in opened:
        client.close()


def listener(client):
    network = SimpleNamespace(params=np.zeros(1234))
    return DashboardListener(client, network, SharedTrainingMaster())


@pytest.fixture
def every_s(monkeypatch):
    def set_to(seconds):
        monkeypatch.setattr(told_by, "EVERY_S", seconds)

    return set_to


def test_a_listener_tells_what_it_hears_and_how_the_fit_ends(client_that):
    client = client_that()
    tells = listener(client)
    tells.on_event(progress())
    assert tells._sending is None
    tells.on_event(STARTED)
    for number in range(50):
        tells.on_event(progress(1.0 * number))
    tells.on_fit_error(None, ValueError("x" * 5000))
    assert "1,234 parameters, SharedTrainingMaster" in client.begun[2]
    lines = [line for told, _ in client.told for line in told]
    assert from_line(lines[0]) == STARTED
    assert [from_line(line).time_s for line in lines[1:]] == list(range(50))
    # Not one by one.
    assert len(client.told) <= 3
    assert re.fullmatch("ValueError: x{488}", client.told[-1][1])
    tells.on_fit_end(None)
    assert len([how for _, how in client.told if how]) == 1


def test_what_was_told_last_is_sent_though_nothing_follows(client_that, every_s):
    every_s(0.05)
    client = client_that()
    tells = listener(client)
    tells.on_event(STARTED)
    tells._sending.result(10)
    assert [from_line(line) for line in client.told[0][0]] == [STARTED]


def test_the_end_does_not_wait_until_the_next_time_to_tell(client_that, every_s):
    every_s(1e6)
    client = client_that()
    tells = listener(client)
    tells.on_event(STARTED)
    while not tells._is_resting:
        time.sleep(0.01)
    tells.on_fit_end(None)
    assert tells._sending.cancelled()
    assert [from_line(line) for line in client.told[0][0]] == [STARTED]
    assert client.told[0][1] == "in order"


@pytest.mark.parametrize("answer", [OSError("gone"), False])
def test_a_fit_goes_on_whatever_the_scheduler_answers(client_that, every_s, answer):
    every_s(0.0)
    client = client_that()
    tells = listener(client)
    tells.on_event(STARTED)
    tells._sending.result(10)
    client._answer = answer
    tells.on_event(progress())
    tells._sending.result(10)
    told = len(client.told)
    tells.on_event(progress())
    tells.on_fit_end(None)
    assert len(client.told) == told


def test_a_scheduler_that_is_lost_is_not_waited_for(client_that, every_s):
    every_s(0.0)
    client = client_that()
    tells = listener(client)
    tells.on_event(STARTED)
    tells._sending.result(10)
    client.status = "connecting"
    tells.on_fit_error(None, OSError("gone"))
    assert [how for _, how in client.told] == [""]


def test_a_client_that_is_closed_is_told_nothing(client_that):
    client = client_that()
    tells = listener(client)
    loop = asyncio.new_event_loop()
    loop.close()
    client.loop = SimpleNamespace(asyncio_loop=loop)
    tells.on_event(STARTED)
    tells.on_event(progress())
    tells.on_fit_end(None)
    assert not client.told


def test_an_end_that_cannot_be_told_is_no_error(client_that, every_s):
    every_s(1e6)
    client = client_that()
    tells = listener(client)
    tells.on_event(STARTED)
    client.scheduler = None
    tells.on_fit_end(None)
    assert not client.told


def test_a_fit_goes_on_where_the_page_cannot_begin(client_that):
    tells = listener(client_that(OSError("gone")))
    tells.on_event(STARTED)
    tells.on_event(progress())
    tells.on_fit_end(None)
