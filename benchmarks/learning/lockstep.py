"""Replicas that learn in one process, in step: what a rule of sharing costs.

Each round every replica trains one minibatch. No clock has a part in it, so the same
options give the same figures.
"""

from benchmarks.learning.all_reduce import added_up
from benchmarks.learning.averaging import averaged
from benchmarks.learning.replicas import Learned
from benchmarks.learning.sharing import shared
from benchmarks.learning.tasks import Task
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
    TrainingMaster,
)


def learned(
    master: TrainingMaster, task: Task, n: int, seed: int, delay: int
) -> Learned:
    """Return what `n` replicas of a seed learn with a training master.

    Parameters
    ----------
    master : TrainingMaster
    task : Task
    n, seed : int
    delay : int
        Minibatches that messages of gradient sharing are late, and with `overlap` means
        of parameters.
    """
    if isinstance(master, SharedTrainingMaster):
        return shared(master, task, n, seed, delay)
    if isinstance(master, ParameterAveragingTrainingMaster):
        return averaged(master, task, n, seed, delay)
    if isinstance(master, AllReduceTrainingMaster):
        return added_up(master, task, n, seed)
    raise TypeError(f"learned: no lockstep for a {type(master).__name__}.")
