"""Parameters that are no numbers any more are refused where a fit ends."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import DivergedError
from daskdl.training.local import fit


def network(learning_rate):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            seed=1,
            updater=dl.Sgd(learning_rate=learning_rate),
            input=dl.FeedForward(size=4),
            layers=[dl.Output(n_out=3, loss="mcxent")],
        )
    ).init()


def one_minibatch(rng):
    features = 10 * rng.standard_normal((8, 4)).astype(np.float32)
    labels = np.eye(3, dtype=np.float32)[rng.integers(0, 3, 8)]
    return dl.DataSet(features, labels)


@pytest.mark.parametrize(
    "train",
    [
        lambda net, data: net.fit(data),
        lambda net, data: fit(net, data, batch_size=8),
    ],
    ids=["network.fit", "training.fit"],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_one_iteration_at_an_enormous_rate_is_refused(rng, train):
    """Its score is that before the update: only the parameters tell."""
    with pytest.raises(
        DivergedError,
        match=r"fit: parameters must be finite, got -?inf for parameter \d+ of 15 "
        "after 1 iterations. Lower the learning rate",
    ):
        train(network(3e38), one_minibatch(rng))


def test_a_large_rate_that_leaves_numbers_is_not(rng):
    trained = network(1e30).fit(one_minibatch(rng))
    assert np.isfinite(trained.params).all()
