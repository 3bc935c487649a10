"""Each constraint on small arrays; test_update_replays has DL4J's numbers."""

import numpy as np
import pytest

from daskdl.errors import OptionError
from daskdl.nn.conf.constraints import (
    CONSTRAINTS,
    MaxNormConstraint,
    MinMaxNormConstraint,
    NonNegativeConstraint,
    UnitNormConstraint,
)
from daskdl.nn.constraints import apply_constraint, check_dimensions
from tests.dialects import in_dl4j

TINY = 1e-12
ROWS = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
EACH = [
    MaxNormConstraint(max_norm=1, dimensions=1),
    MinMaxNormConstraint(min=0.5, max=1, dimensions=1),
    UnitNormConstraint(dimensions=1),
    NonNegativeConstraint(),
]


def constrained(constraint, values):
    param = np.array(values)
    apply_constraint(constraint, param)
    return param


def norms(param):
    return np.linalg.norm(param, axis=1)


def test_every_kind_is_tried_here():
    assert {type(constraint) for constraint in EACH} == set(CONSTRAINTS)


def test_max_norm_shortens_what_is_too_long_and_nothing_else():
    param = constrained(MaxNormConstraint(max_norm=1, dimensions=1, epsilon=TINY), ROWS)
    np.testing.assert_allclose(param, [[0.6, 0.8], [0.3, 0.4], [0, 0]])


BOUNDED = [
    MaxNormConstraint(max_norm=1, dimensions=0, epsilon=0.1),
    MinMaxNormConstraint(max=1, dimensions=0, epsilon=0.1, rate=0.3),
]


@pytest.mark.parametrize("constraint", BOUNDED, ids=lambda found: found.type)
def test_what_satisfies_a_constraint_stays_as_it_is(constraint):
    assert constrained(constraint, [0.57]).tolist() == [0.57]


def test_a_constraint_is_applied_once():
    constraint = MaxNormConstraint(max_norm=1, dimensions=0, epsilon=0.5)
    np.testing.assert_allclose(constrained(constraint, [2.0]), 2 / 2.5)


def test_max_norm_divides_by_epsilon_twice_in_dl4j_where_nothing_is_too_long():
    param = constrained(in_dl4j(BOUNDED[0]), [0.5])
    once = 0.5 * 0.5 / 0.6
    np.testing.assert_allclose(param, once * once / (once + 0.1))


def test_min_max_norm_brings_norms_between_its_bounds():
    constraint = MinMaxNormConstraint(min=0.7, max=2, dimensions=1, epsilon=TINY)
    np.testing.assert_allclose(norms(constrained(constraint, ROWS)), [2, 0.7, 0])


RATED = MinMaxNormConstraint(min=0.5, max=1, rate=0.75, dimensions=0, epsilon=TINY)


@pytest.mark.parametrize(("norm", "expected"), [(4, 1.75), (0.1, 0.4), (0.7, 0.7)])
def test_the_rate_of_min_max_norm_is_a_share_of_the_way(norm, expected):
    np.testing.assert_allclose(constrained(RATED, [float(norm)]), expected)


def test_the_rate_of_min_max_norm_mixes_a_quotient_with_a_norm_in_dl4j():
    """On top of applying it twice."""
    param = constrained(in_dl4j(RATED), [4.0])
    first = 4 * (0.75 / 4 + 0.25 * 4)
    np.testing.assert_allclose(param, first * (0.75 / first + 0.25 * first))


def test_unit_norm_makes_every_norm_one():
    param = constrained(UnitNormConstraint(dimensions=1), ROWS[:2])
    np.testing.assert_allclose(norms(param), 1)


def test_unit_norm_leaves_zeros_which_dl4j_makes_nan():
    param = constrained(UnitNormConstraint(dimensions=1), ROWS)
    assert param[2].tolist() == [0, 0]


def test_non_negative_raises_what_is_below_zero():
    assert constrained(NonNegativeConstraint(), [-1.0, 0.0, 2.0]).tolist() == [0, 0, 2]


def test_a_norm_may_run_over_all_axes():
    param = constrained(UnitNormConstraint(dimensions=(0, 1)), ROWS)
    np.testing.assert_allclose(np.linalg.norm(param), 1)


@pytest.mark.parametrize("constraint", EACH, ids=lambda found: found.type)
def test_a_transposed_view_is_written_through(constraint, rng):
    stored = rng.standard_normal((3, 2, 4))
    expected = constrained(constraint, stored.transpose(2, 0, 1))
    apply_constraint(constraint, stored.transpose(2, 0, 1))
    np.testing.assert_array_equal(stored.transpose(2, 0, 1), expected)


@pytest.mark.parametrize("constraint", EACH, ids=lambda found: found.type)
def test_single_precision_stays_single(constraint):
    assert constrained(constraint, ROWS[:2].astype(np.float32)).dtype == np.float32


def test_axes_that_a_parameter_does_not_have_are_refused():
    constraint = MaxNormConstraint(max_norm=1, dimensions=(0, 1), apply_to="all")
    with pytest.raises(
        OptionError,
        match=r"0_b: dimensions of MaxNormConstraint must be below 1, the number of "
        r"its axes, got 1\. Name other parameters in apply_to, or other dimensions\.",
    ):
        check_dimensions(constraint, "0_b", 1)


def test_a_constraint_without_norms_goes_with_any_parameter():
    check_dimensions(NonNegativeConstraint(), "0_b", 1)
