"""Workers that a test kills and stops, what it runs on them, and what must come out."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

from daskdl import Dense, Output
from daskdl.cluster.bus.protocol import PLUGIN_NAME as BUS
from daskdl.cluster.calls import call_each
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.mailbox import PLUGIN_NAME as SESSIONS
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
    PowerSGDTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.data.dataset import DataSet
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.multilayer import MultiLayerNetwork

N_FEATURES, N_CLASSES = 16, 4
PARTS = 24
TRAINED, PREDICTED = 100, 800  # rows of a part
EPOCHS = 4
START_TIMEOUT_S = 60
LEFT_WITHIN_S = 15
MASTERS = {
    "sharing": SharedTrainingMaster(start_timeout_s=60, peer_timeout_s=20),
    "averaging": ParameterAveragingTrainingMaster(
        averaging_frequency=4, start_timeout_s=60, peer_timeout_s=20
    ),
    "overlap": ParameterAveragingTrainingMaster(
        averaging_frequency=4, overlap=True, start_timeout_s=60, peer_timeout_s=20
    ),
    "block_momentum": BlockMomentumTrainingMaster(
        averaging_frequency=4, start_timeout_s=60, peer_timeout_s=20
    ),
    "allreduce": AllReduceTrainingMaster(start_timeout_s=60, peer_timeout_s=20),
    "powersgd": PowerSGDTrainingMaster(start_timeout_s=60, peer_timeout_s=20),
}


class WorkerProcesses:
    """A scheduler in this process and workers in their own. A context manager."""

    def __init__(self, folder: Path, *, nanny: bool = False) -> None:
        self._folder = folder
        self._nanny = nanny
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "WorkerProcesses":
        self._cluster = LocalCluster(
            n_workers=0,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        )
        self.address = self._cluster.scheduler_address
        self.client = Client(self._cluster, set_as_default=False)
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            # Whoever is stopped acts on nothing else.
            process.send_signal(signal.SIGCONT)
            process.terminate()
        self.client.close()
        self._cluster.close()
        deadline = time.monotonic() + 10
        while any(p.poll() is None for p in self._processes):
            if time.monotonic() > deadline:
                for process in self._processes:
                    process.kill()
            threading.Event().wait(0.05)

    def spawn(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start one more worker, and do not wait for it."""
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address]
        command += ["--nanny" if self._nanny else "--no-nanny", "--no-dashboard"]
        command += ["--host", "127.0.0.1", "--nthreads", "1"]
        command += ["--local-directory", str(self._folder), *options]
        with (self._folder / f"worker-{len(self._processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, stderr=log, stdout=log, env={**os.environ, **environment}
            )
        self._processes.append(process)
        return process

    def at_least(self, workers: int) -> dict[str, int]:
        """Fill up to so many workers; return their process ids by address."""
        missing = workers - len(self.pids())
        if missing > 0 and (not self._nanny or not self._processes):
            for _ in range(missing):
                self.spawn()
        self.client.wait_for_workers(workers, timeout=START_TIMEOUT_S)
        return self.pids()

    def pids(self) -> dict[str, int]:
        """Return the process ids of all workers, as the scheduler knows them."""

        def look(dask_scheduler: Any) -> dict[str, int]:
            workers = dask_scheduler.workers.items()
            return {address: state.pid for address, state in workers}

        return self.client.run_on_scheduler(look)


def draw(examples: int, seed: int = 0, first_key: int = 0) -> DataSet:
    """Draw labelled points around one centre a class, with keys from `first_key`."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(0, 2.0, (N_CLASSES, N_FEATURES))
    classes = rng.integers(0, N_CLASSES, examples)
    features = centres[classes] + rng.normal(0, 1.5, (examples, N_FEATURES))
    labels = np.eye(N_CLASSES, dtype=np.float32)[classes]
    keys = np.arange(first_key, first_key + examples)
    return DataSet(features.astype(np.float32), labels, keys=keys)


def parts(rows: int) -> list[DataSet]:
    return [draw(rows, seed=part, first_key=part * rows) for part in range(PARTS)]


def front_end(client: Client, master: str = "sharing") -> DaskMultiLayer:
    configuration = MultiLayerConfiguration(
        layers=[
            Dense(n_out=24, activation="relu"),
            Output(n_out=N_CLASSES, loss="mcxent"),
        ],
        input=FeedForward(size=N_FEATURES),
        updater="adam",
        seed=3,
    )
    network = MultiLayerNetwork(configuration).init()
    return DaskMultiLayer(client, network, MASTERS[master])


def fit(client: Client, master: str = "sharing", epochs: int = EPOCHS, **how: Any):
    """Fit, and check that every example was trained once an epoch."""
    front = front_end(client, master)
    front.fit(parts(TRAINED), epochs=epochs, batch_size=8, **how)
    report = front.last_fit
    assert report.examples - report.repeated_examples == PARTS * TRAINED * epochs
    assert len(report.epochs) == epochs
    assert np.isfinite(front.network.params).all()
    return front


def average(client: Client) -> None:
    fit(client, "averaging")


def predict(client: Client) -> None:
    """Predict, and check that every key came once, with its own prediction."""
    front = front_end(client)
    data = parts(PREDICTED)
    pairs = front.feed_forward_with_key(data, batch_size=1)
    assert [key for key, _ in pairs] == list(range(PARTS * PREDICTED))
    whole = np.concatenate([part.features for part in data])
    expected = front.network.output(whole)
    np.testing.assert_allclose([row for _, row in pairs], expected, rtol=1e-4)


def evaluate(client: Client) -> None:
    """Evaluate, and check that every example was counted once."""
    evaluation = front_end(client).evaluate(parts(PREDICTED), batch_size=1)
    assert evaluation.confusion_matrix.sum() == PARTS * PREDICTED


OPERATIONS: Mapping[str, Callable[[Client], Any]] = {
    "fit": fit,
    "average": average,
    "feed_forward_with_key": predict,
    "evaluate": evaluate,
}


def timed(operation: Callable[[Client], Any], client: Client) -> float:
    """Return how long an operation takes undisturbed."""
    start_s = time.monotonic()
    operation(client)
    return time.monotonic() - start_s


def killed_at(
    operation: Callable[[Client], Any], client: Client, pid: int, moment_s: float
) -> None:
    """Run an operation; `moment_s` seconds later kill the process `pid`."""
    timer = threading.Timer(moment_s, os.kill, (pid, signal.SIGKILL))
    timer.start()
    try:
        operation(client)
    finally:
        timer.join()


def assert_nothing_is_left(client: Client) -> None:
    """No task on the scheduler, no member in a topic, no session on a worker."""
    assert_stays_empty(lambda: left_on(client), LEFT_WITHIN_S)


def assert_stays_empty(look: Callable[[], list[str]], within_s: float) -> None:
    """Wait until nothing is left or comes: schedulers may learn of graphs late."""
    deadline = time.monotonic() + within_s
    quiet = 0
    while quiet < 5:
        left = look()
        quiet = 0 if left else quiet + 1
        assert not left or time.monotonic() < deadline, left
        threading.Event().wait(0.05)


def left_on(client: Client) -> list[str]:
    def on_scheduler(dask_scheduler: Any) -> list[str]:
        bus = dask_scheduler.plugins.get(BUS)
        topics = list(bus._registry._topics) if bus is not None else []
        return topics + [str(key) for key in dask_scheduler.tasks]

    def on_worker(dask_worker: Any) -> list[str]:
        sessions = dask_worker.plugins.get(SESSIONS)
        bus = dask_worker.plugins.get(BUS)
        return [
            *(sessions._mailboxes if sessions is not None else ()),
            *(bus._open if bus is not None else ()),
        ]

    found = list(client.run_on_scheduler(on_scheduler))
    everyone = dict.fromkeys(client.nthreads(), ())
    answers = client.sync(call_each, client, on_worker, everyone, LEFT_WITHIN_S)
    for items in answers.values.values():
        found += items
    return found


class Newcomer:
    """A worker that comes in the middle of a fit, and what happens to it.

    To be called after each epoch: the first time it starts the worker, waits until the
    scheduler knows it, and `delay_s` seconds later sends it a signal, if any.
    """

    def __init__(
        self,
        workers: WorkerProcesses,
        *,
        sends: signal.Signals | None = None,
        delay_s: float = 0.0,
        **environment: str,
    ) -> None:
        self.delay_s = delay_s
        self._workers = workers
        self._sends = sends
        self._environment = environment
        self._process: Any = None
        self._timer: threading.Timer | None = None

    def __call__(self, network: Any) -> None:
        if self._process is None:
            self.start()
            self.arrive()

    def start(self) -> None:
        self._process = self._workers.spawn(**self._environment)

    def arrive(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while self._process.pid not in self._workers.pids().values():
            assert time.monotonic() < deadline, "the newcomer did not come"
            threading.Event().wait(0.005)
        if self._sends is not None:
            strike = self._process.send_signal
            self._timer = threading.Timer(self.delay_s, strike, (self._sends,))
            self._timer.start()

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """Wait until its fate has come, and end what is left of it."""
        if self._timer is not None:
            self._timer.join()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
