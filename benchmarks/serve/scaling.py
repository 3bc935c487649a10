"""Gradient sharing on one worker, on two, and two processes that share nothing.

Each worker trains as many minibatches in all three: the same time a minibatch is what
the best scaling looks like.
"""

from contextlib import ExitStack
from functools import cache
from typing import Any

import numpy as np

from benchmarks.serve.daskdl_nets import configuration
from benchmarks.serve.loop import Offers, Work
from benchmarks.serve.shapes import CONTROL, NETS, ONE, SCALED, SCALING, TWO
from benchmarks.serve.workers import N_WORKERS, cpu_clock, on_each, opened

# Minibatches are sent once, and trained in each epoch.
_EPOCHS = 5
_WORKERS = {ONE: 1, TWO: N_WORKERS, CONTROL: N_WORKERS}


class Scaling:
    """Fits on a cluster that is started for the first.

    Parameters
    ----------
    stack : ExitStack
        Closes the cluster.
    n_minibatches : int
        Of each worker, in all epochs.
    """

    def __init__(self, stack: ExitStack, n_minibatches: int) -> None:
        self._n_minibatches = max(1, n_minibatches // _EPOCHS)
        self._client = cache(lambda: opened(stack))

    def offers(self) -> Offers:
        """Return what `make` knows."""
        return [(SCALING, net, form) for net in SCALED for form in _WORKERS]

    def make(self, net: str, form: str) -> Work:
        """Return a fit of a network in one of the three forms."""
        client, n = self._client(), self._n_minibatches
        facts = {"minibatches": float(n * _EPOCHS), "workers": float(_WORKERS[form])}
        if form == CONTROL:
            arguments = [(net, n)] * N_WORKERS

            def train() -> None:
                walls = on_each(client, _train_alone, arguments)
                facts["training_s"] = max(walls)

            return Work(train, facts=facts, cpu_s=cpu_clock(client))
        front = _front(client, net)
        data = [minibatch(net, seed) for seed in range(n * _WORKERS[form])]

        def fit() -> None:
            front.fit(data, epochs=_EPOCHS, workers=_WORKERS[form], listeners=[])
            report = front.last_fit
            facts["bytes"] = float(report.bytes_sent)
            facts["training_s"] = sum(epoch.wall_s for epoch in report.epochs)

        return Work(fit, facts=facts, cpu_s=cpu_clock(client))


def minibatch(name: str, seed: int, examples: int | None = None) -> Any:
    """Return a minibatch that a network can learn nothing from, always the same.

    It has so many examples, or as many as all peers are given.
    """
    from daskdl.data.dataset import DataSet

    net, rng = NETS[name], np.random.default_rng(seed)
    n = net.features[0] if examples is None else examples
    features = rng.standard_normal((n, *net.features[1:]), dtype=np.float32)
    numbers = rng.integers(0, net.n_classes, (n, *net.label_axes[1:]))
    return DataSet(features, np.eye(net.n_classes, dtype=np.float32)[numbers])


def _front(client: Any, net: str) -> Any:
    from daskdl.cluster.frontend import DaskMultiLayer
    from daskdl.cluster.masters.options import SharedTrainingMaster
    from daskdl.nn.conf.network import configuration_from_dict

    conf: Any = configuration_from_dict(configuration(net))
    return DaskMultiLayer(client, conf, SharedTrainingMaster())


def _train_alone(work: tuple[str, int]) -> float:
    """Train in a worker's process as one process would; return the seconds."""
    import time

    from daskdl.nn.conf.network import configuration_from_dict
    from daskdl.nn.multilayer import MultiLayerNetwork

    net, n_minibatches = work
    conf: Any = configuration_from_dict(configuration(net))
    network = MultiLayerNetwork(conf)
    data = [minibatch(net, seed) for seed in range(n_minibatches)]
    began_s = time.perf_counter()
    for _ in range(_EPOCHS):
        for batch in data:
            network.fit_minibatch(batch)
    return time.perf_counter() - began_s
