"""Data at the door of a network, whose size may not be known."""

import numpy as np
import pytest

from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.doors import to_inside


@pytest.mark.parametrize("n_examples", [0, 2])
@pytest.mark.parametrize("size", [None, 4])
def test_rows_of_any_size_come_in(size, n_examples):
    found = to_inside(np.zeros((n_examples, 4)), FeedForward(size=size), "float32")
    assert found.shape == (n_examples, 4)
