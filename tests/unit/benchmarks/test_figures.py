"""From turns to rows."""

import pytest

from benchmarks.coder import coder_rows
from benchmarks.goals import goal
from benchmarks.ratios import Spread, best, ratio
from benchmarks.results import Limit, row
from benchmarks.rounds import Measurement
from benchmarks.serve.shapes import NETS
from tests.unit.benchmarks.made_up import FAST, OURS, lenet, turns


def test_ratios_are_of_turns_of_one_round():
    measured = lenet().turns
    assert ratio(measured[OURS], measured[FAST], "cpu") == Spread(0.25, 0.5, 0.75)


def test_the_fastest_form_of_a_peer_is_compared():
    assert best(lenet(), "torch", "cpu") == FAST


def test_a_peer_that_was_not_timed_has_no_form():
    assert best(lenet(), "jax", "cpu") is None


def test_a_row_has_ratios_to_peers_in_the_order_asked_for():
    figures = row(lenet(), ["jax", "torch"], "cpu")
    assert [(found.peer, found.variant) for found in figures.ratios] == [
        ("torch", "channels_last")
    ]


def test_a_row_has_the_goal():
    (against_torch,) = row(lenet(), ["torch"], "cpu").ratios
    assert against_torch.goal == 0.5


def test_the_ratio_by_the_wall_stands_beside_that_by_cpu_time():
    (against_torch,) = row(lenet(), ["torch"], "cpu").ratios
    assert against_torch.wall == Spread(0.25, 0.5, 0.75)


def test_by_the_wall_alone_there_is_one_ratio():
    (against_torch,) = row(lenet(), ["torch"], "wall").ratios
    assert against_torch.wall is None


def test_goals_are_of_one_thread():
    (against_torch,) = row(lenet(), ["torch"], "wall").ratios
    assert against_torch.goal is None


def test_the_share_of_the_limit_is_of_the_rate_of_the_same_round():
    # 100 a ms, 100, 50; ours 50, 33, 25.
    limit = Limit("Gflop/s", 100.0)
    share = row(lenet(), ["torch"], "cpu", limit).share
    assert share.share == Spread(pytest.approx(1 / 3), 0.5, 0.5)
    assert share.rate == pytest.approx(100 / 1e6)


def test_without_turns_of_the_machine_there_is_no_share():
    measurement = Measurement("lenet", "fit", {OURS: turns(1.0)})
    assert row(measurement, [], "cpu", Limit("Gflop/s", 1.0)).share is None


def test_without_turns_of_ours_there_is_no_row():
    assert (
        row(Measurement("lenet", "fit", {FAST: turns(1.0)}), ["torch"], "cpu") is None
    )


def test_packing_is_told_by_the_index():
    measurement = Measurement("coder", "pack-1M", {})
    measurement.turns[OURS] = turns(1.0, entries=1000, bits=12.5, entropy=12.0)
    time, size = coder_rows(measurement, "cpu")
    assert time.ours.median == 1000.0
    assert size.ours.median == 12.5
    assert size.share.share.median == 0.96


@pytest.mark.parametrize(
    ("work", "against", "expected"),
    [
        (("mlp", "fit"), "limit", 0.65),
        (("resnet", "output"), "dl4j", 0.2),
        (("threshold", "encode-10M"), "dl4j", 0.18),
        (("threshold", "encode-1M"), "dl4j", None),
        (("memory", "lstm"), "torch", 1.0),
        (("memory", "resnet50"), "", 800.0),
        (("lstm3", "fit"), "torch", 1.0),
        (("tabular", "output"), "torch", 1.0),
        (("start", "lenet warm"), "", 0.3),
        (("start", "lenet warm"), "torch", None),
        (("layer", "dense"), "torch", 1.5),
        (("layer", "dense"), "jax", None),
    ],
)
def test_goals(work, against, expected):
    assert goal(*work, against) == expected


@pytest.mark.parametrize(
    ("net", "gflop"),
    [
        ("lenet", 0.84),
        ("mlp", 1.18),
        ("lstm", 5.15),
        ("resnet", 4.74),
        # 8 examples of 3.86e9 multiply-adds (He et al. 2015, table 1: 3.8e9).
        ("resnet50", 8 * 3 * 2 * 3.86 - 1.9),
        ("lstm3", 207),
        ("tabular", 0.278),
        ("attention", 1.44),
    ],
)
def test_the_work_in_a_step_is_that_of_its_products(net, gflop):
    assert NETS[net].flops("fit") / 1e9 == pytest.approx(gflop, rel=0.01)


def test_a_step_is_forward_and_two_gradients_less_that_of_the_input():
    mlp = NETS["mlp"]
    first = mlp.products[0]
    assert mlp.flops("fit") == 3 * mlp.flops("output") - first.flops("output")
