"""Get a client: start a local cluster, or join one that is there.

Everything that is started here is closed on the way out, also after an error or an
interrupt. A cluster that somebody else runs is only left.
"""

import asyncio
import contextlib
import logging
import signal
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import current_process, resource_tracker
from typing import Any

import dask
from distributed import Client, LocalCluster, Security
from distributed.comm import connect as open_comm
from distributed.comm import get_address_host_port
from distributed.versions import VersionMismatchWarning, get_versions

from daskdl.checks import check_at_least, check_one_of, check_positive
from daskdl.cluster.calls import call_each
from daskdl.cluster.cuda_workers import (
    check_cuda_here,
    check_devices,
    check_pool_size,
    cuda_cluster,
    cuda_worker_config,
)
from daskdl.cluster.enough_workers import enough_workers
from daskdl.cluster.ready_processes import ready_processes_first
from daskdl.cluster.started_workers import (
    LoopbackNanny,
    certificates,
    check_memory_limit,
    started_worker_config,
)
from daskdl.cluster.versions import check_versions
from daskdl.errors import (
    ClusterError,
    DaskdlError,
    OptionError,
    SchedulerUnreachableError,
)

__all__ = ["ClusterOptions", "connect"]

# Workers import the main module.
_GUARD = (
    "a program that starts workers must be a file, and do so below "
    "`if __name__ == '__main__':`"
)
_PRE_SPAWN = "distributed.nanny.pre-spawn-environ"
# What each process looks up for pages of the dashboard, and lest memory runs out, and
# how often: some per cent of a core that workers share. By default its threads a
# hundred times a second, the event loop's delay fifty times, its memory ten times, what
# it uses of the machine twice.
_UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.system-monitor.interval": "1s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.worker.memory.monitor-interval": "500ms",
}


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The cluster to work on: a new local one, or one that is there.

    Parameters
    ----------
    scheduler : str or None
        Address of a scheduler that runs already, ``"tcp://host:8786"``. ``None`` starts
        a cluster on this machine.
    type : {"local", "cuda"} or None
        What is started here: worker processes, or those of Dask-CUDA, each with a CUDA
        device of its own, on which its networks live. ``None`` is ``"local"``. Only
        without `scheduler`.
    workers : int or None
        Local: how many worker processes to start, ``None`` one a core, or one a device.
        With `scheduler`: how many workers must be there at least, ``None`` one.
    cuda_visible_devices : str or None
        The devices for workers of type ``"cuda"``, by number or UUID, ``"0,1"``;
        ``None`` for all that this process sees.
    rmm_pool_size : str, float or None
        Memory that each worker of type ``"cuda"`` takes of its device at once, for RMM
        to manage: ``"8 GiB"``, a number of bytes, or a part of the device's, up to 1.
        ``None`` leaves it to CuPy's own pool. Needs the package ``rmm``.
    memory_limit : str or None
        What one local worker may use, ``"2 GiB"``; ``None`` or ``"auto"`` share the
        machine's memory among the workers. Only without `scheduler`.
    timeout_s : float
        How long to wait for the scheduler's answer.
    start_timeout_s : float
        With `scheduler`: how long its workers may take to come, which an adaptive
        cluster is asked for.
    dashboard : bool
        Serve Dask's dashboard on a free local port. Only without `scheduler`.
    security : {"tls", "none"} or None
        Whether the processes of a local cluster know each other by certificates, made
        for it and kept in memory. ``None`` is ``"tls"``. With ``"none"`` every user of
        this machine can run code in the name of this one while the cluster lives.
        Only without `scheduler`: that of another cluster is in Dask's configuration.

    Raises
    ------
    OptionError
        If an option is out of range or does not go with `scheduler`.
    """

    scheduler: str | None = None
    type: str | None = None
    workers: int | None = None
    cuda_visible_devices: str | None = None
    rmm_pool_size: str | float | None = None
    memory_limit: str | None = None
    timeout_s: float = 10.0
    start_timeout_s: float = 60.0
    dashboard: bool = False
    security: str | None = None

    @property
    def n_workers_here(self) -> int:
        """Number of processes of a cluster without devices that is started here."""
        return self.workers or int(dask.system.CPU_COUNT)

    def __post_init__(self) -> None:
        if self.security is not None:
            check_one_of("ClusterOptions", "security", self.security, ("tls", "none"))
        self._check_devices()
        if self.workers is not None:
            check_at_least("ClusterOptions", "workers", self.workers, 1)
        check_positive("ClusterOptions", "timeout_s", self.timeout_s)
        check_positive("ClusterOptions", "start_timeout_s", self.start_timeout_s)
        if self.scheduler is None:
            check_memory_limit("ClusterOptions", "memory_limit", self.memory_limit)
            return
        if self.memory_limit is not None:
            raise OptionError(
                "ClusterOptions: memory_limit is for workers that are started here, "
                f"got {self.memory_limit!r} with scheduler {self.scheduler!r}. "
                "Give it to the cluster's own workers."
            )
        if self.type is not None:
            raise OptionError(
                "ClusterOptions: type is for a cluster that is started here, got "
                f"{self.type!r} with scheduler {self.scheduler!r}. Start its workers "
                "with `dask cuda worker` where they are to have GPUs."
            )
        if self.security is not None:
            raise OptionError(
                "ClusterOptions: security is for a cluster that is started here, got "
                f"{self.security!r} with scheduler {self.scheduler!r}. Set "
                "distributed.comm.tls in Dask's configuration."
            )
        if self.dashboard:
            raise OptionError(
                "ClusterOptions: dashboard is for a cluster that is started here, "
                f"got it with scheduler {self.scheduler!r}."
            )

    def _check_devices(self) -> None:
        if self.type is not None:
            check_one_of("ClusterOptions", "type", self.type, ("local", "cuda"))
        for name in ("cuda_visible_devices", "rmm_pool_size"):
            value = getattr(self, name)
            if value is not None and self.type != "cuda":
                raise OptionError(
                    f"ClusterOptions: {name} is for workers of type 'cuda', got "
                    f"{value!r} with type {self.type!r}."
                )
        if self.cuda_visible_devices is not None:
            check_devices(self.cuda_visible_devices)
        if self.rmm_pool_size is not None:
            check_pool_size(self.rmm_pool_size)

    def check_here(self) -> None:
        """Refuse what this machine has no devices or packages for.

        Raises
        ------
        OptionError, MissingExtraError, DeviceError
            For type ``"cuda"`` only.
        """
        if self.type == "cuda":
            check_cuda_here(self.workers, self.cuda_visible_devices, self.rmm_pool_size)


@contextlib.contextmanager
def connect(options: ClusterOptions, *, needs_all: bool = True) -> Iterator[Client]:
    """Open a client on the cluster that `options` name, and close it again.

    Parameters
    ----------
    options : ClusterOptions
        Local workers have one thread each and listen on the loopback interface only.
    needs_all : bool
        Whether a worker without daskdl is refused, as a training does. Evaluations and
        predictions leave it out, and say so, unless none has it.

    Yields
    ------
    client : distributed.Client
        With at least the workers that were asked for.

    Raises
    ------
    SchedulerUnreachableError
        If no scheduler answers at the address within ``timeout_s``.
    VersionMismatchError
        If scheduler or workers run versions that do not go with the client's.
    ClusterError
        If too few workers come in ``start_timeout_s``.
    OptionError, MissingExtraError, DeviceError
        If workers of type ``"cuda"`` cannot be here.
    """
    is_local = options.scheduler is None
    opened = _local(options) if is_local else _remote(options, needs_all=needs_all)
    with opened as client:
        yield client


@contextlib.contextmanager
def _local(options: ClusterOptions) -> Iterator[Client]:
    options.check_here()
    if getattr(current_process(), "_inheriting", False):
        raise ClusterError(
            f"Cluster: {_GUARD}. This process is a worker that imports it."
        )
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(started_worker_config()))
        if not options.dashboard:
            stack.enter_context(dask.config.set(_UNWATCHED))
        if options.type == "cuda":
            stack.enter_context(dask.config.set(cuda_worker_config()))
        wanted = dask.config.get(_PRE_SPAWN)
        variables = [name for name, value in wanted.items() if value is not None]
        with _interrupts_held_back(), ready_processes_first(variables):
            try:
                cluster = stack.enter_context(_started(options))
            except DaskdlError:
                raise
            except RuntimeError as error:
                # Dask's own is a hundred lines for each worker, of all its layers.
                raise ClusterError(
                    f"Cluster: workers of this machine must start, got: {error} What "
                    "they printed stands before this. If one was killed, which prints "
                    f"nothing, try again. Else, first of all, {_GUARD}."
                ) from None
        yield stack.enter_context(Client(cluster, set_as_default=False))


def _started(options: ClusterOptions) -> Any:
    """Start the cluster, which is to be closed."""
    others = {
        "threads_per_worker": 1,
        "worker_class": LoopbackNanny,
        "host": "127.0.0.1",
        "security": certificates("ClusterOptions", options.security),
        "memory_limit": options.memory_limit or "auto",
        # Not dashboard_address=None: the port of its HTTP server would then be 8787,
        # with a warning when somebody else has that.
        "dashboard_address": "127.0.0.1:0",
        "scheduler_kwargs": {"dashboard": options.dashboard},
        # Workers that die or close are reported by the session in its own words; Dask's
        # log of the same would tear up the progress display.
        "silence_logs": logging.CRITICAL,
    }
    if options.type == "cuda":
        devices, pool = options.cuda_visible_devices, options.rmm_pool_size
        return cuda_cluster(options.workers, devices, pool, **others)
    return LocalCluster(n_workers=options.n_workers_here, **others)


@contextlib.contextmanager
def _remote(options: ClusterOptions, *, needs_all: bool) -> Iterator[Client]:
    with _join(options) as client:
        n_workers = options.workers or 1
        with enough_workers(client, n_workers, None, options.start_timeout_s):
            versions = _versions(client, options)
        if not needs_all:
            workers = versions["workers"]
            able = {a: w for a, w in workers.items() if w["packages"].get("daskdl")}
            versions["workers"] = able or workers
        check_versions(versions)
        yield client


def _versions(client: Client, options: ClusterOptions) -> dict[str, Any]:
    """Return ``client.get_versions``, without waiting for stopped workers."""
    packages = ["daskdl"]
    workers = client.sync(
        call_each,
        client,
        get_versions,
        dict.fromkeys(client.nthreads(), (packages,)),
        options.timeout_s,
    )
    return {
        "client": get_versions(packages),
        "scheduler": client.run_on_scheduler(get_versions, packages),
        "workers": workers.values,
    }


def _join(options: ClusterOptions) -> Client:
    arguments = _certificates_of_clients()
    try:
        # In a thread of its own, since a notebook's thread already runs a loop.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, _knock(options, arguments)).result()
        with warnings.catch_warnings():
            # A table of all that differs, pandas included; check_versions tells in a
            # line what matters.
            warnings.simplefilter("ignore", VersionMismatchWarning)
            return Client(
                options.scheduler, timeout=options.timeout_s, set_as_default=False
            )
    except (OSError, asyncio.TimeoutError) as error:  # two classes before 3.11
        raise _no_answer(options, _reason(error)) from error
    except ValueError as error:
        if _is_host_and_port(options.scheduler):
            # What came over the wire could not be decoded.
            raise _no_answer(options, "what listens there is no scheduler") from error
        raise OptionError(
            "ClusterOptions: scheduler must be an address such as "
            f"'tcp://host:8786', got {options.scheduler!r} ({error})."
        ) from error
    except TypeError as error:
        raise OptionError(
            f"ClusterOptions: scheduler {options.scheduler!r} must go with Dask's own "
            f"configuration, it does not: {error}. Set distributed.comm.tls there."
        ) from error


def _certificates_of_clients() -> dict[str, Any]:
    """Return what connections take from Dask's configuration."""
    try:
        arguments: dict[str, Any] = Security().get_connection_args("client")
    except OSError as error:  # of ssl, too; most do not say which file
        settings = dask.config.get("distributed.comm.tls")
        files = {"ca-file": settings["ca-file"], **settings["client"]}
        raise OptionError(
            "ClusterOptions: the certificates of distributed.comm.tls in Dask's "
            f"configuration must be files that can be read here, got {files} ({error})."
        ) from error
    return arguments


def _no_answer(options: ClusterOptions, reason: str) -> SchedulerUnreachableError:
    return SchedulerUnreachableError(
        f"connect: a scheduler must answer at {options.scheduler!r} within "
        f"{options.timeout_s:g} s, none did ({reason}). Start one with `dask "
        "scheduler`, or leave the scheduler out to use this machine."
    )


def _is_host_and_port(address: str | None) -> bool:
    try:
        get_address_host_port(address)
    except ValueError:
        return False
    return True


async def _knock(options: ClusterOptions, arguments: dict[str, Any]) -> None:
    """Open a connection and close it.

    A Client that fails to connect stays half built, and its ``__del__`` then complains
    on stderr of a loop that is gone. So it is only made when somebody answers.
    """
    opening = open_comm(
        options.scheduler,
        # A little less than the whole, so that "connection refused" is what is told.
        timeout=0.9 * options.timeout_s,
        **arguments,
    )
    try:
        comm = await asyncio.wait_for(opening, options.timeout_s)
    except asyncio.TimeoutError as error:
        # open_comm limits the connection, but waits for the handshake without end.
        raise OSError("something listens there, but it does not answer") from error
    await comm.close()


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Start processes and threads that a Ctrl-C at the terminal does not reach.

    The terminal sends SIGINT to the whole process group. Workers that got it would die
    with a traceback each, and be restarted, while the main thread still closes the
    cluster in order. A blocked signal is inherited by threads and by what they spawn;
    one that comes meanwhile is delivered to this thread when the block ends.

    So is SIGTERM, since a cluster that is half started cannot be closed in order. It is
    not blocked: the workers are ended by it.
    """
    # Started with the first process otherwise, and that thread's mask is then undone.
    resource_tracker.ensure_running()
    with _terminations_held_back():
        if not hasattr(signal, "pthread_sigmask"):  # Windows
            yield
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _terminations_held_back() -> Iterator[None]:
    handler = signal.getsignal(signal.SIGTERM)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(handler):
        # Handlers are set there only; without one the process is to end at once.
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
        if came:
            signal.raise_signal(signal.SIGTERM)


def _reason(error: BaseException) -> str:
    """Return the innermost cause with a message."""
    text = str(error)
    while error.__cause__ is not None:
        error = error.__cause__
        text = str(error) or text
    return text.split("\n")[0]
