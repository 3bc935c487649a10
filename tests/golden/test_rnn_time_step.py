"""Prediction stretch by stretch, as DL4J's rnnTimeStep did it."""

import numpy as np
import pytest

from daskdl.dl4j.network import model_zip
from tests.golden.case_names import case_names


@pytest.mark.parametrize("name", case_names("training", "rnn_time_step_"))
def test_stretches_give_what_they_gave_in_dl4j(golden, name):
    network = model_zip.load(golden / "training" / f"{name}.zip")
    with np.load(golden / "training" / f"{name}.npz") as found:
        recorded = dict(found)
    for step in range(3):
        output = network.rnn_time_step(recorded[f"x{step}"])
        np.testing.assert_allclose(output, recorded[f"out{step}"], rtol=0, atol=1e-12)
    network.rnn_clear_previous_state()
    output = network.rnn_time_step(recorded["x1"])
    np.testing.assert_allclose(output, recorded["out1_cleared"], rtol=0, atol=1e-12)
