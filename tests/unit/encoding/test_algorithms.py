"""Threshold algorithms against the calls that DL4J recorded."""

import json
import math
from pathlib import Path

import pytest

from daskdl.encoding.algorithms import (
    AdaptiveThresholdAlgorithm,
    FixedThresholdAlgorithm,
    LastEncoding,
    TargetSparsityThresholdAlgorithm,
    ThresholdState,
)
from daskdl.errors import OptionError

DATA = Path(__file__).parents[2] / "data" / "threshold"
CASES = {
    case["name"]: case for case in json.loads((DATA / "algorithms.json").read_text())
}
ALGORITHMS = {
    "adaptive_default": AdaptiveThresholdAlgorithm(
        initial_threshold=1e-4, max_target_sparsity=1e-2
    ),
    "adaptive": AdaptiveThresholdAlgorithm(
        initial_threshold=1e-3,
        min_target_sparsity=1e-3,
        max_target_sparsity=1e-2,
        decay_rate=0.95,
    ),
    "target_default": TargetSparsityThresholdAlgorithm(initial_threshold=1e-4),
    "target": TargetSparsityThresholdAlgorithm(
        initial_threshold=1e-2, sparsity_target=5e-3, decay_rate=0.9
    ),
    "fixed": FixedThresholdAlgorithm(threshold=2e-3),
}


def last_of(call):
    if call["lastThreshold"] is None:
        return None
    return LastEncoding(threshold=call["lastThreshold"], sparsity=call["lastSparsity"])


def replay(name):
    state = ThresholdState()
    thresholds = []
    for call in CASES[name]["calls"]:
        threshold, state = ALGORITHMS[name].next_threshold(state, last_of(call))
        thresholds.append(threshold)
    return thresholds, state


@pytest.mark.parametrize("name", ALGORITHMS)
def test_thresholds_are_those_of_dl4j(name):
    thresholds, _ = replay(name)
    expected = [call["threshold"] for call in CASES[name]["calls"]]
    assert thresholds == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_mean_of_workers_goes_on_as_in_dl4j(name):
    """The states that DL4J reduces: as it ended, one call later, and as it ended."""
    algorithm = ALGORITHMS[name]
    _, state = replay(name)
    last = LastEncoding(threshold=0.004, sparsity=1e-6)
    _, later = algorithm.next_threshold(state, last)
    mean = algorithm.reduce([state, later, state])
    threshold, _ = algorithm.next_threshold(mean, None)
    expected = CASES[name]["reduced_next_epoch_call"]
    assert threshold == pytest.approx(expected, rel=1e-12)


def test_adaptive_threshold_rises_after_dense_and_falls_after_sparse_messages():
    algorithm = ALGORITHMS["adaptive"]
    threshold, state = algorithm.next_threshold(ThresholdState(), None)
    assert threshold == 1e-3
    for sparsity, expected in [
        (None, 1e-3 / 0.95),
        (1e-1, 1e-3 / 0.95**2),
        (1e-4, 1e-3 / 0.95),
    ]:
        last = LastEncoding(threshold=threshold, sparsity=sparsity)
        threshold, state = algorithm.next_threshold(state, last)
        assert threshold == pytest.approx(expected)
    again, _ = algorithm.next_threshold(algorithm.reduce([state]), None)
    assert again == pytest.approx(threshold * 0.95)


def test_mean_of_no_states_knows_nothing():
    mean = AdaptiveThresholdAlgorithm().reduce([ThresholdState()])
    assert math.isnan(mean.threshold)
    assert math.isnan(mean.sparsity)


@pytest.mark.parametrize(
    ("named", "made"),
    [
        ("fixed", FixedThresholdAlgorithm(2e-3)),
        ("adaptive", AdaptiveThresholdAlgorithm(1e-3, 1e-3, 1e-2, 0.95)),
        ("target", TargetSparsityThresholdAlgorithm(1e-2, 5e-3, 0.9)),
    ],
)
def test_arguments_come_in_the_order_of_dl4j(named, made):
    assert ALGORITHMS[named] == made


def test_mean_leaves_out_a_sparsity_that_is_not_known_unlike_dl4j():
    states = [
        ThresholdState(threshold=1.0, sparsity=0.5),
        ThresholdState(threshold=3.0),
    ]
    mean = AdaptiveThresholdAlgorithm().reduce(states)
    assert mean == ThresholdState(threshold=2.0, sparsity=0.5)


@pytest.mark.parametrize("sparsity", [1e-9, 0.5])
@pytest.mark.parametrize("name", ["adaptive", "target"])
def test_a_state_of_another_worker_is_gone_on_from(name, sparsity):
    state = ThresholdState(threshold=0.02, sparsity=sparsity)
    threshold, _ = ALGORITHMS[name].next_threshold(state, None)
    assert (threshold > 0.02) == (sparsity > 0.1)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (FixedThresholdAlgorithm, {"threshold": 0}, "threshold must be > 0, got 0"),
        (FixedThresholdAlgorithm, {"threshold": math.inf}, "must be finite, got inf"),
        (AdaptiveThresholdAlgorithm, {"initial_threshold": -1}, "must be > 0, got -1"),
        (AdaptiveThresholdAlgorithm, {"min_target_sparsity": 0}, "must be > 0, got 0"),
        (
            AdaptiveThresholdAlgorithm,
            {"min_target_sparsity": 0.1},
            "max_target_sparsity must be >= 0.1, got 0.03",
        ),
        (AdaptiveThresholdAlgorithm, {"decay_rate": 0.4}, "decay_rate must be >= 0.5"),
        (AdaptiveThresholdAlgorithm, {"decay_rate": 1}, "decay_rate must be < 1"),
        (
            TargetSparsityThresholdAlgorithm,
            {"sparsity_target": 0.0625},
            r"sparsity_target must be < 0.0625 \(a dense message\), got 0.0625",
        ),
        (
            TargetSparsityThresholdAlgorithm,
            {"sparsity_target": 0},
            "must be > 0, got 0",
        ),
    ],
)
def test_impossible_options_are_refused(make, options, message):
    with pytest.raises(OptionError, match=message):
        make(**options)


@pytest.mark.parametrize(
    ("algorithm", "share"),
    [
        (AdaptiveThresholdAlgorithm(max_target_sparsity=0.02), 0.02),
        (TargetSparsityThresholdAlgorithm(sparsity_target=0.005), 0.005),
        (AdaptiveThresholdAlgorithm(initial_threshold=1e-4), None),
        (TargetSparsityThresholdAlgorithm(initial_threshold=1e-4), None),
        (FixedThresholdAlgorithm(), None),
    ],
)
def test_a_threshold_that_is_not_given_is_read_off_at_the_target(algorithm, share):
    assert algorithm.first_share == share


def test_without_a_first_threshold_nothing_is_known():
    threshold, state = AdaptiveThresholdAlgorithm().next_threshold(
        ThresholdState(), None
    )
    assert math.isnan(threshold)
    assert math.isnan(state.threshold)


def test_the_mean_has_the_same_bits_in_any_order():
    values = [0.1, 1e16, -1e16, 0.3]
    algorithm = FixedThresholdAlgorithm()
    means = {
        algorithm.reduce([ThresholdState(threshold=v) for v in order]).threshold
        for order in (values, values[::-1])
    }
    assert len(means) == 1
