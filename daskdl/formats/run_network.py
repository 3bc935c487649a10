"""The network in the directory of a run: the trained one, or its last checkpoint."""

import posixpath
from typing import Any

from daskdl.data.store import kind_of
from daskdl.nn.fitting.checkpoint_directory import checkpoints_in

__all__ = ["MODEL", "network_in"]

MODEL = "model.safetensors"


def network_in(fs: Any, directory: str) -> str | None:
    """Return the name of the network in the directory of a run; None without one."""
    if kind_of(fs, posixpath.join(directory, MODEL)) is not None:
        return MODEL
    return next(iter(checkpoints_in(fs, directory)), None)
