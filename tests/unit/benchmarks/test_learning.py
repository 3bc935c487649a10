"""Replicas in step: what the laboratory of gradient sharing prints can be relied on."""

from dataclasses import replace
from functools import cache

import pytest

from benchmarks.learning.command import main
from benchmarks.learning.lockstep import learned
from benchmarks.learning.tasks import digits
from daskdl import (
    AllReduceTrainingMaster,
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
    PowerSGDTrainingMaster,
    SharedTrainingMaster,
)


@cache
def task():
    return replace(digits(), epochs=4)


def test_one_replica_sends_nothing_and_learns():
    alone = learned(SharedTrainingMaster(), task(), 1, 0, 0)
    assert (alone.end > 0.9, alone.message_bytes > 0) == (True, False)


def test_the_same_seed_gives_the_same_figures():
    runs = [learned(SharedTrainingMaster(), task(), 3, 5, 1) for _ in range(2)]
    assert runs[0] == runs[1]


def test_four_replicas_that_share_learn_nearly_as_much_as_one():
    one, four = (learned(SharedTrainingMaster(), task(), n, 0, 0) for n in (1, 4))
    assert four.end > one.end - 0.03


def test_messages_after_the_warm_up_take_less_than_a_hundredth():
    four = learned(SharedTrainingMaster(), digits(), 4, 0, 0)
    assert four.message_bytes < four.dense_bytes / 100


def test_a_rate_that_has_fallen_to_nothing_moves_no_parameter():
    first, *others = learned(
        AllReduceTrainingMaster(), replace(task(), falls_within=30), 2, 0, 0
    ).scores
    assert first not in others
    assert len(set(others)) == 1


def test_messages_that_are_late_are_taken_in_before_an_epoch_ends():
    late = learned(SharedTrainingMaster(warm_up=10**6), task(), 2, 0, 1000)
    assert late.end > 0.3


def test_averaging_sends_parameters_and_updater_state():
    two = learned(ParameterAveragingTrainingMaster(), task(), 2, 0, 0)
    assert two.message_bytes == pytest.approx(3 * two.dense_bytes)


def test_overlap_learns_as_much_and_sends_states_once_an_epoch():
    """Rounds of 5 of 43 minibatches: nine of parameters, and one of states."""
    plain, late = (
        learned(ParameterAveragingTrainingMaster(**how), task(), 2, 0, 0)
        for how in ({}, {"overlap": True, "dealing": "fixed"})
    )
    n_rounds = -(-len(task().train[0]) // (2 * 32 * 5))
    a_message = (n_rounds + 2) / (n_rounds + 1)
    assert late.end > plain.end - 0.01
    assert late.message_bytes == pytest.approx(a_message * late.dense_bytes, rel=0.05)


def test_an_outer_momentum_learns_more_than_averaging_of_four():
    averaging, momentum = (
        learned(master(), task(), 4, 0, 0)
        for master in (ParameterAveragingTrainingMaster, BlockMomentumTrainingMaster)
    )
    assert momentum.end > averaging.end + 0.02


def test_without_momentum_at_rate_1_averaging_learns_the_same():
    plain = learned(ParameterAveragingTrainingMaster(), task(), 2, 0, 0)
    without = BlockMomentumTrainingMaster(outer_momentum=0.0)
    assert learned(without, task(), 2, 0, 0) == plain


def test_adding_up_gradients_learns_what_larger_minibatches_do():
    """Also in the last round of an epoch, in which not all have a minibatch."""
    larger = replace(task(), batch_size=4 * task().batch_size)
    four = learned(AllReduceTrainingMaster(), task(), 4, 0, 0)
    one = learned(AllReduceTrainingMaster(), larger, 1, 0, 0)
    # Sums are rounded otherwise.
    assert four.scores == pytest.approx(one.scores, abs=0.006)


def test_the_command_draws_a_curve_for_each_master_and_one_process(tmp_path):
    picture = tmp_path / "curves.svg"
    main(
        [
            *("--task", "sequences", "--master", "averaging,diloco", "--seeds", "1"),
            *("--workers", "2", "--svg", str(picture)),
        ]
    )
    drawn = picture.read_text()
    legend = [f">{name}</text>" in drawn for name in ("averaging", "diloco")]
    assert (legend, drawn.count('stroke-width="1.5"')) == ([True, True], 3)


def test_the_command_multiplies_the_learning_rate(capsys):
    words = [
        "--task",
        "digits",
        "--workers",
        "1",
        "--seeds",
        "1",
        "--batch-size",
        "512",
    ]
    main(words)
    slow = capsys.readouterr().out
    main([*words, "--rate", "8"])
    assert capsys.readouterr().out != slow


def test_the_command_refuses_a_master_that_there_is_not(capsys):
    with pytest.raises(SystemExit):
        main(["--master", "averaging,gossip"])
    assert "must be of shared, averaging" in capsys.readouterr().err


def test_low_rank_sends_both_factors_and_the_biases():
    two = learned(PowerSGDTrainingMaster(matrix_rank=1), task(), 2, 0, 0)
    assert two.message_bytes == 4 * (64 + 96 + 96 + 10 + 96 + 10)
    assert two.end > 0.8


def test_the_command_prints_a_row_for_each_number_of_workers(capsys):
    main(["--task", "digits", "--workers", "1,2", "--seeds", "1"])
    assert capsys.readouterr().out.count("digits") == 2
