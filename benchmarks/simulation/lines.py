"""What is on its way between workers."""

from collections.abc import Callable
from typing import Any

from benchmarks.simulation.clock import Clock
from benchmarks.simulation.setting import Setting
from daskdl.cluster.bus.options import TopicOptions

# What may wait on a line before its sender must: of the bus to each subscriber.
QUEUE_BYTES = TopicOptions().max_queue_bytes

Deliver = Callable[[int, int, Any, int], None]


class Lines:
    """A line out of each host and one into it: one message after the other.

    Between workers of one host only the latency passes.

    Parameters
    ----------
    clock : Clock
        The time.
    setting : Setting
        Latency and bandwidth.
    deliver : callable
        Gets sender, receiver, message and bytes when all of it has come.
    """

    def __init__(self, clock: Clock, setting: Setting, deliver: Deliver) -> None:
        self.sent_bytes = [0] * setting.workers
        self.crossed_bytes = 0  # from host to host
        self.phase = 0  # what is on its way at the end of one never comes
        self._clock = clock
        self._latency_s = setting.latency_ms / 1e3
        self._bytes_per_s = setting.bytes_per_s
        self._deliver = deliver
        self._host = setting.host
        n_hosts = setting.host(setting.workers - 1) + 1
        self._out_is_free_s = [0.0] * n_hosts
        self._in_is_free_s = [0.0] * n_hosts
        self._cut_s = [float("inf")] * setting.workers

    def send(self, source: int, target: int, message: Any, n_bytes: int) -> None:
        """Put a message behind those that wait."""
        gone_s, here_s = self._times(self._host(source), self._host(target), n_bytes)
        self.sent_bytes[source] += n_bytes
        phase = self.phase

        def arrive() -> None:
            if gone_s <= self._cut_s[source] and phase == self.phase:
                self._deliver(source, target, message, n_bytes)

        self._clock.at(here_s, arrive)

    def _times(self, source: int, target: int, n_bytes: int) -> tuple[float, float]:
        """Return when a message has left a host, and when it is at another one."""
        if source == target:
            return self._clock.now_s, self._clock.now_s + self._latency_s
        self.crossed_bytes += n_bytes
        took_s = n_bytes / self._bytes_per_s
        gone_s = max(self._clock.now_s, self._out_is_free_s[source]) + took_s
        # It comes in while it goes out.
        free_s = self._in_is_free_s[target] + took_s
        here_s = max(gone_s + self._latency_s, free_s)
        self._out_is_free_s[source], self._in_is_free_s[target] = gone_s, here_s
        return gone_s, here_s

    def room_s(self, source: int) -> float:
        """Return when a worker may send more."""
        free_s = self._out_is_free_s[self._host(source)]
        return free_s - QUEUE_BYTES / self._bytes_per_s

    def cut(self, source: int) -> float:
        """Lose what a worker has not sent yet; return when the last of it is there."""
        self._cut_s[source] = self._clock.now_s
        return max(self._in_is_free_s)
