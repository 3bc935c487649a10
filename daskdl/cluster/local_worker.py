"""Imported by each worker that a command starts here, when the worker begins."""

import atexit
import gc

# The interpreter collects garbage several times on its way out: 0.4 s, in which the
# command waits for its workers.
atexit.register(gc.freeze)
