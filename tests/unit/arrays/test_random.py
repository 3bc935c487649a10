import numpy as np
import pytest

from daskdl.arrays.random import IterationStream, moment_of, stream


def test_the_same_name_gives_the_same_numbers():
    assert stream(1, "dropout", 3).random() == stream(1, "dropout", 3).random()


def test_numbers_do_not_change_between_releases():
    """A checkpoint goes on with the numbers it would have had."""
    assert stream(12345, "dropout", 0, 1).integers(0, 1000, 4).tolist() == [
        731,
        47,
        128,
        806,
    ]


@pytest.mark.parametrize(
    "other", [(2, "a", 1), (1, "b", 1), (1, "a", 2), (1, "a", "1"), (1, "a")]
)
def test_another_seed_or_name_gives_other_numbers(other):
    assert stream(1, "a", 1).random() != stream(*other).random()


def test_numbers_of_numpy_name_the_same_stream():
    assert stream(np.int64(1), np.int32(2)).random() == stream(1, 2).random()


def test_a_negative_seed_has_a_stream_of_its_own():
    """DL4J's seeds may be negative."""
    assert stream(-1).random() != stream(1).random()


def test_a_stream_of_an_iteration_has_the_numbers_it_was_given():
    numbers = IterationStream(stream(7, "dropout"), 3, 1)
    np.testing.assert_array_equal(numbers.random(5), stream(7, "dropout").random(5))


def test_and_knows_its_moment():
    assert moment_of(IterationStream(stream(7), 3, 1)) == (3, 1)


def test_a_plain_stream_is_of_the_first_iteration():
    assert moment_of(stream(7)) == (0, 0)
