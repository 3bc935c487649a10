"""Residual post-processors."""

from pathlib import Path

import numpy as np
import pytest

from daskdl.encoding.residual import (
    NoOpResidualPostProcessor,
    ResidualClippingPostProcessor,
)
from daskdl.errors import OptionError

DATA = Path(__file__).parents[2] / "data" / "threshold"


def test_clipping_is_that_of_dl4j():
    processor = ResidualClippingPostProcessor(threshold_multiple=2.0, frequency=4)
    with np.load(DATA / "residual_clipping.npz") as golden:
        for iteration in range(9):
            residual = golden["x"]
            processor.process(residual, iteration=iteration, tau=0.3)
            np.testing.assert_array_equal(
                residual, golden[f"after_iteration_{iteration}"]
            )


def test_no_op_changes_nothing(rng):
    residual = rng.standard_normal(20)
    before = residual.copy()
    NoOpResidualPostProcessor().process(residual, iteration=5, tau=1e-9)
    np.testing.assert_array_equal(residual, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold_multiple": 0.5}, "threshold_multiple must be >= 1.0, got 0.5"),
        ({"frequency": 0}, "frequency must be >= 1, got 0"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        ResidualClippingPostProcessor(**options)
