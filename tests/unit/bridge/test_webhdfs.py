"""HDFS over HTTP against a server that answers what a test says."""

import json
import pickle
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("requests", reason="requests is not installed")

from daskdl.errors import (
    MissingExtraError,
    OptionError,
    SourceNotFoundError,
)
from daskdl_bridge.errors import (
    StorageCredentialsError,
    StorageError,
    StoragePermissionError,
    StorageQuotaError,
    StorageTimeoutError,
    StorageUnreachableError,
)
from daskdl_bridge.storage import filesystem, url_of


class Server(ThreadingHTTPServer):
    """Answers each operation with what ``answers`` holds: status and body."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {}
        self.asked = []
        self.release = threading.Event()

    @property
    def url(self):
        return f"webhdfs://127.0.0.1:{self.server_port}"

    def refuse(self, operation, status, exception, message="why"):
        told = {"exception": exception, "message": message}
        self.answers[operation] = status, {"RemoteException": told}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.server.asked.append((parts.path, query))
        answer = self.server.answers[query["op"]]
        if answer is None:
            self.server.release.wait(30)
            return
        status, body = answer
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def fs(server):
    return filesystem(server.url, {"user": "alice"})[0]


FILE = {"type": "FILE", "length": 6, "modificationTime": 1700000000123}


def test_an_entry_has_what_fingerprints_look_at(server, fs):
    server.answers["GETFILESTATUS"] = 200, {"FileStatus": FILE}
    info = fs.info("/a#b?c")
    assert (info["size"], info["type"]) == (6, "file")
    assert info["modification_time"] == 1700000000123
    assert server.asked == [
        ("/webhdfs/v1/a%23b%3Fc", {"op": "GETFILESTATUS", "user.name": "alice"})
    ]


def test_whoever_runs_this_is_the_user_unless_told(server, monkeypatch):
    monkeypatch.setenv("HADOOP_USER_NAME", "bob")
    server.answers["GETFILESTATUS"] = 200, {"FileStatus": FILE}
    filesystem(server.url)[0].info("/x")
    filesystem(server.url, {"token": "secret"})[0].info("/x")
    assert [query.get("user.name") for _, query in server.asked] == ["bob", None]


@pytest.mark.parametrize(
    ("status", "exception", "kind", "message"),
    [
        (
            403,
            "AccessControlException",
            StoragePermissionError,
            "no permission to list",
        ),
        (403, "StandbyException", StorageUnreachableError, "all are standby"),
        (403, "DSQuotaExceededException", StorageQuotaError, "no quota is left"),
        (403, "SafeModeException", StorageError, "must have left safe mode"),
        (404, "FileNotFoundException", SourceNotFoundError, "it must exist"),
        (401, "AuthenticationException", StorageCredentialsError, "kerberos: true"),
        (500, "NewException", StorageError, "HDFS could not list: NewException: why"),
    ],
)
def test_refusals_are_told_apart(server, fs, status, exception, kind, message):
    server.refuse("LISTSTATUS", status, exception)
    with pytest.raises(kind, match=rf"{server.url}/x: .*{message}"):
        fs.ls("/x")


def test_an_answer_of_something_else_is_told(server, fs):
    server.answers["LISTSTATUS"] = 502, b"<html>Bad gateway</html>"
    with pytest.raises(StorageError, match=r"could not list: : status 502"):
        fs.ls("/x")


def test_every_request_has_a_time_limit(server):
    server.answers["LISTSTATUS"] = None
    fs, path = filesystem(f"{server.url}/x", {"timeout_s": 0.05})
    with pytest.raises(StorageTimeoutError, match=rf"{server.url}/x: .*within 0.05 s"):
        fs.ls(path)


def test_nobody_at_the_address_is_told(server):
    server.shutdown()
    server.server_close()
    fs, path = filesystem(f"{server.url}/x")
    with pytest.raises(
        StorageUnreachableError, match=rf"{server.url}/x: a server must"
    ):
        fs.ls(path)


def test_a_piece_that_is_cut_off_is_no_end_of_file(server, fs):
    server.answers["GETFILESTATUS"] = 200, {"FileStatus": FILE}
    server.answers["OPEN"] = 200, b"dig"
    message = r"/x: HDFS must give 6 bytes from byte 0 on, it broke off after 3"
    with pytest.raises(StorageError, match=message):
        fs.cat_file("/x")


def test_a_rename_that_was_not_done_is_no_success(server, fs):
    server.answers["RENAME"] = 200, {"boolean": False}
    server.answers["GETFILESTATUS"] = 200, {"FileStatus": FILE}
    with pytest.raises(FileExistsError, match=r"/b: nothing may be there yet"):
        fs.mv("/a", "/b")
    server.refuse("GETFILESTATUS", 404, "FileNotFoundException")
    with pytest.raises(SourceNotFoundError, match=r"/a: to look up it, it must exist"):
        fs.mv("/a", "/b")


def test_replacing_is_one_operation_of_a_namenode(server, fs):
    server.answers["RENAME"] = 200, b""
    fs.mv("/a", "/b", overwrite=True)
    ((path, query),) = server.asked
    assert path == "/webhdfs/v1/a"
    assert (query["destination"], query["renameoptions"]) == ("/b", "OVERWRITE")


def test_a_file_system_travels_with_its_limit_and_address(server):
    fs, _ = filesystem(server.url, {"timeout_s": 7.0})
    travelled = pickle.loads(pickle.dumps(fs))
    assert (travelled.timeout_s, url_of(travelled, "/x")) == (7.0, f"{server.url}/x")


def test_encryption_is_by_the_scheme():
    fs, path = filesystem("swebhdfs://gateway:14000/a/../b")
    assert fs.url == "https://gateway:14000/webhdfs/v1"
    assert (path, url_of(fs, path)) == ("/b", "swebhdfs://gateway:14000/b")


@pytest.mark.parametrize("url", ["webhdfs://mini/x", "webhdfs:///x"])
def test_host_and_port_must_be_given(url):
    with pytest.raises(OptionError, match=rf"{url}: host and port .*must be given"):
        filesystem(url)


def test_time_limit_must_be_positive(server):
    with pytest.raises(OptionError, match=r"timeout_s must be > 0, got 0.0"):
        filesystem(server.url, {"timeout_s": 0})


def test_missing_requests_is_named_with_the_command(monkeypatch):
    monkeypatch.delitem(sys.modules, "daskdl_bridge.webhdfs", raising=False)
    monkeypatch.setitem(sys.modules, "requests", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'daskdl\[webhdfs\]'"):
        filesystem("webhdfs://namenode:9870/x")


def test_missing_kerberos_package_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "requests_kerberos", None)
    with pytest.raises(MissingExtraError, match=r"pip install requests-kerberos"):
        filesystem("webhdfs://namenode:9870/x", {"kerberos": True})
