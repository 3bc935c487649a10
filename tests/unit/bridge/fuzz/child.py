"""The process that fuzzes: it may hang or die, and says before each attempt which."""

import ctypes
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.sharedctypes import Value as shared_value
from pathlib import Path
from random import Random
from typing import Any

from tests.unit.bridge.fuzz.attempts import (
    SEEDS,
    Attempt,
    attempt_of,
    read_or_refuse,
    read_saved,
)
from tests.unit.bridge.fuzz.hostile_pickles import NEVER_IMPORTED, registered_extension

__all__ = ["MOST_GROWTH_BYTES", "Progress", "fuzz"]

MOST_GROWTH_BYTES = 300 << 20
"""What memory an attempt may take more than the seeds took, whole."""

# Address space beyond what is there at the start: what asks for more is a finding,
# even if it would not be touched.
_ADDRESS_BYTES = 2 << 30
_SAVED_OF_A_KIND = 3

# What no reader does, and code that a pickle names may.
_FORBIDDEN = frozenset(
    {
        *(
            "os.system",
            "os.exec",
            "os.posix_spawn",
            "os.fork",
            "os.remove",
            "os.rename",
        ),
        *("os.mkdir", "os.rmdir", "subprocess.Popen", "pickle.find_class", "exec"),
        *("compile", "socket.connect", "ctypes.dlopen", "shutil.rmtree"),
    }
)


class Progress:
    """Numbers that the parent reads while the child works.

    Attributes
    ----------
    n_attempts, n_findings : int
    cpu_s : float
        Of the child, when it began its attempt.
    base_bytes, peak_bytes : int
        Memory after the seeds, and the most so far.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, Synchronized[Any]] = {
            name: shared_value(kind, 0)
            for name, kind in (
                ("n_attempts", ctypes.c_uint64),
                ("n_findings", ctypes.c_uint64),
                ("cpu_s", ctypes.c_double),
                ("base_bytes", ctypes.c_uint64),
                ("peak_bytes", ctypes.c_uint64),
            )
        }

    def __getitem__(self, name: str) -> Any:
        return self._numbers[name].value

    def __setitem__(self, name: str, value: float) -> None:
        self._numbers[name].value = value


def fuzz(reader: str, seed: int, folder: Path, progress: Progress) -> None:
    """Make and read damaged files until the process is ended, or memory is used up.

    Of each damaged stream decoders of others lose some address space that was never
    touched: where half of what there is went so, a fresh process goes on.

    Parameters
    ----------
    reader : str
        A key of `SEEDS`.
    seed : int
    folder : Path
        ``current`` in it has the attempt at hand, ``found-...`` what was found.
    progress : Progress
        Told before each attempt and behind it.
    """
    warnings.simplefilter("error")
    seeds, random = SEEDS[reader](), Random(seed)
    _read_whole(seeds)
    heard = _listen()
    progress["base_bytes"] = _peak_bytes()
    hard, first_bytes = resource.getrlimit(resource.RLIMIT_AS)[1], _address_bytes()
    resource.setrlimit(resource.RLIMIT_AS, (first_bytes + _ADDRESS_BYTES, hard))
    kinds: Counter[str] = Counter()
    with (
        registered_extension(),
        tempfile.TemporaryDirectory(dir=folder, prefix="current-") as current,
    ):
        while (
            _peak_bytes() - progress["base_bytes"] <= MOST_GROWTH_BYTES
            and _address_bytes() - first_bytes <= _ADDRESS_BYTES // 2
        ):
            attempt = attempt_of(random.choice(seeds), random)
            progress["cpu_s"] = time.process_time()
            trouble = _trouble(attempt, Path(current), heard)
            grown = _peak_bytes() - progress["base_bytes"]
            if grown > MOST_GROWTH_BYTES:
                trouble = f"memory\n{grown} bytes more than with whole files\n{trouble}"
            progress["n_attempts"] += 1
            progress["peak_bytes"] = max(progress["peak_bytes"], _peak_bytes())
            if trouble:
                progress["n_findings"] += 1
                _save(attempt, trouble, kinds, folder / f"found-{seed}")


def _read_whole(seeds: list[Any]) -> None:
    """Read seeds with all their options: they must be right, and load what is late."""
    with tempfile.TemporaryDirectory() as folder:
        for index, seed in enumerate(seeds):
            for options in seed.options:
                files = {seed.name: seed.whole(), **seed.beside}
                # Pieces are read by what whole short files are not.
                for how, range_bytes in (("open", None), ("look", None), ("open", 64)):
                    attempt = Attempt(
                        files=files, options=options, how=how, range_bytes=range_bytes
                    )
                    read_or_refuse(attempt, Path(folder) / str(index))


def _listen() -> list[str]:
    heard: list[str] = []

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        is_named = event == "import" and arguments[0] == NEVER_IMPORTED
        if not is_named and event not in _FORBIDDEN:
            return
        stack = "".join(traceback.format_stack(limit=20))
        # What is imported late runs its code, and then only.
        if is_named or "importlib._bootstrap" not in stack:
            heard.append(f"event {event}\n{arguments!r:.200}\n{stack}")

    sys.addaudithook(hear)
    return heard


def _trouble(attempt: Attempt, folder: Path, heard: list[str]) -> str:
    """Read, and return what must not have come of it; nothing if all is right."""
    attempt.save(folder)
    heard.clear()
    try:
        read_saved(attempt, folder)
    except Exception as error:  # noqa: BLE001 - whatever comes is what is looked for
        return f"{_place_of(error)}\n" + "".join(traceback.format_exception(error))
    return heard[0] if heard else ""


def _place_of(error: BaseException) -> str:
    """Return what tells one kind of finding from others: the error and its line."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if "daskdl" in one.filename.rpartition("/")[0]]
    last = (own or frames)[-1]
    return f"{type(error).__name__} {Path(last.filename).name}:{last.lineno}"


def _save(attempt: Attempt, trouble: str, kinds: Counter[str], folder: Path) -> None:
    kind = trouble.partition("\n")[0]
    kinds[kind] += 1
    if kinds[kind] > _SAVED_OF_A_KIND:
        return
    place = folder / f"{len(kinds)}-{kinds[kind]}"
    place.mkdir(parents=True)
    attempt.save(place)
    (place / "trouble.txt").write_text(trouble, "utf-8", "backslashreplace")


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _address_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
