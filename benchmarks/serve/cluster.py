"""daskdl on two workers of this machine: the process behind the works on clusters.

Modules of daskdl are imported where they are used, as in `benchmarks.serve.daskdl`.
"""

import argparse
import importlib.metadata
import platform
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.serve import whole_jobs
from benchmarks.serve.loop import Offers, Work, serve
from benchmarks.serve.scaling import Scaling
from benchmarks.serve.shapes import DATA, JOB, SCALING
from benchmarks.serve.stored_data import StoredData


def main() -> None:
    """Answer. Clusters and files are made for the first work that needs them."""
    options = _options()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="daskdl-bench-")))
        scaling = Scaling(stack, options.minibatches)
        data = StoredData(stack, folder / "data", options.data_gb)
        jobs = whole_jobs.WholeJobs(
            folder / "job", options.examples, options.dl4j_spark
        )
        by_case: dict[str, Any] = {SCALING: scaling, DATA: data, JOB: jobs}
        offers: Offers = [offer for part in by_case.values() for offer in part.offers()]

        def make(case: str, what: str, variant: str) -> Work:
            work: Work = by_case[case].make(what, variant)
            return work

        serve(_versions(), offers, make)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minibatches", type=int, required=True)
    parser.add_argument("--data-gb", type=float, required=True)
    parser.add_argument("--examples", type=int, required=True)
    parser.add_argument("--dl4j-spark", type=Path)
    return parser.parse_args()


def _versions() -> dict[str, str]:
    names = ("daskdl", "dask", "pyarrow")
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in names
    }


if __name__ == "__main__":
    main()
