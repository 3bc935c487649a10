"""How many minibatches the workers of a ParallelWrapper train in a second."""

from benchmarks.parallel.asking import network_of
from benchmarks.serve.scaling import minibatch
from daskdl import ParallelWrapper

_EPOCHS = 4


def minibatches_per_s(
    net: str, training_mode: str, workers: int, minibatches: int
) -> float:
    """Return the minibatches a second of all workers, without the first epoch.

    Parameters
    ----------
    net : str
        Which network.
    training_mode : str
        Of the wrapper.
    workers : int
        How many.
    minibatches : int
        Of each worker in an epoch.
    """
    network = network_of(net)
    data = [minibatch(net, seed) for seed in range(minibatches * workers)]
    wrapper = ParallelWrapper(network, workers=workers, training_mode=training_mode)
    with wrapper:
        wrapper.fit(data, epochs=_EPOCHS, listeners=[])
    report = network.last_fit
    if report is None:
        raise RuntimeError("a fit must leave a report")
    # The first one compiles, and waits for data.
    later = report.epochs[1:]
    return len(data) * len(later) / sum(epoch.wall_s for epoch in later)
