"""What guards HDFS: time limits, the fork, errors by kind. No HDFS is needed here."""

import gc
import io
import multiprocessing
import os
import pickle
import threading

import pytest

hdfs = pytest.importorskip("daskdl_bridge.hdfs", reason="hdfs-native is not installed")

from daskdl.errors import DataError, OptionError  # noqa: E402
from daskdl_bridge import hdfs_client  # noqa: E402
from daskdl_bridge.errors import (  # noqa: E402
    StorageCredentialsError,
    StorageError,
    StorageTimeoutError,
    StorageUnreachableError,
)
from daskdl_bridge.storage import filesystem  # noqa: E402


@pytest.fixture
def release():
    """Ends the calls that hang, so that no thread outlives its test for long."""
    event = threading.Event()
    yield event
    event.set()


class HangingClient:
    """Accepts every call and never answers."""

    def __init__(self, release):
        self._release = release

    def __getattr__(self, name):
        return lambda *arguments: self._release.wait()


def guarded(make, timeout_s=1.0):
    return hdfs_client.GuardedClient(make, "hdfs://ns", timeout_s)


CALLS = {
    "look up": lambda client: client.get_file_info("/x"),
    "list": lambda client: client.list_status("/x"),
    "measure": lambda client: client.get_content_summary("/x"),
    "make directory": lambda client: client.mkdirs("/x"),
    "rename": lambda client: client.rename("/x", "/y"),
    "delete": lambda client: client.delete("/x"),
    "touch": lambda client: client.set_times("/x", 0, 0),
    "open": lambda client: client.read("/x"),
    "create": lambda client: client.create("/x"),
    "append to": lambda client: client.append("/x"),
}


@pytest.mark.parametrize("action", CALLS)
def test_every_call_has_a_time_limit(action, release):
    client = hdfs_client.GuardedClient(
        lambda: HangingClient(release), "hdfs://ns", 0.05
    )
    message = rf"hdfs://ns/x: HDFS must {action} within 0.05 s"
    with pytest.raises(StorageTimeoutError, match=message):
        CALLS[action](client)


def test_reading_and_writing_have_a_time_limit(release):
    fetch = hdfs_client.guarded_fetch(HangingClient(release), "hdfs://ns/x", 0.05)
    with pytest.raises(StorageTimeoutError, match=r"must read"):
        fetch(0, 3)()
    writer = hdfs_client.GuardedWriter(HangingClient(release), "hdfs://ns/x", 0.05)
    with pytest.raises(StorageTimeoutError, match=r"must write"):
        writer.write(b"abc")
    # Broken: closing must not wait once more.
    writer.close()


def test_closing_has_a_time_limit(release):
    writer = hdfs_client.GuardedWriter(HangingClient(release), "hdfs://ns/x", 0.05)
    with pytest.raises(StorageTimeoutError, match=r"must close"):
        writer.close()
    assert writer.closed


def test_broken_writer_is_not_closed_by_its_finalizer():
    """The one of hdfs-native is; pytest makes an error of what that raises."""

    class Inner(io.RawIOBase):
        def write(self, data):
            raise RuntimeError("Connection refused")

        def close(self):
            calls.append("close")
            raise RuntimeError("no lease")

    calls = []
    writer = hdfs_client.GuardedWriter(Inner(), "hdfs://ns/x", 1.0)
    with pytest.raises(StorageUnreachableError):
        writer.write(b"abc")
    writer.close()
    del writer
    gc.collect()
    assert calls == []


def test_time_out_is_what_callers_expect():
    assert issubclass(StorageTimeoutError, TimeoutError)
    assert issubclass(StorageTimeoutError, DataError)


def test_result_comes_back():
    assert hdfs_client.call_hdfs(1.0, "list", "hdfs://ns/x", lambda: 7) == 7


def _use_hdfs(queue):
    try:
        hdfs_client.call_hdfs(1.0, "list", "hdfs://ns/x", lambda: 7)
    except StorageError as error:
        queue.put(str(error))
    else:
        queue.put("no error")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_child_forked_after_use_is_refused():
    hdfs_client.refuse_after_fork("hdfs://ns/x")
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_use_hdfs, args=(queue,))
    child.start()
    message = queue.get()
    child.join()
    assert f"process {os.getpid()} had used it" in message
    assert "'spawn' or 'forkserver'" in message


@pytest.mark.parametrize(
    ("url", "path", "host", "port"),
    [
        ("hdfs://MyService/a/b", "/a/b", "MyService", None),
        ("hdfs://node:8020/a", "/a", "node", 8020),
        ("hdfs:///a", "/a", None, None),
        ("hdfs://ns", "/", "ns", None),
        ("hdfs://ns/a#b?c", "/a#b?c", "ns", None),
        ("/a/b", "/a/b", None, None),
    ],
)
def test_urls_are_taken_as_they_are(url, path, host, port):
    assert hdfs.GuardedHdfs._strip_protocol(url) == path
    if "://" in url:
        found = hdfs.GuardedHdfs._get_kwargs_from_urls(url)
        assert found == {"host": host, "port": port}


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a/../b", "/b"), ("/a/./b/", "/a/b"), ("/a/..b/.c.", "/a/..b/.c.")],
)
def test_dots_are_resolved_as_in_hadoop(monkeypatch, path, expected):
    monkeypatch.setattr(hdfs, "connect", lambda url, options: hdfs.GuardedHdfs)
    assert filesystem(f"hdfs://ns{path}")[1] == expected


def test_time_limit_must_be_positive():
    with pytest.raises(OptionError, match=r"timeout_s must be > 0, got 0.0"):
        hdfs.GuardedHdfs("ns", timeout_s=0)


class File:
    """What hdfs-native's files have for us."""

    def __init__(self, content):
        self._content = content

    def __len__(self):
        return len(self._content)

    def read_range(self, offset, n_bytes):
        if offset + n_bytes > len(self._content):
            raise RuntimeError("Connection refused")
        return self._content[offset : offset + n_bytes]


class Client:
    """What hdfs-native's client has for whoever reads a file."""

    def __init__(self, file):
        self._file = file

    def read(self, path):
        return self._file


def test_a_file_is_read_from_any_place():
    with guarded(lambda: Client(File(b"0123456789"))).read("/x") as file:
        assert file.seek(-3, io.SEEK_END) == 7
        assert file.read() == b"789"
        assert file.seek(2) == 2
        assert file.read(5) == b"23456"


def test_what_cannot_be_read_is_told_with_its_place():
    file = File(b"0123456789")
    with guarded(lambda: Client(file)).read("/x") as opened:
        file._content = b""
        with pytest.raises(StorageUnreachableError, match="hdfs://ns/x"):
            opened.read(1)


def test_writer_hands_on_every_byte():
    inner = io.BytesIO()
    writer = hdfs_client.GuardedWriter(inner, "hdfs://ns/x", 1.0)
    assert writer.write(memoryview(b"abc")) == 3
    assert inner.getvalue() == b"abc"
    writer.close()
    assert inner.closed


@pytest.mark.parametrize("url", ["hdfs://nobody-knows/x", "hdfs:///x", "viewfs://nn/x"])
def test_a_name_service_without_configuration_says_what_to_set(url, monkeypatch):
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    with pytest.raises(StorageError, match=r"/x: the .* Set HADOOP_CONF_DIR, which is"):
        hdfs.connect(url, {})


def test_what_is_set_wrongly_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(StorageError, match=rf"HADOOP_CONF_DIR, here '{tmp_path}'"):
        hdfs.connect("hdfs://nobody-knows/x", {})


class RefusingClient:
    """Knows nobody in its first calls."""

    def __init__(self, n_refusals):
        self.n_refusals = n_refusals

    def get_file_info(self, path):
        if self.n_refusals:
            self.n_refusals -= 1
            raise RuntimeError('GSSAPIError("GSS_S_FAILURE", "Ticket expired")')
        return path


def test_a_client_whose_ticket_ended_is_made_anew():
    made = [RefusingClient(1), RefusingClient(0)]
    client = guarded(iter(made).__next__)
    assert client.get_file_info("/x") == "/x"
    assert client._inner is made[1]


def test_a_client_is_made_anew_once_a_call():
    made = []
    client = guarded(lambda: made.append(RefusingClient(1)) or made[-1])
    with pytest.raises(StorageCredentialsError, match="Ticket expired"):
        client.get_file_info("/x")
    assert len(made) == 2


def test_other_errors_make_no_new_client():
    class Client:
        def get_file_info(self, path):
            raise RuntimeError("AccessControlException")

    made = []
    client = guarded(lambda: made.append(Client()) or made[-1])
    with pytest.raises(PermissionError):
        client.get_file_info("/x")
    assert len(made) == 1


@pytest.fixture
def keytab(tmp_path):
    path = tmp_path / "alice.keytab"
    path.touch()
    return path


@pytest.mark.parametrize("prefix", ["", "FILE:"])
def test_principal_and_keytab_reach_the_client(monkeypatch, keytab, prefix):
    made = []
    monkeypatch.setattr(
        hdfs, "Client", lambda *arguments, **named: made.append((arguments, named))
    )
    options = {
        "kerberos_principal": "alice@REALM",
        "kerberos_keytab": f"{prefix}{keytab}",
        "dfs.replication": 2,
    }
    hdfs.GuardedHdfs("nn", 8020, **options)
    login = {"kerberos_principal": "alice@REALM", "kerberos_keytab": str(keytab)}
    assert made == [(("hdfs://nn:8020", {"dfs.replication": "2"}), login)]


def test_they_travel_to_workers(keytab):
    options = {"kerberos_principal": "alice", "kerberos_keytab": str(keytab)}
    travelled = pickle.loads(pickle.dumps(hdfs.connect("hdfs://nn:8020", options)))
    assert travelled.storage_options == options


def test_a_principal_without_keytab_is_refused(keytab):
    for name, value in (("principal", "alice"), ("keytab", str(keytab))):
        with pytest.raises(OptionError, match="must be given together, got"):
            hdfs.GuardedHdfs("nn", 8020, **{f"kerberos_{name}": value})


def test_a_keytab_that_is_not_here_is_named(tmp_path):
    message = r"kerberos_keytab must be a file that can be read on every worker, got"
    with pytest.raises(StorageCredentialsError, match=message):
        hdfs.GuardedHdfs(
            "nn", 8020, kerberos_principal="alice", kerberos_keytab=f"{tmp_path}/none"
        )


def test_replication_and_block_size_are_those_of_files_that_are_written(monkeypatch):
    created = []
    monkeypatch.setattr(
        hdfs_client.GuardedClient,
        "create",
        lambda self, path, write_options: created.append(write_options) or io.BytesIO(),
    )
    options = {"replication": 2, "block_size": 1 << 20, "timeout_s": None}
    fs = hdfs.connect("hdfs://nn:8020", options)
    fs.open("/x", "wb").close()
    fs.open("/x", "wb", replication=1).close()
    assert [(one.replication, one.block_size) for one in created] == [
        (2, 1 << 20),
        (1, 1 << 20),
    ]


def test_block_size_is_none_of_reading(monkeypatch):
    monkeypatch.setattr(hdfs_client.GuardedClient, "read", lambda self, path: path)
    assert hdfs.connect("hdfs://nn:8020", {"block_size": 512}).open("/x") == "/x"
