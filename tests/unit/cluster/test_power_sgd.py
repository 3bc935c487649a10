"""Gradients of low rank: the rule between members that live in one process."""

import numpy as np
import pytest

from daskdl.arrays.flat import ParamLayout
from daskdl.cluster.masters.combining import plain_sum
from daskdl.cluster.masters.low_rank import drawn, matrices
from daskdl.cluster.masters.power_sgd import PowerSgd

LAYOUT = ParamLayout.of({"0_W": (20, 12), "0_b": (12,), "1_W": (12, 9), "1_b": (9,)})
RANK = 2


def rules(n, rank=RANK, dtype=np.float64, layout=LAYOUT):
    found = matrices(layout, rank, 0.1)
    return [PowerSgd(layout.size, found, dtype) for _ in range(n)]


def summed(brought):
    total = np.empty_like(brought[0])
    plain_sum(brought, [], total)
    return total


def iteration(members, gradients, examples):
    """Return what each member takes; who has no examples brings nothing."""
    firsts = [
        member.first(gradient, count)
        for member, gradient, count in zip(members, gradients, examples, strict=True)
    ]
    bringing = [rank for rank, count in enumerate(examples) if count]
    left = summed([firsts[rank] for rank in bringing])
    seconds = [member.second(left) for member in members]
    totals = [
        summed(vectors) for vectors in zip(*(seconds[r] for r in bringing), strict=True)
    ]
    return [
        member.take(totals, count)
        for member, count in zip(members, examples, strict=True)
    ]


def drawn_gradients(rng, n, dtype=np.float64):
    return list(rng.standard_normal((n, LAYOUT.size)).astype(dtype))


class Paper:
    """Algorithms 1 and 2 for one matrix: means, and orthonormal bases from LAPACK."""

    def __init__(self, matrix, n):
        self.right = drawn(matrix)
        self.errors = [np.zeros((matrix.rows, matrix.columns)) for _ in range(n)]

    def step(self, gradients):
        corrected = [g + e for g, e in zip(gradients, self.errors, strict=True)]
        left = np.mean([m @ self.right for m in corrected], axis=0)
        basis, _ = np.linalg.qr(left)
        self.right = np.mean([m.T @ basis for m in corrected], axis=0)
        self.errors = [m - basis @ (basis.T @ m) for m in corrected]
        return basis @ self.right.T


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_each_iteration_is_that_of_the_paper(rng, rank):
    members, examples = rules(3, rank), 8
    found = matrices(LAYOUT, rank, 0.1)
    papers = [Paper(matrix, 3) for matrix in found]
    for _ in range(6):
        means = drawn_gradients(rng, 3)
        taken = iteration(members, [examples * g for g in means], [examples] * 3)
        for matrix, paper in zip(found, papers, strict=True):
            expected = paper.step([matrix.of(g) for g in means])
            told = matrix.of(taken[0]) / (3 * examples)
            np.testing.assert_allclose(told, expected, rtol=0, atol=1e-10)
            for member, error in zip(members, paper.errors, strict=True):
                np.testing.assert_allclose(matrix.of(member.error), error, atol=1e-10)


def test_all_members_take_the_same_bits(rng):
    members = rules(3, dtype=np.float32)
    for _ in range(3):
        gradients = drawn_gradients(rng, 3, np.float32)
        taken = iteration(members, gradients, [8, 8, 3])
        assert len({vector.tobytes() for vector in taken}) == 1


@pytest.mark.parametrize(("dtype", "atol"), [("float32", 2e-5), ("float64", 1e-12)])
def test_full_rank_is_the_plain_sum_to_rounding(rng, dtype, atol):
    members = rules(3, rank=100, dtype=dtype)
    for _ in range(4):
        gradients = drawn_gradients(rng, 3, dtype)
        taken = iteration(members, gradients, [8, 4, 2])
        np.testing.assert_allclose(taken[0], summed(gradients), rtol=0, atol=atol)


def test_a_sum_of_that_rank_is_told_whole(rng):
    members = rules(2)
    gradients = [np.zeros(LAYOUT.size) for _ in members]
    for matrix in matrices(LAYOUT, RANK, 0.1):
        for gradient in gradients:
            outer = np.outer(
                rng.standard_normal(matrix.rows), rng.standard_normal(matrix.columns)
            )
            matrix.of(gradient)[...] = outer
    taken = iteration(members, gradients, [4, 4])
    np.testing.assert_allclose(taken[0], summed(gradients), rtol=0, atol=1e-12)


def test_what_is_no_matrix_is_the_plain_sum(rng):
    gradients = drawn_gradients(rng, 3)
    taken = iteration(rules(3), gradients, [8, 8, 8])
    for name in ("0_b", "1_b"):
        views = [LAYOUT.views(vector)[name] for vector in (taken[0], summed(gradients))]
        np.testing.assert_array_equal(*views)


def test_nothing_is_lost_what_is_not_told_is_remembered(rng):
    """By examples: those of members without any stay as they are."""
    members = rules(3)
    for examples in ([8, 8, 8], [8, 3, 8], [5, 0, 8]):
        gradients = drawn_gradients(rng, 3)
        before = [member.error.copy() for member in members]
        taken = iteration(members, gradients, examples)
        brought = sum(
            gradient + count * error
            for gradient, count, error in zip(gradients, examples, before, strict=True)
            if count
        )
        left = sum(c * m.error for m, c in zip(members, examples, strict=True))
        np.testing.assert_allclose(taken[0] + left, brought, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(members[1].error, before[1])


def test_who_is_left_alone_catches_up_on_what_was_left_out(rng):
    (member, _) = members = rules(2)
    iteration(members, drawn_gradients(rng, 2), [8, 8])
    error, gradient = member.error.copy(), drawn_gradients(rng, 1)[0]
    assert member.has_error
    np.testing.assert_array_equal(member.whole(gradient, 4), gradient + 4 * error)
    assert not member.has_error
    np.testing.assert_array_equal(member.error, 0.0)


def test_a_gradient_that_was_zero_is_told_when_it_no_longer_is(rng):
    members = rules(2, rank=1)
    iteration(members, [np.zeros(LAYOUT.size)] * 2, [8, 8])
    taken = iteration(members, drawn_gradients(rng, 2), [8, 8])
    for matrix in matrices(LAYOUT, 1, 0.1):
        assert matrix.of(taken[0]).any()


def test_a_newcomer_and_the_others_begin_with_one_q(rng):
    """Who restarts brings what a member that was never there brings."""
    members = rules(2)
    iteration(members, drawn_gradients(rng, 2), [8, 8])
    members[0].restart()
    members[0].whole(np.zeros(LAYOUT.size), 1)
    gradient = drawn_gradients(rng, 1)[0]
    np.testing.assert_array_equal(
        members[0].first(gradient, 8), rules(1)[0].first(gradient, 8)
    )


def test_members_that_are_restored_go_on_with_the_same_bits(rng):
    members, later = rules(2), rules(2)
    iteration(members, drawn_gradients(rng, 2), [8, 4])
    for there, here in zip(later, members, strict=True):
        there.load_state_dict(here.state_dict())
    gradients = drawn_gradients(rng, 2)
    expected = iteration(members, gradients, [8, 4])
    np.testing.assert_array_equal(iteration(later, gradients, [8, 4]), expected)
    np.testing.assert_array_equal(later[1].error, members[1].error)


def test_a_member_without_what_was_left_out_has_the_last_q(rng):
    before, later = rules(1)[0], rules(1)[0]
    iteration([before], drawn_gradients(rng, 1), [8])
    later.load_state_dict({"right": before.state_dict()["right"]})
    before.whole(np.zeros(LAYOUT.size), 1)
    gradient = drawn_gradients(rng, 1)[0]
    np.testing.assert_array_equal(later.first(gradient, 8), before.first(gradient, 8))
    assert not later.has_error


def test_a_number_that_is_none_is_not_hidden(rng):
    gradients = drawn_gradients(rng, 2)
    gradients[0][3] = np.nan
    assert np.isnan(iteration(rules(2), gradients, [8, 8])[1][:240]).all()


@pytest.mark.parametrize("rank", [1, 3])
def test_who_brings_factors_brings_so_many_numbers(rng, rank):
    [member] = rules(1, rank)
    first = member.first(drawn_gradients(rng, 1)[0], 8)
    second = member.second(first)
    factors = rank * (20 + 12 + 12 + 9)
    assert first.size + sum(v.size for v in second) == factors + 12 + 9
