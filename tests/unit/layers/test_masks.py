import numpy as np
import pytest

from daskdl.errors import ShapeError
from daskdl.nn.masks import (
    check_step_mask,
    column_mask,
    either_mask,
    last_steps,
    lengths_of,
)

MASK = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0.0]])


def test_either_mask_keeps_what_any_keeps():
    joined = either_mask([np.array([[1, 0, 0]]), np.array([[0, 0, 1]])])
    np.testing.assert_array_equal(joined, [[1, 0, 1]])


def test_either_mask_does_not_change_what_it_is_given():
    first = np.array([[1, 0, 0]])
    either_mask([first, np.array([[0, 0, 1]])])
    np.testing.assert_array_equal(first, [[1, 0, 0]])


@pytest.mark.parametrize("masks", [[None, MASK], [MASK, None], [None, None], [None]])
def test_an_input_without_a_mask_keeps_everything(masks):
    assert either_mask(masks) is None


def test_one_mask_stays_as_it_is():
    assert either_mask([MASK]) is MASK


def test_last_steps_are_those_the_mask_keeps():
    np.testing.assert_array_equal(last_steps(MASK), [1, 2, 3, 3])


def test_lengths_are_those_up_to_the_last_step_that_is_kept():
    np.testing.assert_array_equal(lengths_of(MASK), [2, 3, 4, 0])


def test_columns_have_an_entry_for_each_row():
    assert column_mask(MASK, 16, "me").shape == (16, 1)


def test_a_mask_with_another_number_of_entries_is_refused():
    with pytest.raises(ShapeError, match=r"me: the mask must have 15 entries"):
        column_mask(MASK, 15, "me")


def test_a_mask_of_other_steps_is_refused():
    with pytest.raises(ShapeError, match=r"me: .* \(4, 5\), got \(4, 4\)"):
        check_step_mask(MASK, np.zeros((4, 5, 2)), "me")
