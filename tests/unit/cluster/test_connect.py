"""Options for a cluster, and schedulers that are not there."""

import signal
import socket
import threading

import dask
import pytest
from distributed import Security

from daskdl.cluster import connect as module
from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.errors import (
    MissingExtraError,
    OptionError,
    SchedulerUnreachableError,
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be >= 1, got 0"),
        ({"timeout_s": 0}, " timeout_s must be > 0, got 0"),
        ({"start_timeout_s": 0}, "start_timeout_s must be > 0, got 0"),
        ({"memory_limit": "lots"}, "memory_limit must be a size such as '2 GiB'"),
        ({"memory_limit": "0"}, "memory_limit must be a size"),
        ({"memory_limit": "10MB"}, "at least '400 MiB', got '10MB'"),
        (
            {"scheduler": "tcp://h:1", "memory_limit": "1 GiB"},
            "memory_limit is for workers that are started here",
        ),
        (
            {"scheduler": "tcp://h:1", "dashboard": True},
            "dashboard is for a cluster that is started here",
        ),
        (
            {"scheduler": "tls://h:1", "security": "tls"},
            "security is for a cluster that is started here",
        ),
        ({"security": "ssl"}, "security must be one of 'none', 'tls', got 'ssl'"),
        ({"type": "yarn"}, "type must be one of 'cuda', 'local', got 'yarn'"),
        (
            {"scheduler": "tcp://h:1", "type": "cuda"},
            "type is for a cluster that is started here, got 'cuda'.*dask cuda worker",
        ),
        (
            {"cuda_visible_devices": "0"},
            "cuda_visible_devices is for workers of type 'cuda', got '0' with type N",
        ),
        (
            {"type": "local", "rmm_pool_size": 0.5},
            "rmm_pool_size is for workers of type 'cuda', got 0.5 with type 'local'",
        ),
        *(
            (
                {"type": "cuda", "cuda_visible_devices": devices},
                f"different numbers or names of devices .* got '{devices}'",
            )
            for devices in ("0,0", "", "0;1", "-1", "GeForce")
        ),
        ({"type": "cuda", "rmm_pool_size": "most"}, "a size such as '8 GiB'.*'most'"),
        ({"type": "cuda", "rmm_pool_size": "0.8"}, "a part of the .* got '0.8'"),
        ({"type": "cuda", "rmm_pool_size": 0}, "rmm_pool_size must be > 0, got 0"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        ClusterOptions(**options)


@pytest.mark.parametrize("memory_limit", [None, "auto", "2 GiB", "500MB"])
def test_memory_limits_are_sizes(memory_limit):
    assert ClusterOptions(memory_limit=memory_limit).memory_limit == memory_limit


@pytest.mark.parametrize("address", ["nonsense", "foo://host:1"])
def test_what_is_no_address_is_refused(address):
    with (
        pytest.raises(OptionError, match=f"an address such as .* got '{address}'"),
        connect(ClusterOptions(scheduler=address)),
    ):
        pass


def test_a_scheduler_that_is_not_there_is_refused_in_time():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    with (
        pytest.raises(
            SchedulerUnreachableError, match=f"at '{address}' within 0.2 s, none did"
        ),
        connect(ClusterOptions(scheduler=address, timeout_s=0.2)),
    ):
        pass


def test_what_listens_but_is_no_scheduler_is_refused_in_time():
    """Dask itself waits for the greeting without end."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        with (
            pytest.raises(SchedulerUnreachableError, match="it does not answer"),
            connect(ClusterOptions(scheduler=address, timeout_s=0.2)),
        ):
            pass


def test_what_answers_in_another_tongue_is_no_scheduler():
    def babble(listener):
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"\xff" * 100)
            connection.recv(1 << 16)

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=babble, args=(listener,), daemon=True)
        thread.start()
        with (
            pytest.raises(SchedulerUnreachableError, match="what listens there is no"),
            connect(ClusterOptions(scheduler=address, timeout_s=5)),
        ):
            pass
        thread.join()


def test_tls_without_certificates_is_refused_with_the_setting():
    with (
        pytest.raises(OptionError, match=r"Set distributed\.comm\.tls there"),
        connect(ClusterOptions(scheduler="tls://127.0.0.1:1")),
    ):
        pass


def test_certificates_that_are_not_there_are_named(tmp_path):
    missing = str(tmp_path / "cert.pem")
    files = dict.fromkeys(("ca-file", "client.cert", "client.key"), missing)
    with (
        dask.config.set({f"distributed.comm.tls.{n}": f for n, f in files.items()}),
        pytest.raises(OptionError, match=f"must be files that can be .*{missing}"),
        connect(ClusterOptions(scheduler="tls://127.0.0.1:1")),
    ):
        pass


def test_certificates_without_the_package_are_refused_with_the_risk(monkeypatch):
    """Nothing is started then."""

    def missing():
        raise ImportError("no cryptography")

    monkeypatch.setattr(Security, "temporary", missing)
    with (
        pytest.raises(MissingExtraError, match=r"pip install cryptography, or"),
        connect(ClusterOptions(workers=1)),
    ):
        pass


def test_a_termination_waits_until_the_cluster_can_be_closed():
    """One that is half started cannot: Dask complains at exit, with tracebacks."""

    def terminated(number, frame):
        raise KeyboardInterrupt

    def start():
        with module._interrupts_held_back():
            signal.raise_signal(signal.SIGTERM)
            reached.append("started")

    reached = []
    before = signal.signal(signal.SIGTERM, terminated)
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
    finally:
        after = signal.signal(signal.SIGTERM, before)
    assert (reached, after) == (["started"], terminated)
