"""daskdl at work, through its public front: the process of the peers of that name.

Modules of daskdl are imported where they are used: which checkout they come from is
known only when the process runs.
"""

import argparse
import importlib.metadata
import os
import platform
import sys
from typing import Any

from benchmarks.serve import (
    daskdl_layers,
    daskdl_nets,
    daskdl_reading,
    daskdl_vectors,
)
from benchmarks.serve.loop import Work, serve

_MODULES: list[Any] = [daskdl_nets, daskdl_vectors, daskdl_reading, daskdl_layers]


def main() -> None:
    """Answer; ``--checkout FOLDER`` takes daskdl from there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkout")
    checkout = parser.parse_args().checkout
    if checkout is not None:
        # In front of where this package was found, which is imported by now.
        sys.path.insert(0, os.path.abspath(checkout))
    offers = [offer for module in _MODULES for offer in module.OFFERS]
    serve(_versions(), offers, make)


def make(case: str, what: str, variant: str) -> Work:
    """Return what is to be timed."""
    (module,) = (part for part in _MODULES if (case, what, variant) in part.OFFERS)
    work: Work = module.make(case, what, variant)
    return work


def _versions() -> dict[str, str]:
    names = ("daskdl", "numpy", "numba")
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in names
    }


if __name__ == "__main__":
    main()
