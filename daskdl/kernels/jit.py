"""The one way into numba: compile on the first call, keep the result on disk.

Nobody else calls ``numba.njit``. Importing a module of kernels must stay cheap (numba
alone takes most of a second), so numba is imported when a kernel is first called.
Every kernel has a NumPy twin, and :func:`numba_is_used` says which of the two runs.
"""

import atexit
import functools
import importlib.metadata
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, overload

from daskdl.checks import check_one_of
from daskdl.errors import MissingExtraError

_PRIORITY_VARIABLE = "DASKDL_BACKEND_PRIORITY_CPU"
# LLVM's names. Not "nnan" and "ninf": a network that diverges must be seen to.
_REORDERING = {"reassoc", "contract", "nsz", "arcp"}
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
        equal its NumPy twin bit for bit.

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

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function.

        Raises
        ------
        MissingExtraError
            When numba cannot be imported; callers ask :func:`numba_is_used` first.
        """
        compiled = self._compiled
        if compiled is None:
            compiled = self._compile()
        return compiled(*args)

    def __reduce__(self) -> str:
        return self._function.__qualname__

    @property
    def _numba_type_(self) -> Any:
        # What numba asks of a global that a kernel calls.
        return self._compile()._numba_type_

    def _compile(self) -> Any:
        with _compile_lock:
            if self._compiled is None:
                self._compiled = _njit(self._function, self._reorders)
            return self._compiled


def numba_is_used() -> bool:
    """Return whether the compiled kernels run, rather than their NumPy twins.

    They do wherever they are wanted and numba can be imported.
    """
    return compiled_is_wanted() and _numba() is not None


def compiled_is_wanted() -> bool:
    """Return whether the environment asks for compiled kernels.

    ``DASKDL_BACKEND_PRIORITY_CPU=numpy`` asks for their NumPy twins; ``numba``, the
    default, for the compiled ones.

    Raises
    ------
    OptionError
        When the variable has another value.
    """
    first = os.environ.get(_PRIORITY_VARIABLE, "numba")
    check_one_of("environment", _PRIORITY_VARIABLE, first, ("numba", "numpy"))
    return first == "numba"


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


def _njit(function: Callable[..., Any], reorders: bool) -> Any:
    numba = _numba()
    if numba is None:
        raise MissingExtraError(
            f"{function.__qualname__}: numba must be importable to compile it. "
            f"Install it with pip install numba."
        )
    directory = cache_directory()
    # numba reads this when it decorates. Put back, so that functions of others that
    # are compiled in this process keep the cache they have.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(directory or before)
    try:
        return numba.njit(
            cache=directory is not None,
            nogil=True,
            error_model="numpy",
            fastmath=_REORDERING if reorders else False,
        )(function)
    finally:
        numba.config.CACHE_DIR = before


@functools.cache
def cache_directory() -> Path | None:
    """Return the folder that compiled kernels are kept in.

    Returns
    -------
    path or None
        Below ``NUMBA_CACHE_DIR`` if that is set, else below the user's cache folder;
        a private temporary folder, removed at exit, if that is not writable; ``None``,
        with a warning, if there is none either. The name contains daskdl's version:
        numba looks at the file of a function only, not at what it calls.
    """
    name = f"daskdl-{importlib.metadata.version('daskdl')}"
    for parent in _cache_parents():
        directory = parent / name
        if _is_writable(directory):
            return directory
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
