"""Machine code of loop nests: compiled once for a kind of CPU, kept on disk, called.

The folder of compiled code is that of :func:`daskdl.kernels.jit.cache_directory`. The
name of a file is a digest of everything that the code depends on: the nest, this
package's generator, LLVM, and the CPU with its features. A home directory that
machines share is safe.
"""

import ctypes
import functools
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from daskdl.kernels.jit import cache_directory
from daskdl.kernels.tiles.machine import VectorUnit, vector_unit
from daskdl.kernels.tiles.nest import Program

Native: TypeAlias = Callable[..., None]

_DIGEST_BYTES = 32
# LLVM's engines are made and filled by one thread at a time.
_lock = threading.RLock()
_loaded: dict[tuple[Program, VectorUnit], Native] = {}
# The engines own the code: it must live as long as the functions.
_engines: list[Any] = []


def native(program: Program, unit: VectorUnit | None = None) -> Native:
    """Return a program as a function.

    Parameters
    ----------
    program : Program
        What is done for each example.
    unit : VectorUnit, optional
        Registers to use; those of this CPU by default.

    Returns
    -------
    function
        Takes the addresses of the program's arguments and the number of examples. It
        checks nothing, and releases the GIL.
    """
    key = (program, unit or vector_unit())
    function = _loaded.get(key)
    if function is None:
        with _lock:
            function = _loaded.get(key)
            if function is None:
                function = _load(*key)
                _loaded[key] = function
    return function


def _load(program: Program, unit: VectorUnit) -> Native:
    from llvmlite import binding

    from daskdl.kernels.tiles.writer import FUNCTION

    code = _kept_code(program, unit)
    engine = binding.create_mcjit_compiler(
        binding.parse_assembly(""), _target_machine()
    )
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    arguments = [ctypes.c_int64] * (program.n_arguments + 1)
    kind = ctypes.CFUNCTYPE(None, *arguments)
    return kind(engine.get_function_address(FUNCTION))


def _kept_code(program: Program, unit: VectorUnit) -> bytes:
    """Return the object code from the folder, or compile it and keep it there."""
    directory = cache_directory()
    path = None if directory is None else directory / f"{_name(program, unit)}.o"
    if path is not None:
        code = _read(path)
        if code is not None:
            return code
    code = _compiled(program, unit)
    if path is not None:
        _write(path, code)
    return code


def _compiled(program: Program, unit: VectorUnit) -> bytes:
    from llvmlite import binding

    from daskdl.kernels.tiles.emit import emit

    module = binding.parse_assembly(emit(program, unit))
    module.verify()
    code: bytes = _target_machine().emit_object(module)
    return code


@functools.cache
def _target_machine() -> Any:
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


def _name(program: Program, unit: VectorUnit) -> str:
    return hashlib.sha256(f"{_platform()}{unit}{program}".encode()).hexdigest()


@functools.cache
def _platform() -> str:
    """Return what compiled code depends on beside the program."""
    from llvmlite import binding

    digest = hashlib.sha256()
    for part in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(part.read_bytes())
    return repr(
        (
            digest.hexdigest(),
            binding_version(),
            binding.get_host_cpu_name(),
            binding.get_host_cpu_features().flatten(),
        )
    )


def _read(path: Path) -> bytes | None:
    """Return the code in a file; None if it is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, code = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == digest else None


def _write(path: Path, code: bytes) -> None:
    """Put a file in its place in one step: processes may write the same one."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(code).digest() + code)
        Path(temporary).replace(path)
    except OSError:
        # A full disk costs time at the next start and nothing else.
        return
