"""Options that Spark has and daskdl has not are refused with what holds instead."""

import numpy as np
import pytest

import daskdl
from daskdl.errors import OptionError


@pytest.mark.parametrize("name", ["lineSep", "line_sep"])
def test_an_end_of_lines_cannot_be_chosen(name):
    network = daskdl.MultiLayerNetwork(
        daskdl.MultiLayerConfiguration(
            input=daskdl.FeedForward(size=1), layers=[daskdl.Output(n_out=2)]
        )
    )
    with pytest.raises(OptionError, match=f"got '{name}'. Lines end at a line feed"):
        network.evaluate((np.ones((1, 1)), np.ones((1, 2))), **{name: ";"})
