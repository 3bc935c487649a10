"""What a worker comes to import, at once; imported where workers are forked.

Imports only: a thread, an open file or a device would not survive the fork. What is not
here a worker imports itself, when it needs it.
"""

import importlib
import importlib.metadata
import os

import numpy as np

__all__: list[str] = []

_MODULES = (
    "distributed",
    # What a Worker imports when it starts.
    "distributed.http.health",
    "distributed.http.prometheus",
    "distributed.http.statics",
    "distributed.http.worker",
    "tornado.platform.asyncio",
    "daskdl.cluster.bus.worker_plugin",
    "daskdl.cluster.inference",
    "daskdl.cluster.mailbox",
    "daskdl.cluster.session",
    "daskdl.evaluation.calibration",
    "daskdl.evaluation.roc_multi_class",
    "daskdl.kernels.entry_writer",
    "fsspec.implementations.local",
    "llvmlite.binding",
    "pyarrow.parquet",
)
for _name in _MODULES:
    importlib.import_module(_name)

# What reads and writes data is known by entry point only.
for _group in ("daskdl.sources", "daskdl.sinks"):
    for _point in importlib.metadata.entry_points(group=_group):
        _point.load()

# Python's own generator has a new seed in each fork; workers whose layers draw from
# NumPy's would all draw the same.
os.register_at_fork(after_in_child=np.random.seed)  # noqa: TID251
