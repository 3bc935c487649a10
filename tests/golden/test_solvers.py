"""Trainings with line searches, minibatch by minibatch."""

import pytest

from tests.unit.networks.solver_cases import RECORDINGS, check_parameters, check_scores


@pytest.mark.parametrize("kind", RECORDINGS)
def test_parameters_after_every_minibatch(golden, kind):
    check_parameters(kind, golden / "training")


@pytest.mark.parametrize("kind", RECORDINGS)
def test_scores(golden, kind):
    check_scores(kind, golden / "training")


def test_every_algorithm_of_the_manifest_is_tried(manifest):
    names = {case["name"] for case in manifest["cases"]}
    found = {name for name in names if name.startswith("algo_")}
    assert found == set(RECORDINGS.values())
