"""Compiles the program in java/ with Maven, once for each state of its sources."""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent / "java"
# On a fresh machine Maven fetches 160 MB first.
PATIENCE_S = 900

_SYSTEMS = {"Linux": "linux", "Darwin": "macosx", "Windows": "windows"}
_MACHINES = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "arm64"}


class BuildError(Exception):
    """There is no JDK or Maven, or Maven failed."""


def classpath():
    """Return the classpath of the compiled program; compile it if need be.

    Raises
    ------
    BuildError
        If that cannot be done on this machine.
    """
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise BuildError(f"DL4J needs {program} on the PATH")
    home = _cache() / f"dl4j-{_fingerprint()}"
    if not _is_complete(home):
        _build(home)
    jars = (home / "classpath.txt").read_text("utf-8").strip()
    return os.pathsep.join([str(home / "classes"), jars])


def _build(home):
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        _run_maven(Path(folder))
        # Whole at once: a run that is killed must not leave half a build.
        shutil.rmtree(home, ignore_errors=True)
        shutil.move(folder, home)
        # What the context manager removes.
        Path(folder).mkdir()


def _run_maven(folder):
    command = [
        *("mvn", "--quiet", "--batch-mode", "--file", str(SOURCES / "pom.xml")),
        f"-Dbuild.folder={folder}",
        f"-Djavacpp.platform={_platform()}",
        *("compile", "dependency:build-classpath"),
        f"-Dmdep.outputFile={folder / 'classpath.txt'}",
    ]
    try:
        subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"Maven took more than {PATIENCE_S} s") from error
    except subprocess.CalledProcessError as error:
        said = (error.stdout + error.stderr).strip().splitlines()
        raise BuildError("Maven failed: " + " ".join(said[:5])) from error


def _is_complete(home):
    listed = home / "classpath.txt"
    if not listed.is_file():
        return False
    jars = listed.read_text("utf-8").strip().split(os.pathsep)
    return all(Path(jar).is_file() for jar in jars)


def _fingerprint():
    digest = hashlib.sha256(_platform().encode())
    for path in sorted(SOURCES.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(SOURCES).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _platform():
    system, machine = platform.system(), platform.machine()
    return f"{_SYSTEMS.get(system, system)}-{_MACHINES.get(machine, machine)}"


def _cache():
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "daskdl-testbed"
