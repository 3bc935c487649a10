"""Simulations in which the workers learn the digits."""

from dataclasses import replace

from benchmarks.simulation import digits
from benchmarks.simulation.learner import Learner
from benchmarks.simulation.run import Outcome, Simulation
from benchmarks.simulation.setting import Setting
from daskdl.errors import OptionError

# Networks of their own, trained in one process: more would take minutes.
MOST_LEARNERS = 64


def learned(setting: Setting, epochs: int) -> tuple[Outcome, float]:
    """Train on the digits; return the figures and the test accuracy.

    Minibatches are dealt in turn, as data in memory are, in one order for all epochs;
    those of a worker that dies are not dealt again.

    Parameters
    ----------
    setting : Setting
        Its minibatches are those that there are.
    epochs : int
        Each is a phase.

    Raises
    ------
    OptionError
        When there are too many workers to train, or too few minibatches for them.
    """
    n = setting.workers
    if n > MOST_LEARNERS:
        raise OptionError(
            f"learned: workers must be at most {MOST_LEARNERS} where they learn, got "
            f"{n}. Set epochs to 0."
        )
    examples = digits.examples("train")
    batches = digits.minibatches(*examples, setting.batch_size, setting.seed)
    if len(batches) < n:
        raise OptionError(
            f"learned: there must be a minibatch for each worker, got {len(batches)} "
            f"of {setting.batch_size} examples for {n} workers. Take a smaller one."
        )
    learners = [
        Learner(rank, digits.network(setting.seed), batches[rank::n])
        for rank in range(n)
    ]
    n_params = learners[0].network.params.size
    outcome = Simulation(replace(setting, n_params=n_params), learners).run(epochs)
    survivor = learners[outcome.survivors[0]]
    return outcome, survivor.accuracy(*digits.examples("test"))
