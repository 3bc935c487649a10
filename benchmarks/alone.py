"""What is measured in processes of their own: starts, and peak memory."""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.child import Child, PeerError
from benchmarks.goals import goal
from benchmarks.machine import peak_mib
from benchmarks.peers import OURS, Setting, start
from benchmarks.ratios import Spread
from benchmarks.results import Ratio, Row
from benchmarks.rounds import variants
from benchmarks.serve.shapes import FIT, NETS
from benchmarks.works import MEMORY, START

COLD = "cold"
WARM = "warm"
_ANSWER_TIMEOUT_S = 180.0

Failed = Callable[[str, str, str, str], None]


def start_rows(peers: Sequence[str], setting: Setting, failed: Failed) -> Iterator[Row]:
    """Yield how much later the first step is done than a second one would be.

    Of LeNet, in seconds: with an empty cache of compiled kernels, and with the one that
    the run before left. The same from the start of the process, beside the peers'.

    Parameters
    ----------
    peers : sequence of str
        Who else starts.
    setting : Setting
        Threads, cores, interpreters.
    failed : callable
        Told case, what, peer and reason.
    """
    with TemporaryDirectory(prefix="daskdl-bench-") as cache:
        environ = {**os.environ, "XDG_CACHE_HOME": cache}
        # It would come before.
        environ.pop("NUMBA_CACHE_DIR", None)
        for temperature in (COLD, WARM):
            yield from _start_rows(temperature, peers, setting, environ, failed)


def _start_rows(
    temperature: str,
    peers: Sequence[str],
    setting: Setting,
    environ: Mapping[str, str],
    failed: Failed,
) -> Iterator[Row]:
    with _reported(failed, START, temperature, OURS):
        ready, late = _first_step(OURS, setting, environ)
        late_what, ready_what = f"{temperature}, first step", f"{temperature}, to it"
        own = goal(START, temperature, "")
        yield Row(START, late_what, "s", Spread.of([late]), goal=own)
        ratios = []
        # What others compile is not kept in this cache: one temperature is enough.
        for peer in peers if temperature == WARM else ():
            with _reported(failed, START, temperature, peer):
                theirs, _ = _first_step(peer, setting, os.environ)
                of_both = Spread.of([ready / theirs])
                ratios.append(Ratio(peer, "", Spread.of([theirs]), of_both, None, None))
        yield Row(START, ready_what, "s", Spread.of([ready]), tuple(ratios))


def _first_step(
    peer: str, setting: Setting, environ: Mapping[str, str]
) -> tuple[float, float]:
    """Return seconds from the start to the end of the first step, and of compiling."""
    began = time.monotonic()
    with start(peer, setting, environ) as child:
        first = _fit(child, "lenet", 0)
        ready_s = time.monotonic() - began
        second = _fit(child, "lenet", 0)
    return ready_s, (first["wall_ms"] - second["wall_ms"]) / 1e3


def memory_rows(
    peers: Sequence[str], setting: Setting, seconds: float, failed: Failed
) -> Iterator[Row]:
    """Yield the largest resident memory of a process that trains one network.

    Parameters
    ----------
    peers, setting, failed
        As for :func:`start_rows`.
    seconds : float
        How long it trains, after the caches are warm.
    """
    for net in NETS:
        ours = math.nan
        with _reported(failed, MEMORY, net, OURS):
            # Compiling takes memory that a worker with a warm cache does not need.
            _peak_mib(OURS, setting, net, 0)
            ours = _peak_mib(OURS, setting, net, seconds)
        if math.isnan(ours):
            continue
        ratios = []
        for peer in peers:
            with _reported(failed, MEMORY, net, peer):
                theirs = _peak_mib(peer, setting, net, seconds)
                of_both = Spread.of([ours / theirs])
                own = goal(MEMORY, net, peer)
                ratios.append(Ratio(peer, "", Spread.of([theirs]), of_both, None, own))
        yield Row(MEMORY, net, "MiB", Spread.of([ours]), tuple(ratios))


def _peak_mib(peer: str, setting: Setting, net: str, seconds: float) -> float:
    with start(peer, setting, os.environ) as child:
        _fit(child, net, seconds)
        return peak_mib(child.pid)


def _fit(child: Child, net: str, seconds: float) -> dict[str, Any]:
    offered = variants(child, net, FIT)
    if not offered:
        raise PeerError(f"does not train {net}")
    line = f"{net} {FIT} {seconds:g} {offered[-1]}"
    return child.ask(line, seconds * 4 + _ANSWER_TIMEOUT_S)


@contextmanager
def _reported(failed: Failed, case: str, what: str, peer: str) -> Iterator[None]:
    try:
        yield
    except PeerError as error:
        failed(case, what, peer, str(error))
