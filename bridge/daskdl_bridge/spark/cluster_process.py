"""Processes that end with the one that started them, however that one ends.

Such a process runs a module. At its standard input it reads what it is to do, and then
nothing until the other end is closed: by :func:`end`, or by the system, when whoever
started it was killed. :mod:`multiprocessing` would run the driver's script anew, which
need not be made for that.
"""

import asyncio
import contextlib
import os
import pickle
import signal
import subprocess
import sys
from typing import Any

__all__ = ["WHO", "end", "input_ends", "order", "started"]

WHO = "daskdl.spark.cluster"
_ENDS_WITHIN_S = 15.0


def started(
    module: str, order: bytes, *words: str, stdout: int
) -> "subprocess.Popen[bytes]":
    """Start a process that runs `module`, and give it its order.

    Parameters
    ----------
    module : str
    order : bytes
        What :func:`order` returns there, pickled. Not an argument, since anybody may
        read those of a process.
    *words : str
        Its arguments.
    stdout : int
        As of :class:`subprocess.Popen`.

    Returns
    -------
    subprocess.Popen
        Its standard input is open. Whoever has it calls :func:`end`.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", module, *words],
        stdin=subprocess.PIPE,
        stdout=stdout,
        # What Spark or a notebook put there is on no path of a new interpreter.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    # Its end is told by its exit code, and why on its standard error.
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(order)  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
    return process


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a process, and wait for it; kill it if it takes long."""
    for stream in (process.stdin, process.stdout):
        # Of one that died before it read all of its order.
        with contextlib.suppress(BrokenPipeError):
            if stream is not None:
                stream.close()
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def order() -> Any:
    """Return what this process was told to do.

    A Ctrl-C at the terminal, which reaches all processes there, is from now on for
    the driver only.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return pickle.load(sys.stdin.buffer)


async def input_ends() -> None:
    """Return when the process is to end."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
