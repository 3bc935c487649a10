import numpy as np
import pytest

from daskdl.arrays.random import stream
from daskdl.errors import OptionError


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


def test_a_negative_seed_is_refused():
    with pytest.raises(OptionError, match="seed must be >= 0, got -1"):
        stream(-1)
