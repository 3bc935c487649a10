"""Packages of the boards, looked for before a fit begins."""

import importlib
from typing import Any

from daskdl.errors import MissingExtraError

__all__ = ["extra_package"]


def extra_package(who: str, module: str, extra: str) -> Any:
    """Return a module of a package that an extra brings.

    Raises
    ------
    MissingExtraError
        If it is not installed, or something that it needs.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{who}: the package {module} must be installed, got {error}. "
            f"Run: pip install 'daskdl[{extra}]'"
        ) from error
