"""Import files beside a job and installed modules, which register own layers."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable

from daskdl.cli.paths import resolve_path
from daskdl.errors import DaskdlError, OptionError

__all__ = ["import_all", "whole_names"]


def whole_names(names: Iterable[str], folder: str) -> tuple[str, ...]:
    """Return names of modules as they are, and paths, which end in ``.py``, whole.

    Parameters
    ----------
    names : iterable of str
    folder : str
        Where relative paths begin.
    """
    return tuple(
        resolve_path(folder, name) if name.endswith(".py") else name for name in names
    )


def import_all(names: Iterable[str], who: str) -> None:
    """Import files and modules, in order.

    Parameters
    ----------
    names : iterable of str
        Whole paths that end in ``.py``, else modules that are installed.
    who : str
        The option, for messages.

    Raises
    ------
    OptionError
        If one cannot be imported.
    """
    for name in names:
        _import(name, who)


def _import(name: str, who: str) -> None:
    try:
        if name.endswith(".py"):
            _import_file(name, who)
        else:
            importlib.import_module(name)
    except DaskdlError:
        raise
    except Exception as error:
        raise OptionError(
            f"{who}: must name Python files or modules that can be imported, got "
            f"{name!r}: {type(error).__name__}: {error}"
        ) from error


def _import_file(path: str, who: str) -> None:
    if "://" in path or not os.path.isfile(path):
        raise OptionError(f"{who}: must name files of this machine, got {path!r}.")
    name = os.path.basename(path).removesuffix(".py")
    known = sys.modules.get(name)
    if known is not None and _is_file(getattr(known, "__file__", None), path):
        return
    # That Python finds it under its name, as in the current directory, hides nothing.
    found = None if known is not None else importlib.util.find_spec(name)
    if known is not None or (found is not None and not _is_file(found.origin, path)):
        raise OptionError(
            f"{who}: must name files that hide no module, got {path!r}, which would "
            f"hide {name!r}. Rename it."
        )
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise OptionError(f"{who}: must name Python files, got {path!r}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _is_file(found: str | None, path: str) -> bool:
    return found is not None and os.path.exists(found) and os.path.samefile(found, path)
