"""What boards draw of a fit: numbers of each iteration and each epoch, by name."""

import math
import time
from typing import Any

from daskdl.nn.conf.schedules import value_at
from daskdl.nn.fitting.events import EpochFinished
from daskdl.nn.fitting.fit import Fit

__all__ = ["Measures", "of_epoch"]


class Measures:
    """Numbers of one fit that goes on.

    Parameters
    ----------
    fit : Fit
        As it begins.
    every : int
        In how many iterations those of an iteration are wanted once.
    """

    def __init__(self, fit: Fit, every: int) -> None:
        network = fit.network
        self._rates = _learning_rates(network)
        self._counts = (network.iteration_count, network.epoch_count)
        self._begun_at = (fit.iteration, fit.position.epoch)
        # A run that goes on within an epoch counts from there.
        self._epoch, self._seen = fit.position.epoch + 1, fit.examples
        self._examples, self._since_s = 0, time.monotonic()
        self._every, self._next = every, fit.iteration + every

    def take(self, fit: Fit) -> dict[str, float]:
        """Count an iteration, and return the numbers of this moment if it is time.

        Returns
        -------
        dict of str to float
            Score, examples a second since the last ones, learning rates and epoch;
            empty where it is not. Rates are those of the update that comes next; of
            several parameters by their names, if they differ.
        """
        self._count(fit)
        if fit.iteration < self._next:
            return {}
        self._next = (fit.iteration // self._every + 1) * self._every
        return {**self._of_iteration(fit), "epoch": fit.epoch}

    def _count(self, fit: Fit) -> None:
        """Count the examples of an iteration; on a cluster, of those since."""
        if fit.epoch != self._epoch:
            self._epoch, self._seen = fit.epoch, 0
        self._examples += fit.examples - self._seen
        self._seen = fit.examples

    def _of_iteration(self, fit: Fit) -> dict[str, float]:
        values = {"score": fit.score, **self._learning_rates_at(fit)}
        now_s = time.monotonic()
        if now_s > self._since_s:
            values["examples_per_s"] = self._examples / (now_s - self._since_s)
        self._examples, self._since_s = 0, now_s
        return values

    def _learning_rates_at(self, fit: Fit) -> dict[str, float]:
        # On a cluster the network is that of the last standstill, and each worker
        # counts its own iterations.
        minibatches, epoch = self._begun_at
        iteration = (fit.iteration - minibatches) // max(fit.workers, 1)
        now = (self._counts[0] + iteration, self._counts[1] + fit.epoch - 1 - epoch)
        rates = {name: float(value_at(rate, *now)) for name, rate in self._rates}
        if len(set(rates.values())) == 1:
            return {"learning_rate": next(iter(rates.values()))}
        return {f"learning_rate/{name}": rate for name, rate in rates.items()}


def of_epoch(event: EpochFinished) -> dict[str, float]:
    """Return the mean score of an epoch, and what listeners reported of it."""
    values = {"score": event.score, **event.values}
    return {name: value for name, value in values.items() if not math.isnan(value)}


def _learning_rates(network: Any) -> list[tuple[str, Any]]:
    """Return each parameter's rate or schedule; nothing of what has none."""
    rated = [
        (slot.name, getattr(block.updater, "learning_rate", None))
        for slot in network.layout
        for block in network.plan.blocks
        if block.start <= slot.offset < block.stop
    ]
    return [(name, rate) for name, rate in rated if rate is not None]
