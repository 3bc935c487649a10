"""Every recording of the small dense network, step by step, with the plan alone."""

import re

import numpy as np
import pytest

from tests.unit.networks.numpy_mlp import Replay
from tests.unit.networks.update_cases import CASES

# What such recordings are called.
OPTIONS = (
    r"(gradnorm|sched|l1|l2|l1l2|weightdecay|minibatch|minimize)_.*"
    r"|constraint_(?!maxnorm_cnn).*"
)


@pytest.fixture(scope="module", params=CASES)
def replay(request, golden):
    name = request.param
    return name, Replay(name, CASES[name], golden / "training")


def tolerance(name):
    return 1e-6 if name.startswith("float") else 1e-12


def test_every_recording_of_options_is_tried(manifest):
    names = {
        case["name"]
        for case in manifest["cases"]
        if case["kind"] == "training" and not case.get("failed_in_dl4j")
    }
    assert {name for name in names if re.fullmatch(OPTIONS, name)} <= set(CASES)


def test_parameters_after_every_step(replay):
    name, found = replay
    expected = found.golden["params"].reshape(len(found.params), -1)
    np.testing.assert_allclose(found.params, expected, rtol=0, atol=tolerance(name))


def test_scores(replay):
    name, found = replay
    np.testing.assert_allclose(
        found.scores, found.golden["scores"], rtol=tolerance(name)
    )


def test_updater_state(replay):
    name, found = replay
    expected = found.golden.get("updater", np.empty(0)).ravel()
    np.testing.assert_allclose(found.state, expected, rtol=0, atol=tolerance(name))
