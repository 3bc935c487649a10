"""What members compare before they return, and when the driver warns of it."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.cluster.last_scores import ScoreComparison, ScoreKeeper


@pytest.fixture
def network():
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(input=dl.FeedForward(3), layers=[dl.Output(2)])
    ).init()


@pytest.fixture
def batch(rng):
    return dl.DataSet(
        rng.standard_normal((8, 3)).astype(np.float32), rng.integers(0, 2, 8)
    )


def kept(batch):
    keeper = ScoreKeeper()
    keeper.begin_phase(is_wanted=True)
    keeper.take(batch, 0.9)
    return keeper


def test_own_parameters_are_those_of_all_less_the_residual(network, batch, rng):
    untold = rng.standard_normal(network.n_params).astype(np.float32)
    found = kept(batch).compare(network, untold)
    network.params[...] -= untold
    assert found.own == network.compute_score(batch)


def test_a_comparison_changes_no_parameter(network, batch, rng):
    before = network.params.copy()
    kept(batch).compare(network, np.ones_like(before))
    np.testing.assert_array_equal(network.params, before)


def test_without_a_residual_there_is_nothing_to_compare(network, batch):
    assert kept(batch).compare(network, np.zeros_like(network.params)) is None


def test_what_is_not_wanted_is_not_kept(network, batch):
    keeper = ScoreKeeper()
    keeper.begin_phase(is_wanted=False)
    keeper.take(batch, 0.9)
    assert keeper.compare(network, np.ones_like(network.params)) is None


def test_the_minibatch_that_is_kept_holds_no_partition(network, batch):
    """It is a copy: views would hold all rows in memory."""
    keeper = kept(batch.slice(0, 4))
    assert not np.shares_memory(keeper._batch.features, batch.features)


def warning(*found):
    comparison = ScoreComparison()
    for first, own, returned in found:
        comparison.take({"first": first, "own": own, "returned": returned})
    return comparison.warning(1.0)


@pytest.mark.parametrize(
    "scores",
    [
        (2.47, 0.050, 0.051),  # digits, two workers, Adam
        (2.47, 0.056, 0.074),  # rounded down
        (0.12, 0.068, 0.074),  # a further fit, which learned little
        (0.03, 0.018, 0.017),  # what is returned is better
        (1.6, float("nan"), 1.6),
    ],
)
def test_what_rounding_costs_is_no_reason_to_warn(scores):
    assert warning(scores) is None


def test_what_was_not_compared_is_no_reason_to_warn():
    comparison = ScoreComparison()
    comparison.take(None)
    assert comparison.warning(1.0) is None


def test_a_network_that_lacks_what_members_learned_is_warned_of():
    said = warning((1.65, 0.0013, 0.54), (1.62, 0.0034, 1.58))
    assert "is 1.06 and theirs 0.00235: most" in said
