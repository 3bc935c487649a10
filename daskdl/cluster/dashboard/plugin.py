"""The page of fits on the scheduler: its route, its place in the navigation, its end.

Everything is put where Dask's own pages are, and taken away when no fit is left that
is shown.
"""

import asyncio
import math
import sys
import time
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin
from tornado import web

from daskdl.cluster.dashboard.kept_fits import KeptFits
from daskdl.cluster.dashboard.page import draw_ended, draw_fits
from daskdl.cluster.dashboard.told_events import from_line

__all__ = ["DashboardPlugin", "begin_fit"]

PLUGIN_NAME = "daskdl-dashboard-1"  # ends with the protocol's version
TELL_OP = "daskdl_dashboard_tell"
PAGE = "daskdl"
# As often as the members of a long fit report.
AGAIN_S = 5.0
# Of the time of the event loop no more than a fiftieth, however many workers there are.
AGAIN_FOR_COST = 50


class DashboardPlugin(SchedulerPlugin):  # type: ignore[misc]
    """Keeps the fits that are shown, and serves their pages.

    Parameters
    ----------
    scheduler : distributed.Scheduler
    """

    name = PLUGIN_NAME
    idempotent = True

    def __init__(self, scheduler: Any) -> None:
        self.fits = KeptFits(draw_ended)
        self._scheduler = scheduler
        self._drawn, self._again_s, self._drawn_s = "", AGAIN_S, -math.inf
        self._timer: asyncio.TimerHandle | None = None
        # The dashboard may have a prefix, which it does not tell.
        base = rf"(?:/[^/]+)*/{PAGE}"
        how = {"plugin": self}
        self._application = web.Application(
            [(rf"{base}/?", _Fits, how), (rf"{base}/(\d+)", _Ended, how)]
        )

    def open(self) -> None:
        """Serve the pages from now on."""
        scheduler = self._scheduler
        scheduler.http_application.add_application(self._application)
        scheduler.handlers[TELL_OP] = self._tell
        pages = _pages_of_dask(scheduler)
        if PAGE not in pages:
            pages.append(PAGE)

    def leave(self) -> None:
        """Take everything away."""
        scheduler = self._scheduler
        scheduler.http_application.applications.remove(self._application)
        scheduler.handlers.pop(TELL_OP, None)
        pages = _pages_of_dask(scheduler)
        if PAGE in pages:
            pages.remove(PAGE)
        scheduler.remove_plugin(name=PLUGIN_NAME)

    async def close(self) -> None:
        """Look no more for what is to be forgotten."""
        if self._timer is not None:
            self._timer.cancel()

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Tell that the client of fits is gone."""
        self.fits.end_of_client(client)
        self.look_again()

    def begin(self, session: str, client: str, title: str) -> bool:
        """Show a fit from now on; False if there is no room for it."""
        self._drawn_s = -math.inf
        return self.fits.begin(session, client, title)

    def look_again(self) -> None:
        """Forget what is to be forgotten, now and later; leave if nothing is left."""
        self._drawn_s = -math.inf
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        later_s = self.fits.forget()
        if later_s is None:
            self.leave()
            return
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(later_s, self.look_again)

    def page(self) -> str:
        """Return the page of all fits, drawn anew if the last one is old."""
        began_s = time.monotonic()
        if began_s - self._drawn_s >= self._again_s - 1:
            self._drawn = draw_fits(
                self.fits,
                again_s=self._again_s,
                has_dashboard=bool(_pages_of_dask(self._scheduler)),
            )
            self._drawn_s = time.monotonic()
            cost_s = self._drawn_s - began_s
            self._again_s = max(AGAIN_S, AGAIN_FOR_COST * cost_s)
        return self._drawn

    async def _tell(self, session: str, lines: list[str], how: str) -> dict[str, bool]:
        is_there = self.fits.take(session, map(from_line, lines))
        if how:
            self.fits.end(session, how)
            self.look_again()
        return {"ok": is_there}


class _Page(web.RequestHandler):
    def initialize(self, plugin: DashboardPlugin) -> None:
        self.plugin = plugin

    def set_default_headers(self) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header(
            "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"
        )


class _Fits(_Page):
    def get(self) -> None:
        self.write(self.plugin.page())


class _Ended(_Page):
    def get(self, number: str) -> None:
        ended = self.plugin.fits.ended
        found = next((fit for fit in ended if str(fit.number) == number), None)
        if found is None:
            raise web.HTTPError(404)
        self.write(found.page)


def _pages_of_dask(scheduler: Any) -> list[str]:
    """Return the list of what Dask's navigation shows; an empty one without any."""
    # Without Bokeh, or without a dashboard, nobody has imported it.
    module = sys.modules.get("distributed.dashboard.scheduler")
    variables = getattr(module, "template_variables", None)
    # It answers each time with the same, which Dask's pages hold.
    found: list[str] = variables(scheduler).get("pages", []) if variables else []
    return found


async def begin_fit(session: str, client: str, title: str, dask_scheduler: Any) -> bool:
    """Show a fit from now on. Runs on the scheduler.

    Returns
    -------
    bool
        False where there is no page, or no room on it: nothing is to be told.
    """
    if getattr(dask_scheduler, "http_application", None) is None:
        return False
    if PLUGIN_NAME not in dask_scheduler.plugins:
        plugin = DashboardPlugin(dask_scheduler)
        plugin.open()
        dask_scheduler.add_plugin(plugin, name=PLUGIN_NAME)
    plugin = dask_scheduler.plugins[PLUGIN_NAME]
    is_shown: bool = plugin.begin(session, client, title)
    return is_shown
