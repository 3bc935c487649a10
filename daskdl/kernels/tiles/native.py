"""Machine code of loop nests: compiled once for a kind of CPU, kept on disk, called.

The folder is that of :func:`daskdl.kernels.machine_code.cache_directory`. The name of a
file is a digest of everything that the code depends on: the nest, this package's
generator, the functions of numbers, LLVM, and the CPU with its features.
"""

import ctypes
import functools
import importlib.util
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from daskdl.kernels.machine_code import (
    addresses_of,
    digest_of,
    digest_of_sources,
    host,
    kept_code,
    target_machine,
)
from daskdl.kernels.tiles.machine import VectorUnit, vector_unit
from daskdl.kernels.tiles.nest import FUNCTION, Pointwise, Program

Native: TypeAlias = Callable[..., None]

# One thread compiles at a time, and the others find what it made.
_lock = threading.RLock()
_loaded: dict[tuple[Program, VectorUnit], Native] = {}


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
    arguments = [ctypes.c_int64] * (program.n_arguments + 1)
    kind = ctypes.CFUNCTYPE(None, *arguments)
    code = kept_code(_name(program, unit), lambda: _compiled(program, unit))
    (address,) = addresses_of([FUNCTION], code)
    return kind(address)


def _compiled(program: Program, unit: VectorUnit) -> bytes:
    from llvmlite import binding

    from daskdl.kernels.tiles.emit import emit

    module = binding.parse_assembly(emit(program, unit))
    module.verify()
    code: bytes = target_machine().emit_object(module)
    return code


def _name(program: Program, unit: VectorUnit) -> str:
    """Return a digest of what the code of a program depends on."""
    modules = {
        statement.function.partition(":")[0]
        for statement in program.statements
        if isinstance(statement, Pointwise)
    }
    sources = [_source(module) for module in sorted(modules)]
    return digest_of(_platform(), unit, program, *sources)


@functools.cache
def _source(module: str) -> str:
    """Return a digest of a module's text, without importing it."""
    spec = importlib.util.find_spec(module)
    return digest_of_sources([Path(spec.origin)] if spec and spec.origin else [])


@functools.cache
def _platform() -> str:
    """Return what compiled code depends on beside the program."""
    return repr((digest_of_sources(Path(__file__).parent.glob("*.py")), host()))
