"""Features whose size may not be known, converted from their data format."""

import numpy as np
import pytest

from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.data_format import from_data_format


@pytest.mark.parametrize("n_examples", [0, 2])
@pytest.mark.parametrize("size", [None, 4])
def test_rows_of_any_size_come_in(size, n_examples):
    found = from_data_format(
        np.zeros((n_examples, 4)), FeedForward(size=size), "float32"
    )
    assert found.shape == (n_examples, 4)
