"""What the pretraining of layers has come to, beside their parameters."""

import numpy as np

__all__ = ["assert_same_layers"]


def assert_same_layers(one, other):
    """Check that layers of two networks stand at the same updater state and counts."""
    pairs = (net.pretraining.chosen("test") for net in (one, other))
    for mine, others in zip(*pairs, strict=True):
        np.testing.assert_array_equal(mine.updater_state, others.updater_state)
        assert mine.iteration_count == others.iteration_count
        assert mine.epoch_count == others.epoch_count
