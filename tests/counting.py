"""A network that counts how often each of its examples was applied.

Example i is a row of zeros with a 1 at place i, the loss is the absolute error, and the
labels are out of reach: so the gradient of weight i is -1 for example i and 0 for all
others, and with plain Sgd weight i grows by 1 whenever example i is applied. Shared at
a fixed threshold of 1 each update is one quantum, and no residual is left.
"""

import numpy as np

import daskdl as dl
from daskdl.encoding.residual import NoOpResidualPostProcessor

_OUT_OF_REACH = 1e6


def counting_network(examples, batch_size):
    """Return a network for minibatches of exactly `batch_size` examples."""
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            # The mean over a minibatch is taken back by the rate.
            updater=dl.Sgd(learning_rate=batch_size),
            weight_init="zero",
            activation="identity",
            input=dl.FeedForward(size=examples),
            layers=[dl.Output(n_out=1, loss="l1", has_bias=False)],
        )
    ).init()


def numbered_examples(examples):
    """Return example i in row i."""
    labels = np.full((examples, 1), _OUT_OF_REACH, np.float32)
    return dl.DataSet(np.eye(examples, dtype=np.float32), labels)


def counting_master(rounding="nearest", **options):
    """Return gradient sharing that sends every update whole."""
    return dl.SharedTrainingMaster(
        threshold_algorithm=dl.FixedThresholdAlgorithm(threshold=1.0),
        residual_post_processor=NoOpResidualPostProcessor(),
        rounding=rounding,
        **options,
    )


def assert_counts(network, report, *, examples, epochs):
    """Every example as often as there were epochs, and more only if it was told."""
    counts = np.asarray(network.params)
    np.testing.assert_array_equal(counts, np.round(counts))
    assert counts.min() >= epochs, f"example {counts.argmin()} is missing"
    assert counts.sum() - examples * epochs <= report.repeated_examples
    assert report.examples - report.repeated_examples == examples * epochs
