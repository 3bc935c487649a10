"""Machine code on disk: the folder, the CPU that it is for, files, and loading.

Files of code are named by a digest of all that the code depends on, the CPU among it: a
home directory that machines share is safe. They carry a digest of what they hold and
are put in place in one step, so that processes may share a cold folder, too.
"""

import atexit
import functools
import hashlib
import importlib.metadata
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from daskdl.kernels.object_file import placed
from daskdl.kernels.private_folder import fault_of

_DIGEST_BYTES = 32
# LLVM's engines are made and filled by one thread at a time.
_lock = threading.RLock()
# The engines own the code: it must live as long as the functions.
_engines: list[Any] = []


@functools.cache
def cache_directory() -> Path | None:
    """Return the folder that compiled kernels are kept in.

    Returns
    -------
    path or None
        Below ``NUMBA_CACHE_DIR`` if that is set, else below the user's cache folder;
        a private temporary folder, removed at exit, if that is not writable, or, with
        a warning, if others could put code there; ``None``, with a warning, if there
        is none either. The name contains daskdl's version: numba looks at the file of a
        function only, not at what it calls.
    """
    name = f"daskdl-{importlib.metadata.version('daskdl')}"
    for parent in _cache_parents():
        directory = parent / name
        if not _is_writable(directory):
            continue
        fault = fault_of(directory)
        if fault is None:
            return directory
        warnings.warn(
            f"daskdl: {directory} is not used for compiled kernels, which are run: "
            f"{fault}. Give it to this user alone (chmod go-w), or set NUMBA_CACHE_DIR "
            "to a folder that nobody else may write.",
            RuntimeWarning,
            stacklevel=2,
        )
        break
    try:
        temporary = tempfile.mkdtemp(prefix=f"{name}-")
    except OSError as error:
        warnings.warn(
            f"daskdl: no folder is writable for compiled kernels ({error}), so every "
            f"process compiles them again. Set NUMBA_CACHE_DIR to one that is.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)


def host() -> tuple[str, str, str]:
    """Return what all machine code depends on: LLVM's version, CPU, its features."""
    from llvmlite import binding

    return (
        binding_version(),
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
    )


def digest_of_sources(sources: Iterable[Path]) -> str:
    """Return a digest of the program text that makes code."""
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def digest_of(*parts: object) -> str:
    """Return a digest of everything that code depends on, as it is spelled."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@functools.cache
def target_machine() -> Any:
    """Return LLVM's description of this CPU."""
    from llvmlite import binding

    # Later versions do it by themselves, and refuse to be asked.
    if tuple(map(int, binding_version().split(".")[:2])) < (0, 45):
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=3,
        jit=True,
    )


def binding_version() -> str:
    """Return the version of llvmlite."""
    import llvmlite

    version: str = llvmlite.__version__
    return version


def addresses_of(names: Sequence[str], code: bytes) -> list[int]:
    """Load object code, which stays loaded, and return where its parts lie."""
    addresses = placed(names, code)
    return _by_llvm(names, code) if addresses is None else addresses


def _by_llvm(names: Sequence[str], code: bytes) -> list[int]:
    from llvmlite import binding

    with _lock:
        engine = binding.create_mcjit_compiler(
            binding.parse_assembly(""), target_machine()
        )
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _engines.append(engine)
        return [engine.get_function_address(name) for name in names]


def kept_code(name: str, make: Callable[[], bytes]) -> bytes:
    """Return code from the folder, or make it and keep it there.

    Parameters
    ----------
    name : str
        A digest of everything that the code depends on.
    make : function
        Compiles; called if the code is missing or damaged.
    """
    directory = cache_directory()
    if directory is None:
        return make()
    path = directory / f"{name}.o"
    code = read_code(path)
    if code is None:
        code = make()
        write_code(path, code)
    return code


def read_code(path: Path) -> bytes | None:
    """Return the code in a file; None if it is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, code = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == digest else None


def write_code(path: Path, code: bytes) -> None:
    """Put a file in its place in one step: processes may write the same one."""
    try:
        # A folder of its own: what is half-written goes away with it.
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            file = Path(folder, path.name)
            file.write_bytes(hashlib.sha256(code).digest() + code)
            file.replace(path)
    except OSError:
        # A full disk costs time at the next start and nothing else.
        return


def _cache_parents() -> list[Path]:
    named = (os.environ.get(name) for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"))
    parents = [Path(folder) for folder in named if folder]
    try:
        parents.append(Path.home() / ".cache")
    except RuntimeError:
        # A user without an entry in the password database has no home.
        return parents
    return parents


def _is_writable(directory: Path) -> bool:
    try:
        # Nobody else may put code here: what lies in the cache is run.
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False
