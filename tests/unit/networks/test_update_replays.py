"""Ten updates of a small network, number by number against DL4J 1.0.0-M2.1.

All recordings are in tests/golden; here are those of each kind of updater, schedule,
regularization, gradient normalization and constraint.
"""

from pathlib import Path

import numpy as np
import pytest

from tests.unit.networks.numpy_mlp import Replay
from tests.unit.networks.update_cases import CASES

DATA = Path(__file__).parents[2] / "data" / "training"
NAMES = [name for name in CASES if (DATA / f"{name}.npz").is_file()]


def tolerance(name):
    return 1e-6 if name.startswith("float") else 1e-12


@pytest.fixture(scope="module", params=NAMES)
def replay(request):
    return request.param, Replay(request.param, CASES[request.param], DATA)


def test_parameters_after_every_step(replay):
    name, found = replay
    expected = found.golden["params"].reshape(len(found.params), -1)
    np.testing.assert_allclose(found.params, expected, rtol=0, atol=tolerance(name))


def test_scores(replay):
    name, found = replay
    np.testing.assert_allclose(
        found.scores, found.golden["scores"], rtol=tolerance(name)
    )


def test_the_updater_state_in_the_order_of_dl4js_file(replay):
    name, found = replay
    expected = found.golden.get("updater", np.empty(0)).ravel()
    np.testing.assert_allclose(found.state, expected, rtol=0, atol=tolerance(name))
