"""A real HDFS with Kerberos: tickets from keytabs, that end, and tokens."""

import os
import subprocess
import sys
import time

import pytest
from distributed import Client, LocalCluster

from daskdl_bridge.errors import StorageCredentialsError
from daskdl_bridge.storage import filesystem
from tests.hdfs.conftest import load_minihdfs, run_java

# The library fetches another ticket after half of it.
TICKET_S = 15


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """An HDFS with two NameNodes that wants tickets, which live a few seconds here."""
    pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
    minihdfs = load_minihdfs()
    cluster = minihdfs.MiniHDFS(
        tmp_path_factory.mktemp("kerberos"), ha=True, kerberos="privacy"
    )
    try:
        cluster.start()
    except minihdfs.HDFSError as error:
        pytest.skip(f"the mini HDFS does not start: {error}")
    yield cluster
    cluster.stop()


@pytest.fixture
def nobody(secure, tmp_path, monkeypatch):
    """The environment of a process without ticket, keytab or token."""
    with open(secure.state["kerberos"]["krb5_conf"]) as file:
        long = file.read()
    short = f"[libdefaults]\n    ticket_lifetime = {TICKET_S}s\n    clockskew = 1\n"
    (tmp_path / "krb5.conf").write_text(long.replace("[libdefaults]\n", short))
    monkeypatch.setenv("HADOOP_CONF_DIR", secure.conf_dir)
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'tickets'}")
    monkeypatch.delenv("KRB5_CLIENT_KTNAME", raising=False)
    monkeypatch.delenv("HADOOP_TOKEN_FILE_LOCATION", raising=False)
    return tmp_path


def login_of(secure):
    kerberos = secure.state["kerberos"]
    return {
        "kerberos_principal": kerberos["principal"],
        "kerberos_keytab": kerberos["keytab"],
    }


def take_over(secure):
    """Kill the active NameNode: clients log in at the other one."""
    active = int(secure.command("active"))
    secure.command("failover", "kill")
    secure.command("start-namenode", active)


def kinit(secure):
    """Put a ticket into the cache, in a process of its own, as kinit does."""
    program = (
        "import sys; from hdfs_native import Client; Client(sys.argv[1]).mkdirs('/tmp')"
    )
    keytab = secure.state["kerberos"]["keytab"]
    subprocess.run(
        [sys.executable, "-c", program, secure.uri],
        env={**os.environ, "KRB5_CLIENT_KTNAME": f"FILE:{keytab}"},
        check=True,
    )


def test_without_a_ticket_what_to_do_is_told(secure, nobody):
    fs, path = filesystem(f"{secure.uri}/tmp", {"timeout_s": 51})
    message = r"hdfs://mini/tmp: .*kinit, .*KRB5_CLIENT_KTNAME=FILE:.*NO_CRED"
    with pytest.raises(StorageCredentialsError, match=message):
        fs.ls(path)


def read_until(seconds, url, options):
    """Read a file again and again, as a task does."""
    fs, path = filesystem(url, options)
    end = time.monotonic() + seconds
    found = set()
    while time.monotonic() < end:
        found.add(fs.cat_file(path))
        time.sleep(0.2)
    return found


@pytest.mark.timeout(180)
@pytest.mark.parametrize("way", ["storage_options", "environment"])
def test_a_worker_outlives_its_tickets(secure, nobody, monkeypatch, way):
    """Two tickets end, then a NameNode that it has not logged in at takes over."""
    options = {}
    if way == "storage_options":
        options = login_of(secure)
    else:
        keytab = secure.state["kerberos"]["keytab"]
        monkeypatch.setenv("KRB5_CLIENT_KTNAME", f"FILE:{keytab}")
    url = f"{secure.uri}/tmp/{way}"
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as workers,
        Client(workers) as client,
    ):
        fs, path = filesystem(url, {**options, "timeout_s": 50})
        fs.pipe_file(path, b"digits")
        assert fs.info(path)["owner"] == "alice"
        reading = client.submit(read_until, 3 * TICKET_S, url, options)
        time.sleep(2 * TICKET_S)
        take_over(secure)
        assert reading.result(timeout=120) == {b"digits"}


@pytest.mark.timeout(120)
def test_a_ticket_that_ended_is_told_and_another_one_taken(secure, nobody, monkeypatch):
    kinit(secure)
    fs, path = filesystem(f"{secure.uri}/tmp", {"timeout_s": 52})
    fs.ls(path)
    time.sleep(TICKET_S + 2)
    take_over(secure)
    with pytest.raises(StorageCredentialsError, match=r"kinit, .*Ticket expired"):
        fs.ls(path)
    # This one lives long: a NameNode that starts keeps a busy machine for a while.
    monkeypatch.setenv("KRB5_CONFIG", secure.state["kerberos"]["krb5_conf"])
    kinit(secure)
    assert fs.info(path)["type"] == "directory"


@pytest.fixture
def token(secure, nobody, monkeypatch):
    """A file with a delegation token, as YARN gives one to each container."""
    monkeypatch.setenv("KRB5_CONFIG", secure.state["kerberos"]["krb5_conf"])
    kinit(secure)
    path = nobody / "token"
    # Java takes no FILE: before the name.
    monkeypatch.setenv("KRB5CCNAME", str(nobody / "tickets"))
    run_java(secure.conf_dir, "DelegationTokenFetcher", "--renewer", "alice", str(path))
    (nobody / "tickets").unlink()
    return path


@pytest.mark.timeout(120)
def test_a_token_stands_for_a_ticket(secure, token, monkeypatch):
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(token))
    fs, path = filesystem(f"{secure.uri}/tmp/token", {"timeout_s": 53})
    fs.pipe_file(path, b"digits")
    assert fs.cat_file(path) == b"digits"
    assert fs.info(path)["owner"] == "alice"
