"""Turn the members' reports into figures. Pure but for the clock."""

import time
from collections.abc import Mapping
from typing import Any

from daskdl.cluster.masters.staleness import StalenessTally, staleness_of
from daskdl.nn.fitting.events import FitReport, Progress, Staleness
from daskdl.nn.fitting.run_state import RunState

TELL_EVERY_S = 0.25
# Instead of a rank: the members of an earlier session of the same run.
EARLIER = -1


class ProgressMeter:
    """Sum up the reports of the members.

    Parameters
    ----------
    start_s : float
        When the fit began, on the monotonic clock.
    """

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self._epoch = 0
        self._epoch_start_examples = 0
        self._examples = 0  # of all phases that have ended
        self._minibatches = 0
        self._bytes_sent: dict[int, int] = {}
        self._staleness: dict[int, StalenessTally] = {}
        self._scores = _Mean()
        self._epoch_scores = _Mean()
        self._told_s = start_s
        self._told_examples = 0

    @property
    def examples(self) -> int:
        """Examples trained in all phases that have ended."""
        return self._examples

    @property
    def epoch_examples(self) -> int:
        """Examples trained in this epoch, in phases that have ended."""
        return self._examples - self._epoch_start_examples

    @property
    def minibatches(self) -> int:
        """Minibatches trained in all phases that have ended."""
        return self._minibatches

    @property
    def bytes_sent(self) -> int:
        """Bytes that all members together sent to one another."""
        return sum(self._bytes_sent.values())

    @property
    def epoch_score(self) -> float:
        """Mean score of the minibatches of this epoch, weighted by examples."""
        return self._epoch_scores.value

    def go_on(self, report: FitReport, state: RunState) -> None:
        """Count on from where an earlier session of the same run stood."""
        self._start_s -= report.wall_s
        self._examples = self._told_examples = report.examples + state.examples
        self._minibatches = state.iteration
        self._bytes_sent[EARLIER] = report.bytes_sent

    def begin_epoch(
        self, epoch: int, examples: int = 0, score_sum: float = 0.0
    ) -> None:
        """Start to count an epoch, of which some examples may be trained already."""
        self._epoch = epoch
        self._epoch_start_examples = self._examples - examples
        self._epoch_scores = _Mean()
        self._epoch_scores.add(score_sum, examples)

    def end_phase(self, examples: int, minibatches: int) -> None:
        """Add a phase that has ended."""
        self._examples += examples
        self._minibatches += minibatches

    def take(self, rank: int, values: Mapping[str, Any]) -> None:
        """Take in one progress report of a member."""
        self._bytes_sent[rank] = values["bytes_sent"]
        self._scores.add(values["score_sum"], values["scores"])
        self._epoch_scores.add(values["score_sum"], values["scores"])

    def returned(
        self, rank: int, bytes_sent: int, staleness: Mapping[str, int]
    ) -> None:
        """Take in all that a member sent, and how late it took in what came."""
        self._bytes_sent[rank] = bytes_sent
        self._staleness[rank] = StalenessTally(**staleness)

    @property
    def staleness(self) -> Staleness | None:
        """How late messages were, to those that have returned; None without any."""
        return staleness_of(self._staleness.values())

    @property
    def returned_ranks(self) -> frozenset[int]:
        """Members that reported all the bytes that they sent."""
        return frozenset(self._staleness)

    def progress(
        self, phase_examples: int, phase_minibatches: int, *, workers: int
    ) -> Progress | None:
        """Return the progress to report now, or None soon after the last."""
        now = time.monotonic()
        if now - self._told_s < TELL_EVERY_S or not self._scores.count:
            return None
        examples = self._examples + phase_examples
        progress = Progress(
            time_s=now - self._start_s,
            epoch=self._epoch,
            examples=examples - self._epoch_start_examples,
            iteration=self._minibatches + phase_minibatches,
            score=self._scores.value,
            examples_per_s=(examples - self._told_examples) / (now - self._told_s),
            workers=workers,
            bytes_sent=self.bytes_sent,
        )
        self._told_s, self._told_examples = now, examples
        self._scores = _Mean()
        return progress


class _Mean:
    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    def add(self, total: float, count: int) -> None:
        self.total += total
        self.count += count

    @property
    def value(self) -> float:
        return self.total / self.count if self.count else float("nan")
