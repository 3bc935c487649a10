"""The recipes of docs/guide/deploy.md that need no machines but this one."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from socket import create_server
from typing import Any

import pytest

from tests.guide_blocks import ROOT, blocks, commands
from tests.left_processes import left_with

DEPLOY = ROOT / "examples" / "deploy"
# Clusters, of processes that begin one after another.
pytestmark = pytest.mark.timeout(300)
MARK = "DASKDL_TEST_OF_DEPLOYMENT"
PROGRAMS = Path(sys.executable).parent
# A job is a process group here, and its number that of the group. Its script is read
# before sbatch ends, as SLURM does: dask-jobqueue deletes it then.
SBATCH = f"""#!{sys.executable}
import os, subprocess, sys
folder = os.environ["{MARK}"]
with open(sys.argv[1]) as file:
    script = file.read()
with open(folder + "/jobs.log", "a") as log:
    job = subprocess.Popen(
        ["bash", "-c", script],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
    )
with open(folder + "/jobs", "a") as jobs:
    print(job.pid, file=jobs)
print("Submitted batch job", job.pid)
"""
SCANCEL = f"""#!{sys.executable}
import contextlib, os, signal, sys
for job in sys.argv[1:]:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(int(job), signal.SIGTERM)
"""


def run(words: list[Any], environment: dict[str, str], log: Path | None = None) -> str:
    """Run a command to its good end, and return what it wrote.

    A failure shows the log, too: what the processes of others wrote.
    """
    done = subprocess.run(
        words, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    logged = log.read_text() if log is not None and log.exists() else ""
    assert done.returncode == 0, done.stdout + done.stderr + logged
    return done.stdout


def test_workers_that_slurm_starts_train_and_are_canceled(tmp_path: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    for name, text in {"sbatch": SBATCH, "scancel": SCANCEL}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        MARK: str(tmp_path),
    }
    log = tmp_path / "jobs.log"
    told = run([sys.executable, DEPLOY / "on_slurm.py"], environment, log)
    (accuracy,) = re.findall(r"Accuracy: +([\d.]+)", told)
    assert float(accuracy) > 0.95
    # Two that were asked for, and at least one for a fit that wants three.
    assert len((tmp_path / "jobs").read_text().split()) >= 3
    assert left_with(MARK, str(tmp_path)) == []
    # Those of certificates, too.
    names = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert names == {"sbatch", "scancel", "jobs", "jobs.log"}


def started_by(unit: str) -> list[str]:
    """Return the command of a service, with the programs of this environment."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read(DEPLOY / unit)
    _, *words = shlex.split(parser["Service"]["ExecStart"])
    return [str(PROGRAMS / "dask"), *words]


def stood_in(words: list[str], known: dict[str, str]) -> list[str]:
    return [known.get(word, word) for word in words]


@contextmanager
def service(words: list[str], environment: dict[str, str]) -> Iterator[None]:
    """Have a service until the block ends, and then end it as systemd does."""
    with subprocess.Popen(words, env=environment) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def test_services_with_certificates_train(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made with openssl")
    page = blocks("sh", page="docs/guide/deploy.md")
    lines = [line for block in page for line in commands(block)]
    (made,) = (line for line in lines if line.startswith("openssl "))
    subprocess.run(shlex.split(made), cwd=tmp_path, check=True, capture_output=True)
    settings = (DEPLOY / "dask.yaml").read_text(encoding="utf-8")
    (tmp_path / "dask.yaml").write_text(
        settings.replace("/etc/dask/", f"{tmp_path.resolve()}/")
    )
    with closing(create_server(("127.0.0.1", 0))) as free:
        port = str(free.getsockname()[1])
    address = f"tls://127.0.0.1:{port}"
    known = {
        "8786": port,
        "127.0.0.1:8787": "127.0.0.1:0",
        "tls://scheduler.example.com:8786": address,
        "/var/tmp/daskdl": str(tmp_path / "workers"),
        "--nworkers": "--nworkers=2",
        "4": "--host=127.0.0.1",
        "4GiB": "1GiB",
    }
    environment = {**os.environ, "DASK_CONFIG": str(tmp_path), MARK: str(tmp_path)}
    scheduler = stood_in(started_by("dask-scheduler.service"), known)
    workers = stood_in(started_by("dask-worker.service"), known)
    with service(scheduler, environment), service(workers, environment):
        job = ROOT / "examples" / "digits" / "job.yaml"
        words = [job, "training.epochs=2", "--scheduler", address]
        output = ["--output", tmp_path / "run"]
        run([PROGRAMS / "daskdl", "run", *words, *output], environment)
        told = run([PROGRAMS / "daskdl", "doctor", "--scheduler", address], environment)
        assert "2 workers reach each other" in " ".join(told.split())
    assert left_with(MARK, str(tmp_path)) == []
