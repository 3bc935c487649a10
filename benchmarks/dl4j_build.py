"""Build the process that times DL4J: Maven fetches DL4J, javac compiles the sources.

The result lies in the user's cache folder, under a name made of the sources, and is
used again. A JDK (11 or newer), Maven and Linux on x86-64 are needed.
"""

import hashlib
import os
import platform
import shutil
import subprocess
from pathlib import Path

from benchmarks.child import PeerError
from benchmarks.machine import description

VERSION = "1.0.0-M2.1"
_PROJECT = Path(__file__).parent / "dl4j"
# The first time, Maven fetches half a gigabyte.
_BUILD_TIMEOUT_S = 1800
_CLASS_PATH = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"


def command(*, is_repaired: bool) -> list[str]:
    """Return what starts the process; build it first if that was not done.

    Parameters
    ----------
    is_repaired : bool
        Whether DL4J finds its oneDNN helpers, which as released it does not.

    Raises
    ------
    PeerError
        If it cannot be built here; the message says why.
    """
    folder = _built()
    libraries = (folder / "libraries.txt").read_text().strip()
    parts = [str(folder / "classes"), libraries]
    options = []
    if is_repaired:
        parts.insert(0, str(folder / "standin"))
        options.append("-Dorg.eclipse.deeplearning4j.helpers.disable=false")
    # Off the heap; by default as much as the heap may have.
    options.append("-Dorg.bytedeco.javacpp.maxbytes=8G")
    options.append("-Dorg.bytedeco.javacpp.maxphysicalbytes=16G")
    return ["java", *options, "-cp", ":".join(parts), "bench.Server", VERSION]


def repairs() -> dict[str, str]:
    """Return variables without which DL4J would not use what the processor has.

    Its OpenBLAS, of 2021, takes newer processors with AVX-512 for old ones without any
    wide vectors: a step of the MLP takes three times as long then.
    """
    if description()["vectors"] != "avx512f" or "OPENBLAS_CORETYPE" in os.environ:
        return {}
    return {"OPENBLAS_CORETYPE": "SkylakeX"}


def _built() -> Path:
    """Return the folder of the classes, which is made at once or not at all."""
    _check_platform()
    sources = sorted(_PROJECT.rglob("*.java"))
    classifier = _classifier()
    digest = hashlib.sha256(classifier.encode())
    for path in [_PROJECT / "pom.xml", *sources]:
        digest.update(path.read_bytes())
    folder = _cache() / f"dl4j-{digest.hexdigest()[:16]}"
    if folder.exists():
        return folder
    building = folder.with_name(f"{folder.name}.{os.getpid()}")
    building.mkdir(parents=True)
    try:
        _build(building, sources, classifier)
        building.rename(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return folder


def _check_platform() -> None:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise PeerError("is only run on Linux on x86-64")
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        raise PeerError(f"needs {', '.join(missing)} on the path")


def _classifier() -> str:
    vectors = "avx512" if description()["vectors"] == "avx512f" else "avx2"
    return f"linux-x86_64-onednn-{vectors}"


def _cache() -> Path:
    parent = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(parent) / "daskdl-benchmarks"


def _build(folder: Path, sources: list[Path], classifier: str) -> None:
    libraries = folder / "libraries.txt"
    _run(
        "mvn",
        "-q",
        "-B",
        "-f",
        str(_PROJECT / "pom.xml"),
        f"-Ddl4j={VERSION}",
        f"-Dnatives={classifier}",
        "-Djavacpp.platform=linux-x86_64",
        _CLASS_PATH,
        f"-Dmdep.outputFile={libraries}",
    )
    stand_in = [str(path) for path in sources if "standin" in path.parts]
    server = [str(path) for path in sources if "standin" not in path.parts]
    javac = ("javac", "-nowarn", "-proc:none", "--release", "11")
    class_path = libraries.read_text().strip()
    _run(*javac, "-d", str(folder / "standin"), *stand_in)
    _run(*javac, "-cp", class_path, "-d", str(folder / "classes"), *server)


def _run(*command: str) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_BUILD_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(f"cannot be built: {error}") from error
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if "ERROR" in line.upper()]
        said = (lines or done.stdout.splitlines() or ["nothing"])[0]
        raise PeerError(f"cannot be built: {command[0]} says {said.strip()}")
