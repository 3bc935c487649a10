"""The client's side of the page: tells the scheduler what a fit tells its listeners.

Training goes on whatever comes of it: nobody waits for an answer but at the end, and
that not for long.
"""

import asyncio
import logging
import uuid
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from daskdl.cluster.dashboard.plugin import TELL_OP, begin_fit
from daskdl.cluster.dashboard.told_events import to_line
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.nn.fitting.events import Event, FitStarted
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.trained import Trained, layer_of, network_of

if TYPE_CHECKING:
    from daskdl.nn.fitting.fit import Fit

__all__ = ["DashboardListener"]

logger = logging.getLogger(__name__)

EVERY_S = 1.0
ANSWER_TIMEOUT_S = 5.0
# Events that wait for a scheduler that does not answer; the oldest are given up.
MOST_WAITING = 5000
MOST_LETTERS = 500


class DashboardListener(Listener):
    """Has the scheduler show a fit.

    Parameters
    ----------
    client : distributed.Client
        A synchronous one.
    trained : Network or LayerPretraining
    master : TrainingMaster
        How.
    """

    def __init__(self, client: Any, trained: Trained, master: TrainingMaster) -> None:
        self._client = client
        layer, what = layer_of(trained), type(network_of(trained)).__name__
        self._title = (
            f"{what if layer is None else f'layer {layer} of {what}'}, "
            f"{trained.params.size:,} parameters, {type(master).__name__}"
        )
        self._session = uuid.uuid4().hex
        self._is_shown = False
        self._waiting: deque[str] = deque(maxlen=MOST_WAITING)
        self._sending: Future[None] | None = None
        self._is_resting = False
        self._one_by_one = asyncio.Lock()

    def on_event(self, event: Event) -> None:
        """Tell it within a second or so."""
        if isinstance(event, FitStarted):
            self._begin()
        if not self._is_shown or (line := to_line(event)) is None:
            return
        self._waiting.append(line)
        if self._sending is None or self._sending.done():
            self._tell_soon()

    def on_fit_end(self, fit: "Fit") -> None:
        """Tell the rest, and that it has ended."""
        self._end("in order")

    def on_fit_error(self, fit: "Fit", error: BaseException) -> None:
        """Tell the rest, and why it has ended."""
        self._end(f"{type(error).__name__}: {error}"[:MOST_LETTERS])

    def _begin(self) -> None:
        client = self._client
        try:
            # A scheduler that is lost is told of by whoever needs it.
            self._is_shown = client.run_on_scheduler(
                begin_fit, self._session, client.id, self._title
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, training goes on
            logger.info("The dashboard does not show the fit: %r", error)

    def _tell_soon(self) -> None:
        sending, loop = self._send_soon(), self._client.loop.asyncio_loop
        try:
            self._sending = asyncio.run_coroutine_threadsafe(sending, loop)
        except RuntimeError as error:
            # The client was closed, which the fit will tell.
            sending.close()
            self._is_shown = False
            logger.info("The dashboard shows the fit no longer: %r", error)

    def _end(self, how: str) -> None:
        # A lost scheduler would be waited for.
        if not self._is_shown or self._client.status != "running":
            return
        if self._sending is not None and self._is_resting:
            self._sending.cancel()
        try:
            self._client.sync(self._send, how, callback_timeout=ANSWER_TIMEOUT_S)
        except Exception as error:  # noqa: BLE001 - the fit has ended anyway
            logger.info("The dashboard was not told that the fit ended: %r", error)
        self._is_shown = False

    async def _send_soon(self) -> None:
        self._is_resting = True
        try:
            await asyncio.sleep(EVERY_S)
        finally:
            self._is_resting = False
        await self._send()

    async def _send(self, how: str = "") -> None:
        tell = getattr(self._client.scheduler, TELL_OP)
        async with self._one_by_one:
            lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
            try:
                answer = await tell(session=self._session, lines=lines, how=how)
                self._is_shown = bool(answer.get("ok"))
            except Exception as error:  # noqa: BLE001 - training goes on
                logger.info("The dashboard shows the fit no longer: %r", error)
                self._is_shown = False
