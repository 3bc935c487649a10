"""A real HttpFS, Hadoop's gateway from HTTP to HDFS, in a process of its own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from tests.ports import free_port

_HERE = Path(__file__).parent
_MAIN = "org.apache.hadoop.fs.http.server.HttpFSServerWebServer"
_START_S = 120.0
_MAVEN_S = 600.0


@contextmanager
def httpfs(folder: Path, conf_dir: str, hadoop: str) -> Iterator[str]:
    """Run a gateway; yield its URL, ``webhdfs://host:port``.

    Parameters
    ----------
    folder : Path
        Empty; for its files.
    conf_dir : str
        Configuration of a client of the HDFS behind it, which must let this user speak
        for others.
    hadoop : str
        Version.
    """
    port = free_port()
    command = [*_java(folder, conf_dir, _jars(hadoop)), _MAIN]
    _write_configuration(folder, conf_dir, port)
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait_for(process, port, folder / "output")
        yield f"webhdfs://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=_START_S)


def _jars(hadoop: str) -> Path:
    """Return the folder of its jars, which Maven fetches once."""
    cache = os.environ.get("DASKDL_TESTBED_CACHE")
    root = Path(cache) if cache else Path.home() / ".cache" / "daskdl-testbed"
    jars = root / f"httpfs-{hadoop}"
    if jars.is_dir():
        return jars
    if shutil.which("mvn") is None:
        pytest.skip("no HttpFS: Maven, which fetches it, is not installed")
    # Under its name only when all are there.
    partly = jars.with_name(f"{jars.name}-{os.getpid()}")
    command = ["mvn", "-q", "-B", "-f", str(_HERE / "pom.xml")]
    command += [f"-Dhadoop.version={hadoop}", f"-DoutputDirectory={partly}"]
    command += [
        "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=_MAVEN_S)
    partly.rename(jars)
    return jars


def _java(folder: Path, conf_dir: str, jars: Path) -> list[str]:
    home = os.environ.get("JAVA_HOME")
    places = [folder / "config", folder / "classes", conf_dir, jars / "*"]
    return [
        f"{home}/bin/java" if home else "java",
        "-Xmx256m",
        "-Djava.net.preferIPv4Stack=true",
        # Its library of XML defines classes by reflection.
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        f"-Dhttpfs.home.dir={folder}",
        *(f"-Dhttpfs.{name}.dir={folder / name}" for name in ("config", "log", "temp")),
        "-cp",
        os.pathsep.join(map(str, places)),
    ]


def _write_configuration(folder: Path, conf_dir: str, port: int) -> None:
    for name in ("config", "log", "temp", "classes/webapps/webhdfs/WEB-INF"):
        (folder / name).mkdir(parents=True)
    shutil.copy(_HERE / "web.xml", folder / "classes/webapps/webhdfs/WEB-INF")
    secret = folder / "config" / "httpfs-signature.secret"
    secret.write_text("of the tests alone")
    values = {
        "httpfs.http.port": port,
        "httpfs.http.hostname": "127.0.0.1",
        "httpfs.hadoop.config.dir": conf_dir,
        "httpfs.authentication.signature.secret.file": secret,
    }
    rows = "".join(
        f"<property><name>{name}</name><value>{escape(str(value))}</value></property>"
        for name, value in values.items()
    )
    site = f"<configuration>{rows}</configuration>"
    (folder / "config" / "httpfs-site.xml").write_text(site)


def _wait_for(process: subprocess.Popen[bytes], port: int, output: Path) -> None:
    """Wait until it listens, which it does when it can answer."""
    deadline_s = time.monotonic() + _START_S
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise RuntimeError(f"HttpFS does not start: {output.read_text()[-3000:]}")
        time.sleep(0.1)
