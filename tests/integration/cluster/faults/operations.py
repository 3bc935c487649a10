"""What is under way when something happens, with a hook at the moment of it."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from distributed import Client
from fsspec.implementations.local import LocalFileOpener

import daskdl as dl
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.cluster.orders import Finish
from daskdl.cluster.session_members import SessionMembers
from daskdl.errors import DivergedError
from daskdl.nn.fitting.events import CheckpointFailed, Preparing
from tests.counting import (
    assert_counts,
    counting_master,
    counting_network,
    numbered_examples,
)
from tests.integration.cluster import disturbed
from tests.integration.cluster.faults.cells import Cell, Fault, Moment

# A message of fewer than two elements is not sent, as in DL4J.
EXAMPLES, BATCH, EPOCHS = 1500, 2, 3
LIMITS = {"start_timeout_s": 40.0, "peer_timeout_s": 20.0}
AMID_S = 0.1
COLUMNS = {"features": ["a", "b"], "label": "c"}

Strike = Callable[[], None]


def master_of(name: str) -> TrainingMaster:
    if name == "sharing":
        return counting_master(**LIMITS)
    if name == "averaging":
        return dl.ParameterAveragingTrainingMaster(averaging_frequency=4, **LIMITS)
    return dl.AllReduceTrainingMaster(**LIMITS)


def run(client: Client, cell: Cell, strike: Strike, folder: Path) -> str:
    """Do it all, and return what was counted; AssertionError if that is wrong."""
    if cell.moment is Moment.SCAN:
        return scan(client, strike, folder)
    if cell.moment is Moment.EVALUATE:
        amid(strike, 0.3)
        disturbed.evaluate(client)
        return "all once"
    if cell.moment is Moment.PREDICT:
        amid(strike, 0.3)
        disturbed.predict(client)
        return "all once"
    if cell.fault is Fault.NAN:
        return fit_nan(client, cell.master)
    if cell.fault is Fault.DISK_FULL:
        return fit_without_space(client, cell.master, cell.moment, folder)
    with striking(cell.moment, strike) as listener:
        return counted_fit(client, cell.master, [listener])


def amid(strike: Strike, delay_s: float = AMID_S) -> None:
    threading.Timer(delay_s, strike).start()


class At(dl.Listener):
    """Strikes at the end of the first epoch, or a moment later."""

    def __init__(self, moment: Moment, strike: Strike) -> None:
        self._moment, self._strike = moment, strike
        self._is_done = False

    def on_epoch_end(self, fit: Any) -> None:
        if self._is_done:
            return
        self._is_done = True
        if self._moment is Moment.BORDER:
            self._strike()
        elif self._moment is Moment.EPOCH:
            amid(self._strike)


class striking:
    """A context in which a fit is struck at a moment; it gives the listener."""

    def __init__(self, moment: Moment, strike: Strike) -> None:
        self._moment, self._strike = moment, strike
        self._patch: Any = None
        self._is_done = False

    def __enter__(self) -> At:
        name = {Moment.START: "start", Moment.FINISH: "order_all"}.get(self._moment)
        if name is not None:
            real = getattr(SessionMembers, name)

            def called(members: Any, *args: Any, **options: Any) -> Any:
                is_it = name == "start" or isinstance(args[0], Finish)
                if is_it and not self._is_done:
                    self._is_done = True
                    self._strike()
                return real(members, *args, **options)

            self._patch = mock.patch.object(SessionMembers, name, called)
            self._patch.start()
        return At(self._moment, self._strike)

    def __exit__(self, *error: object) -> None:
        if self._patch is not None:
            self._patch.stop()


def counted_fit(
    client: Client, master: str, listeners: list[dl.Listener], epochs: int = EPOCHS
) -> str:
    """Fit a network that counts its examples."""
    network = counting_network(EXAMPLES, BATCH)
    front = dl.DaskMultiLayer(client, network, master_of(master))
    data = numbered_examples(EXAMPLES)
    front.fit(data, epochs=epochs, batch_size=BATCH, listeners=listeners)
    report = front.last_fit
    if master == "sharing":
        assert_counts(network, report, examples=EXAMPLES, epochs=epochs)
    counts = np.asarray(network.params).ravel()
    # What is averaged counts for less than 1, and never for nothing.
    assert counts.min() > 0, f"example {counts.argmin()} is missing"
    once = report.examples - report.repeated_examples
    assert once == EXAMPLES * epochs, f"{once} of {EXAMPLES * epochs} examples"
    lost, rejoined = len(report.lost), len(report.rejoined)
    return f"all, {report.repeated_examples} again; lost {lost}, back {rejoined}"


def fit_nan(client: Client, master: str) -> str:
    """A minibatch that overflows ends the fit with an error that says so."""
    data = numbered_examples(EXAMPLES)
    # NaN itself is refused before a worker trains. This is squared in the second epoch.
    data.features[EXAMPLES // 2] *= 1e30
    network = counting_network(EXAMPLES, BATCH)
    front = dl.DaskMultiLayer(client, network, master_of(master))
    try:
        front.fit(data, epochs=EPOCHS, batch_size=BATCH)
    except DivergedError as error:
        return f"told: {error}"[:60]
    raise AssertionError("NaN was trained")


def fit_without_space(client: Client, master: str, moment: Moment, folder: Path) -> str:
    """Later checkpoints than the first are not written, which is told; the fit ends."""

    def write(self: Any, data: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Told(dl.Listener):
        failed = 0

        def on_event(self, event: Any) -> None:
            self.failed += isinstance(event, CheckpointFailed)

    told = Told()
    full = mock.patch.object(LocalFileOpener, "write", write, create=True)
    try:
        listeners = [At(moment, full.start), dl.RunCheckpoint(folder / "run"), told]
        counted = counted_fit(client, master, listeners)
    finally:
        full.stop()
    assert told.failed, "nothing was told of the full disk"
    names = [path.name for path in (folder / "run").iterdir()]
    assert names == ["checkpoint-000001.safetensors"], names
    return f"{counted}; {told.failed} checkpoints failed"


def scan(client: Client, strike: Strike, folder: Path) -> str:
    """Fit on files, each of which is read by a task before."""
    rng = np.random.default_rng(0)
    for part in range(24):
        rows = rng.standard_normal((50, 2))
        lines = [f"{a:.4f},{b:.4f},{int(a > b)}" for a, b in rows]
        (folder / f"{part:02}.csv").write_text("\n".join(["a,b,c", *lines]) + "\n")

    class Scan(dl.Listener):
        def on_event(self, event: Any) -> None:
            if isinstance(event, Preparing) and "checking" in event.doing:
                strike()

    conf = dl.MultiLayerConfiguration(input=dl.FeedForward(2), layers=[dl.Output(2)])
    front = dl.DaskMultiLayer(client, conf, master_of("sharing"))
    data = sorted(str(path) for path in folder.glob("*.csv"))
    front.fit(data, epochs=1, batch_size=10, listeners=Scan(), **COLUMNS)
    report = front.last_fit
    once = report.examples - report.repeated_examples
    assert once == 24 * 50, f"{once} examples"
    return "all once"
