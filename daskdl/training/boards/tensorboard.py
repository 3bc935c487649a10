"""The listener that writes what TensorBoard shows."""

import logging
import math
import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.checks import check_count, check_type
from daskdl.errors import OutputError, StorageError
from daskdl.nn.fitting.events import EpochFinished, Event, Progress
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.training.boards.event_file import EventFile, check_free_of_events
from daskdl.training.boards.extras import extra_package
from daskdl.training.boards.histograms import Distributions, buckets, magnitude
from daskdl.training.boards.measures import Measures, of_epoch

__all__ = ["TensorBoardListener"]

logger = logging.getLogger(__name__)

# People look every half minute, which is how often TensorBoard reads again.
_FLUSH_S = 15.0
# A store that is away takes a minute to say so, in which nothing is trained here.
_AFTER_ERROR_S = 600.0


class TensorBoardListener(Listener):
    """Write score, speed, learning rates and histograms for TensorBoard.

    In one process and on a cluster alike: the events are written where ``fit`` was
    called. Needs ``pip install 'daskdl[tensorboard]'``, which is only the writer; to
    look at them, ``pip install tensorboard`` wherever the directory can be read, and
    ``tensorboard --logdir DIRECTORY``.

    Parameters
    ----------
    directory : path or str
        Of this run alone, a path or URL. Several runs beside one another are compared
        where TensorBoard is given the directory above.
    frequency : int
        Score, examples a second and learning rates every so many minibatches. A device
        is waited for at each.
    histograms_every_n_epochs : int, optional
        At the end of these epochs: histograms of parameters and of updates. None for no
        histograms.
    histograms_every_n_iterations : int, optional
        Also within an epoch, after so many minibatches; on a cluster of all workers
        together, as soon as all stand at a common position.
    overwrite : bool
        Remove the events of an earlier run, which are refused otherwise.

    Raises
    ------
    MissingExtraError
        If the writer is not installed.

    Notes
    -----
    The step of everything is the iteration, of the end of an epoch too: ``score``,
    ``examples_per_s``, ``learning_rate`` and ``epoch``; ``epoch_score`` is the mean of
    an epoch, ``epoch_accuracy`` and so on what other listeners reported of it. On a
    cluster there are ``workers`` and ``bytes_sent``. Updates are what is subtracted
    from parameters, the mean of an iteration since the last histogram of this process;
    ``update_ratio`` is log10 of their mean magnitude beside that of the parameters.

    A run that goes on with ``resume`` goes on in the same directory: what was written
    behind its checkpoint is taken back. A further fit with the same listener goes on
    behind the last step. A store that does not take events costs a warning, and no fit.

    References
    ----------
    DL4J, ``StatsListener`` and ``UIServer``.

    Examples
    --------
    >>> import daskdl
    >>> listener = daskdl.TensorBoardListener("boards/first")  # doctest: +SKIP
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        frequency: int = 1,
        *,
        histograms_every_n_epochs: int | None = 1,
        histograms_every_n_iterations: int | None = None,
        overwrite: bool = False,
    ) -> None:
        who = type(self).__name__
        check_type(who, "directory", directory, str, os.PathLike)
        check_type(who, "overwrite", overwrite, bool)
        self._directory = os.fspath(directory)
        self._every = check_count(who, "frequency", frequency)
        for name, value in (
            ("histograms_every_n_epochs", histograms_every_n_epochs),
            ("histograms_every_n_iterations", histograms_every_n_iterations),
        ):
            if value is not None:
                check_count(who, name, value)
        self._n_epochs = histograms_every_n_epochs
        self._n_iterations = histograms_every_n_iterations
        self._overwrite = overwrite
        extra_package(who, "tensorboardX.record_writer", "tensorboard")
        # Steps that earlier fits of this listener wrote, and the last of all.
        self._base = self._step = 0
        self._is_own = False
        self._drawn_at = 0
        self._of_cluster: dict[str, float] = {}
        self._has_failed = False
        self._flush_at_s = 0.0

    def on_fit_start(self, fit: Fit) -> None:
        """Refuse the directory of another run, or go on in that of this one."""
        # Only now: who stops before has no events.
        if fit.resumed_from is None and not self._is_own:
            who = type(self).__name__
            check_free_of_events(who, self._directory, overwrite=self._overwrite)
        if fit.resumed_from is None:
            self._base = self._step
        self._is_own = True
        self._file = EventFile(self._directory)
        self._measures = Measures(fit, self._every)
        self._distributions = (
            Distributions(fit.network, fit.iteration) if self._draws else None
        )
        self._step = self._base + fit.iteration
        self._drawn_at = fit.iteration
        if fit.resumed_from is not None:
            self._take_back_later_steps()
        else:
            self._add(**_text("network", fit.network.summary()))
        # At once: whoever opens TensorBoard finds the run.
        self._flush()

    @property
    def _draws(self) -> bool:
        return self._n_epochs is not None or self._n_iterations is not None

    def _take_back_later_steps(self) -> None:
        from tensorboardX.proto.event_pb2 import SessionLog

        start = SessionLog(status=SessionLog.START)
        self._add(session_log=start, step=self._step + 1)

    def iteration_done(self, fit: Fit) -> None:
        """Write the numbers of this moment, if it is time."""
        self._step = self._base + fit.iteration
        if values := self._measures.take(fit):
            self._add_scalars({**values, **self._of_cluster})
        every = self._n_iterations
        if every is not None and fit.iteration // every > self._drawn_at // every:
            fit.want_standstill(self._draw)
            self._drawn_at = fit.iteration
        if time.monotonic() >= self._flush_at_s:
            self._flush()

    def on_epoch_end(self, fit: Fit) -> None:
        """Draw histograms, if it is time."""
        every = self._n_epochs
        if every is not None and (fit.epoch % every == 0 or fit.epoch == fit.epochs):
            self._draw(fit)

    def _draw(self, fit: Fit) -> None:
        if self._distributions is None:
            return
        self._step = self._base + fit.iteration
        for name, params, updates in self._distributions.of(fit.network, fit.iteration):
            self._add_histogram(f"parameters/{name}", params)
            self._add_histogram(f"updates/{name}", updates)
            of_params, of_updates = magnitude(params), magnitude(updates)
            if of_params > 0 and of_updates > 0:
                ratio = math.log10(of_updates / of_params)
                self._add_scalars({f"update_ratio/{name}": ratio})

    def on_event(self, event: Event) -> None:
        """Write the figures of an epoch, and what only a cluster tells."""
        if isinstance(event, EpochFinished):
            values = of_epoch(event)
            self._add_scalars({f"epoch_{name}": values[name] for name in values})
            self._flush()
        elif isinstance(event, Progress):
            sent = event.bytes_sent
            self._of_cluster = {"workers": event.workers, "bytes_sent": sent}

    def on_fit_end(self, fit: Fit) -> None:
        """Write what is left, and draw the last epoch of a fit that ended early."""
        if self._n_epochs is not None:
            self._draw(fit)
        self._flush()

    def on_standstill(self, fit: Fit) -> None:
        """Write what was before a checkpoint: who goes on from it tells what is behind.

        At the end of an epoch its figures come a moment later.
        """
        if fit.position.positions:
            self._flush()

    def on_fit_error(self, fit: Fit, error: BaseException) -> None:
        """Write what is left."""
        if self._is_own:
            self._flush()

    def kept_state(self) -> Mapping[str, Any]:
        """Return behind which step the run began."""
        return {"base": self._base}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Count from there, as the run goes on."""
        self._base = state["base"]

    def _add_scalars(self, values: Mapping[str, float]) -> None:
        from tensorboardX.proto.summary_pb2 import Summary

        told = [Summary.Value(tag=name, simple_value=values[name]) for name in values]
        self._add(summary=Summary(value=told))

    def _add_histogram(self, name: str, values: FloatArray) -> None:
        from tensorboardX.summary import histogram_raw

        values = values[np.isfinite(values)].astype(np.float64)
        if not values.size:
            return
        counts, limits = buckets(values)
        figures = (values.min(), values.max(), values.size, values.sum())
        squares = np.square(values).sum()
        self._add(summary=histogram_raw(name, *figures, squares, limits, counts))

    def _add(self, *, step: int | None = None, **what: Any) -> None:
        from tensorboardX.proto.event_pb2 import Event as Record

        at = self._step if step is None else step
        self._file.add(Record(wall_time=time.time(), step=at, **what))

    def _flush(self) -> None:
        wait_s = _FLUSH_S
        try:
            self._file.flush()
        except (OutputError, StorageError) as error:
            wait_s = _AFTER_ERROR_S
            if not self._has_failed:
                self._has_failed = True
                logger.warning(
                    "TensorBoardListener: events wait, the training goes on: %s", error
                )
        self._flush_at_s = time.monotonic() + wait_s


def _text(name: str, text: str) -> dict[str, Any]:
    from tensorboardX.summary import text as text_summary

    # Markdown, in which four blanks keep a table as it is.
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    return {"summary": text_summary(name, lines)}
