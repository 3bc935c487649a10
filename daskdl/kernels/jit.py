"""The one way into numba: compile on the first call, keep the result on disk.

Nobody else calls ``numba.njit``. Importing a module of kernels must stay cheap, and so
must a process that finds all its kernels compiled: numba is imported when something
must be compiled, and what it compiles runs without it afterwards
(:mod:`~daskdl.kernels.entry`). Every kernel has a form in NumPy,
and :func:`numba_is_used` says which of the two runs.
"""

import functools
import importlib.metadata
import importlib.util
import os
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, overload

import numpy as np

from daskdl.checks import check_one_of
from daskdl.errors import MissingExtraError
from daskdl.kernels.entry import Native, can_enter, entry_code, loaded
from daskdl.kernels.kinds import Kind, kinds_of
from daskdl.kernels.machine_code import (
    cache_directory,
    digest_of,
    digest_of_sources,
    host,
    kept_code,
    read_code,
    write_code,
)

_PRIORITY_VARIABLE = "DASKDL_BACKEND_PRIORITY_CPU"
# LLVM's names. Not "nnan" and "ninf": a network that diverges must be seen to.
_REORDERING = {"reassoc", "contract", "nsz", "arcp"}
# Of numba's settings these alone do not change what it compiles.
_HARMLESS = frozenset({"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"})
# What stands in a file in place of code that runs inside numba only.
_NUMBAS = b""
_compile_lock = threading.RLock()


@overload
def jit(function: Callable[..., Any]) -> "Kernel": ...


@overload
def jit(*, reorders: bool) -> Callable[[Callable[..., Any]], "Kernel"]: ...


def jit(function: Callable[..., Any] | None = None, *, reorders: bool = False) -> Any:
    """Compile a function of arrays and numbers with numba when it is first called.

    The compiled function releases the GIL, divides by zero as NumPy does and is kept in
    a cache on disk.

    Parameters
    ----------
    function : function at module level
        What numba can compile in nopython mode. It may call other functions decorated
        like this if they stand in the same file: the cache sees no change elsewhere.
    reorders : bool
        Whether sums may be added in another order and products fused with them, which
        is what lets a sum run in vector registers. NaN and infinity stay what they are.
        Without it arithmetic is IEEE, operation by operation, so that a kernel can
        equal NumPy's form bit for bit.

    Returns
    -------
    Kernel
        Called as the function.
    """
    if function is None:
        return functools.partial(Kernel, reorders=reorders)
    return Kernel(function, reorders=reorders)


class Kernel:
    """A function that numba compiles on the first call.

    Safe to call from several threads; pickled by the name of the function.
    """

    def __init__(self, function: Callable[..., Any], *, reorders: bool) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._reorders = reorders
        self._compiled: Any = None
        self._compiled_bare: Any = None
        self._natives: dict[tuple[Kind, ...], Native] = {}
        # The one that ran last; it hands over what it is not for.
        self._native: Native = self._run

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function.

        Raises
        ------
        MissingExtraError
            When it must be compiled and numba cannot be imported; callers ask
            :func:`numba_is_used` first.
        """
        return self._native(*args)

    def __reduce__(self) -> str:
        return self._function.__qualname__

    @property
    def _numba_type_(self) -> Any:
        # What numba asks of a global that a kernel calls.
        return self._bare()._numba_type_

    def _run(self, *args: Any) -> Any:
        """Run the code that is for these arguments, compiling it if need be."""
        kinds = kinds_of(args)
        native = self._natives.get(kinds)
        if native is None:
            with _compile_lock:
                if kinds not in self._natives:
                    self._natives[kinds] = self._native_for(kinds, args)
                native = self._natives[kinds]
        self._native = native
        return native(*args)

    def _run_other(self, kinds: tuple[Kind, ...], *args: Any) -> Any:
        """Run what an entry for `kinds` handed over."""
        if kinds_of(args) != kinds:
            return self._run(*args)
        # An equal type of elements is another object, as in every message: unpickling
        # makes one.
        return self._natives[kinds](*map(_as_known, args, kinds))

    def _native_for(self, kinds: tuple[Kind, ...], args: tuple[Any, ...]) -> Native:
        """Return what runs without numba, or else what runs inside it."""
        # A function inside another one may use what that one knows.
        if "<locals>" in self._function.__qualname__ or not can_enter(kinds):
            return self._inside()
        name = _name_of(self._function, self._reorders, kinds)
        code = kept_code(name, lambda: self._entry_code(kinds, args))
        if code == _NUMBAS:
            return self._inside()
        return loaded(code, kinds, functools.partial(self._run_other, kinds))

    def _entry_code(self, kinds: tuple[Kind, ...], args: tuple[Any, ...]) -> bytes:
        compiled = self._bare()
        if not hasattr(compiled, "compile"):
            # NUMBA_DISABLE_JIT: there is Python only.
            return _NUMBAS
        types = tuple(map(_imported_numba().typeof, args))
        compiled.compile(types)
        return entry_code(compiled.overloads[types], kinds) or _NUMBAS

    def _inside(self) -> Native:
        """Return what takes arguments of all kinds, inside numba."""
        compiled: Native = self._compile()
        return compiled

    def _compile(self) -> Any:
        with _compile_lock:
            if self._compiled is None:
                self._compiled = _njit(self._function, self._reorders)
            return self._compiled

    def _bare(self) -> Any:
        """Return what numba compiles for other code in its language alone."""
        with _compile_lock:
            if self._compiled_bare is None:
                self._compiled_bare = _njit(self._function, self._reorders, bare=True)
            return self._compiled_bare


def _as_known(argument: Any, kind: Kind) -> Any:
    """Return an array with the very object that an entry knows its elements by."""
    if isinstance(kind, tuple) and argument.dtype is not kind[0]:
        return argument.view(kind[0])
    return argument


def numba_is_used() -> bool:
    """Return whether the compiled kernels run, rather than NumPy's forms.

    They do wherever they are wanted and numba can be imported.
    """
    return compiled_is_wanted() and _numba_works()


def compiled_is_wanted() -> bool:
    """Return whether the environment asks for compiled kernels.

    ``DASKDL_BACKEND_PRIORITY_CPU=numpy`` asks for NumPy's forms; ``numba``, the
    default, for the compiled ones.

    Raises
    ------
    OptionError
        When the variable has another value.
    """
    return _is_numba(os.environ.get(_PRIORITY_VARIABLE, "numba"))


# Asked by every call of every kernel.
@functools.cache
def _is_numba(first: str) -> bool:
    check_one_of("environment", _PRIORITY_VARIABLE, first, ("numba", "numpy"))
    return first == "numba"


@functools.cache
def _numba_works() -> bool:
    """Return whether numba can be imported, if possible without doing so."""
    directory = cache_directory()
    if directory is None or importlib.util.find_spec("numba") is None:
        return _numba() is not None
    path = directory / f"{digest_of(_platform())}.imports"
    if read_code(path) is not None:
        return True
    works = _numba() is not None
    if works:
        write_code(path, b"")
    return works


@functools.cache
def _numba() -> ModuleType | None:
    try:
        import numba
    except ImportError as error:
        # Not only absence: numba refuses a NumPy newer than it knows.
        warnings.warn(
            f"daskdl: numba cannot be imported ({error}); the slower NumPy kernels run "
            f"instead. Install a numba that goes with this NumPy.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    module: ModuleType = numba
    return module


def _imported_numba() -> Any:
    numba = _numba()
    if numba is None:
        raise MissingExtraError(
            "kernel: numba must be importable to compile it. Install it with pip "
            "install numba."
        )
    return numba


def _njit(function: Callable[..., Any], reorders: bool, *, bare: bool = False) -> Any:
    """Return a function of numba: in its own cache, or bare of all ways in.

    What is bare has none from Python and C, which take a third of the time to compile,
    and is not kept: of what numba's cache has, no entry can be written.
    """
    numba = _imported_numba()
    directory = cache_directory()
    # numba reads this when it decorates. Put back, so that functions of others that
    # are compiled in this process keep the cache they have.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(directory or before)
    try:
        return numba.njit(
            cache=not bare and directory is not None,
            no_cpython_wrapper=bare,
            no_cfunc_wrapper=bare,
            nogil=True,
            error_model="numpy",
            fastmath=_REORDERING if reorders else False,
        )(function)
    finally:
        numba.config.CACHE_DIR = before


def _name_of(
    function: Callable[..., Any], reorders: bool, kinds: tuple[Kind, ...]
) -> str:
    """Return a digest of what the code of a kernel depends on."""
    source = function.__code__.co_filename
    which = (function.__qualname__, function.__code__.co_firstlineno, reorders)
    return digest_of(_platform(), _source(source), which, kinds)


@functools.cache
def _source(file: str) -> str:
    return digest_of_sources([Path(file)])


@functools.cache
def _platform() -> str:
    """Return what compiled code depends on beside its source and types."""
    settings = sorted(
        item
        for item in os.environ.items()
        if item[0].startswith("NUMBA_") and item[0] not in _HARMLESS
    )
    # The compiler's own text, and what its kernels share.
    generator = digest_of_sources(Path(__file__).parent.glob("*.py"))
    versions = (
        sys.implementation.cache_tag,
        np.__version__,
        importlib.metadata.version("numba"),
    )
    return repr((generator, host(), versions, settings))
