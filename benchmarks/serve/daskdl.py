"""daskdl at work, through its public front: the process of the peers of that name.

Modules of daskdl are imported where they are used: which checkout they come from is
known only when the process runs.
"""

import argparse
import importlib.metadata
import os
import platform
import sys

from benchmarks.serve import daskdl_nets, daskdl_vectors
from benchmarks.serve.loop import Work, serve


def main() -> None:
    """Answer; ``--checkout FOLDER`` takes daskdl from there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkout")
    checkout = parser.parse_args().checkout
    if checkout is not None:
        # In front of where this package was found, which is imported by now.
        sys.path.insert(0, os.path.abspath(checkout))
    serve(_versions(), [*daskdl_nets.OFFERS, *daskdl_vectors.OFFERS], make)


def make(case: str, what: str, variant: str) -> Work:
    """Return what is to be timed."""
    if (case, what, variant) in daskdl_nets.OFFERS:
        return daskdl_nets.make(case, what, variant)
    return daskdl_vectors.make(case, what, variant)


def _versions() -> dict[str, str]:
    names = ("daskdl", "numpy", "numba")
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in names
    }


if __name__ == "__main__":
    main()
