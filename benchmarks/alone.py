"""What is measured in processes of their own: starts, and peak memory."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.child import Child, PeerError
from benchmarks.goals import goal
from benchmarks.machine import peak_mib, process_s
from benchmarks.peers import OURS, Setting, start
from benchmarks.ratios import Spread
from benchmarks.report import Failure, Report
from benchmarks.results import Ratio, Row
from benchmarks.rounds import variants
from benchmarks.serve.shapes import FIT, MEMORY, NETS, START

_COLD = "cold"
_WARM = "warm"
_FIRST_NETS = ("lenet", "resnet50")
_ANSWER_TIMEOUT_S = 180.0


class _NotOfferedError(PeerError):
    """The peer has no such network, which is no failure."""


@dataclass(frozen=True)
class Alone:
    """Measures in fresh processes, one at a time.

    Parameters
    ----------
    report : Report
        Says who else is measured; is told what fails, and versions.
    setting : Setting
        Threads, cores, interpreters.
    """

    report: Report
    setting: Setting

    def start_rows(self) -> Iterator[Row]:
        """Yield how much later the first step is done than a second would be.

        In seconds: with an empty cache of compiled kernels, and with the one that the
        process before left. Then the same from the start of the process, beside the
        peers, whose caches are left as they are. By the clock of the report: on one
        core nothing of a start runs beside the rest.
        """
        for net in _FIRST_NETS:
            with TemporaryDirectory(prefix="daskdl-bench-") as cache:
                environ = {**os.environ, "XDG_CACHE_HOME": cache}
                # It would come before.
                environ.pop("NUMBA_CACHE_DIR", None)
                for temperature in (_COLD, _WARM):
                    yield from self._start_rows(net, temperature, environ)

    def memory_rows(self, seconds: float) -> Iterator[Row]:
        """Yield what training takes at most, above what the process held before.

        That is what is resident after imports, and with the network built.

        Parameters
        ----------
        seconds : float
            How long it trains.
        """
        for net in NETS:

            def peak(child: Child, began_s: float, net: str = net) -> float:
                # The first step may differ, and is one of those that count.
                answers = [_fit(child, net, 0), _fit(child, net, seconds)]
                return peak_mib(child.pid) - float(answers[0]["held_mib"])

            # Compiling takes memory that a worker with a warm cache does not need.
            self._measured(MEMORY, net, OURS, peak)
            ours = self._measured(MEMORY, net, OURS, peak)
            if ours is not None:
                ratios = self._ratios(MEMORY, net, ours, peak)
                own = goal(MEMORY, net, "")
                yield Row(
                    MEMORY, net, "MiB", Spread.of([ours]), tuple(ratios), goal=own
                )

    def _start_rows(
        self, net: str, temperature: str, environ: Mapping[str, str]
    ) -> Iterator[Row]:
        late: list[float] = []
        what = f"{net} {temperature}"
        clock = self.report.clock

        def first_step(child: Child, began_s: float) -> float:
            first = _fit(child, net, 0)
            wall_s, cpu_s = time.monotonic() - began_s, process_s(child.pid)
            second = _fit(child, net, 0)
            late.append((first[f"{clock}_ms"] - second[f"{clock}_ms"]) / 1e3)
            return cpu_s if clock == "cpu" else wall_s

        ours = self._measured(START, what, OURS, first_step, environ)
        if ours is None:
            return
        own = goal(START, what, "")
        yield Row(START, f"{what}, delay", "s", Spread.of(late), goal=own)
        ratios: list[Ratio] = []
        if temperature == _WARM:
            ratios += self._ratios(START, what, ours, first_step)
        whole = f"{what}, all until the first step"
        yield Row(START, whole, "s", Spread.of([ours]), tuple(ratios))

    def _ratios(
        self,
        case: str,
        what: str,
        ours: float,
        measure: Callable[[Child, float], float],
    ) -> Iterator[Ratio]:
        for peer in self.report.peers:
            theirs = self._measured(case, what, peer, measure)
            if theirs is not None:
                ratio, own = Spread.of([ours / theirs]), goal(case, what, peer)
                yield Ratio(peer, "", Spread.of([theirs]), ratio, None, own)

    def _measured(
        self,
        case: str,
        what: str,
        peer: str,
        measure: Callable[[Child, float], float],
        environ: Mapping[str, str] = os.environ,
    ) -> float | None:
        if peer in self.report.absent:
            return None
        began_s = time.monotonic()
        try:
            with start(peer, self.setting, environ) as child:
                self.report.versions[peer] = child.greeting["versions"]
                return measure(child, began_s)
        except _NotOfferedError:
            return None
        except PeerError as error:
            is_absent = peer not in self.report.versions
            named = ("", "") if is_absent else (case, what)
            self.report.failures.append(Failure(peer, str(error), *named))
            return None


def _fit(child: Child, net: str, seconds: float) -> dict[str, Any]:
    """Train in the last form that a peer offers, which is its better one."""
    offered = variants(child, net, FIT)
    if not offered:
        raise _NotOfferedError
    line = f"{net} {FIT} {seconds:g} {offered[-1]}"
    return child.ask(line, seconds * 4 + _ANSWER_TIMEOUT_S)
