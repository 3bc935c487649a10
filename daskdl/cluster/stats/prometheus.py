"""What the members of a process count, for Prometheus. Without its client, nothing.

Dask serves what is registered with the package ``prometheus_client`` at ``/metrics`` of
each worker. Numbers are read when somebody asks for them, in the event loop's thread;
members only go on counting.
"""

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from daskdl.cluster.bus.stats import TopicStats
from daskdl.cluster.stats.member_spans import MemberSpans
from daskdl.nn.fitting.timeline import ACTIVITIES

__all__ = ["ProcessMetrics", "scraped"]

COUNTERS = {
    "examples": "Examples that were trained.",
    "minibatches": "Minibatches that were trained.",
    "epochs": "Epochs that were trained to their end, each counted by each member.",
    "sent_bytes": "Bytes that were sent to other workers.",
    "received_bytes": "Bytes that came from other workers.",
}


class _Member(NamedTuple):
    """What is read of a member; no lock, each number has one writer."""

    spans: MemberSpans
    stats: Callable[[], TopicStats]

    def counts(self) -> dict[str, float]:
        stats = self.stats()
        return {
            "examples": self.spans.examples,
            "minibatches": self.spans.minibatches,
            "epochs": self.spans.epochs,
            "sent_bytes": stats.bytes_sent,
            "received_bytes": stats.bytes_received,
            **self.spans.recorder.seconds_so_far(),
        }


class ProcessMetrics:
    """The metrics of all members that a process had, as a collector of Prometheus.

    Counters go on from fit to fit as long as the process lives, since what falls or
    goes away is lost to who asks four times a minute. Gauges are told of those members
    only that there are.
    """

    def __init__(self) -> None:
        self._members: list[_Member] = []
        self._ended = dict.fromkeys([*COUNTERS, *ACTIVITIES], 0.0)
        self._told = dict(self._ended)
        # Held when a member begins or ends, and while somebody asks.
        self._lock = threading.Lock()
        self._is_registered = False

    @contextmanager
    def counting(
        self, spans: MemberSpans, stats: Callable[[], TopicStats]
    ) -> Iterator[None]:
        """Count a member in until it ends."""
        member = _Member(spans, stats)
        with self._lock:
            self._members.append(member)
        try:
            yield
        finally:
            with self._lock:
                self._members.remove(member)
                self._ended = _sum(self._ended, member.counts())

    def register(self, registry: Any) -> None:
        """Be asked whenever the metrics of a registry are, from the first call on."""
        with self._lock:
            is_new, self._is_registered = not self._is_registered, True
        if is_new:
            registry.register(self)

    def collect(self) -> Iterable[Any]:
        """Return the families of metrics. Called by the registry."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        told, members, score = self._read()
        for name, what in COUNTERS.items():
            yield CounterMetricFamily(f"daskdl_{name}", what, value=told[name])
        seconds = CounterMetricFamily(
            "daskdl_activity_seconds", "Time of each activity.", labels=["activity"]
        )
        for activity in ACTIVITIES:
            seconds.add_metric([activity], told[activity])
        yield seconds
        yield GaugeMetricFamily(
            "daskdl_members", "Members of fits that run.", value=members
        )
        scores = GaugeMetricFamily(
            "daskdl_score", "Mean score of the last minibatches.", labels=()
        )
        if not math.isnan(score):
            scores.add_metric((), score)
        yield scores

    def _read(self) -> tuple[dict[str, float], int, float]:
        with self._lock:
            now = _sum(self._ended, *(member.counts() for member in self._members))
            # What a member is about to add may be missing now, and was told before.
            self._told = {name: max(n, self._told[name]) for name, n in now.items()}
            scores = [member.spans.score for member in self._members]
            known = [score for score in scores if not math.isnan(score)]
            # Of several fits, which are rare, the one that began last.
            return self._told, len(self._members), known[-1] if known else math.nan


def _sum(*counts: Mapping[str, float]) -> dict[str, float]:
    return {name: sum(each[name] for each in counts) for name in counts[0]}


# The registry of Prometheus is the process's as well.
_PROCESS = ProcessMetrics()


@contextmanager
def scraped(spans: MemberSpans, stats: Callable[[], TopicStats]) -> Iterator[None]:
    """Have Dask tell Prometheus what a member counts, if its client is installed.

    Parameters
    ----------
    spans : MemberSpans
        What it counts of its work.
    stats : callable
        Returns what it counts of its messages.
    """
    registry = _registry()
    if registry is None:
        yield
        return
    _PROCESS.register(registry)
    with _PROCESS.counting(spans, stats):
        yield


def _registry() -> Any:
    """Return the registry that Dask serves, None where there is none."""
    try:
        from prometheus_client import REGISTRY
    except ImportError:
        return None
    return REGISTRY
