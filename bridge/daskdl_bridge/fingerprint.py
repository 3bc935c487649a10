"""Checks that a part read is still the part listed, by its fingerprint."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from daskdl.data import fingerprint
from daskdl_bridge.storage import filesystem

__all__ = ["unchanged"]


def unchanged(
    url: str,
    listed: fingerprint.Fingerprint | None,
    storage_options: Mapping[str, Any],
) -> AbstractContextManager[None]:
    """Do as :func:`daskdl.data.fingerprint.unchanged`, for a URL."""
    fs, path = filesystem(url, storage_options)
    return fingerprint.unchanged(fs, path, url, listed)
