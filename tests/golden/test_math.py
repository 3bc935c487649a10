"""Every activation and loss against what the real DL4J computed, in float64."""

from typing import Any

import numpy as np
import pytest

from daskdl.errors import OptionError
from tests.unit.layers import golden as cases

TOLERANCE = 1e-9  # the manifest's, of all of these cases
MASKS = ("", "mask_example.", "mask_output.")
METHODS = {
    "score_array": "score_examples",
    "score_sum": "score",
    "score": "score",
    "gradient": "gradient",
}
LOSSES = cases.names("loss")
# A label of 0 meets an output that underflows to 0: DL4J divides one by the other.
NAN_IN_DL4J = {("saturated_kld_softmax", "gradient")}


def math_cases(manifest: dict[str, Any]) -> dict[str, Any]:
    return {
        case["name"]: case
        for case in manifest["cases"]
        if case["kind"] == "math" and case["name"] != "schedules"
    }


def computed(name: str, case: Any, mask: str, key: str) -> Any:
    loss, activation = cases.loss_of(name, case)
    method = getattr(loss, METHODS[key])
    return method(case["labels"], case["pre"], activation, case.get(f"{mask}mask"))


def test_every_case_of_the_manifest_is_tried(manifest):
    tried = {f"activation_{name}" for name in cases.names("activation")}
    assert tried | {f"loss_{name}" for name in LOSSES} == math_cases(manifest).keys()


def test_the_tolerance_is_the_manifests(manifest):
    assert {case["tolerance"] for case in math_cases(manifest).values()} == {"1e-9"}


@pytest.mark.parametrize("name", cases.names("activation"))
def test_activation(golden, name):
    case = cases.load("activation", name, golden / "math")
    function = cases.activation_of(name)
    output = function.forward(case["x"])
    grad = function.backward(case["eps"], case["x"], output)
    np.testing.assert_allclose(
        output, case["forward_inference"], rtol=0, atol=TOLERANCE
    )
    np.testing.assert_allclose(grad, case["backprop"], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", cases.names("activation"))
def test_activation_in_training(golden, name):
    """Without random numbers training is inference; those of rrelu are DL4J's own."""
    case = cases.load("activation", name, golden / "math")
    output, x = case["forward_training"], case["x"]
    if cases.activation_of(name).draws_random_numbers:
        low, high = (0.2, 0.4) if name == "rrelu_0.2_0.4" else (1 / 8, 1 / 3)
        slopes = output[x < 0] / x[x < 0]
        assert low <= slopes.min() <= slopes.max() <= high
        np.testing.assert_array_equal(output[x >= 0], x[x >= 0])
    else:
        np.testing.assert_array_equal(output, case["forward_inference"])


@pytest.mark.parametrize("name", LOSSES)
def test_loss(golden, name):
    case = cases.load("loss", name, golden / "math")
    keys = [(mask, key) for mask in MASKS for key in METHODS if f"{mask}{key}" in case]
    assert len(keys) >= 2
    for mask, key in keys:
        result, expected = computed(name, case, mask, key), case[f"{mask}{key}"]
        if (name, key) in NAN_IN_DL4J:
            assert np.isfinite(result).all()
            result = np.where(np.isnan(expected), np.nan, result)
        np.testing.assert_allclose(
            np.ravel(result),
            np.ravel(expected),
            rtol=0,
            atol=TOLERANCE,
            err_msg=f"{mask}{key}",
        )


@pytest.mark.parametrize("name", LOSSES)
def test_what_dl4j_refuses_is_refused(golden, manifest, name):
    case = cases.load("loss", name, golden / "math")
    for problem in math_cases(manifest)[f"loss_{name}"].get("dl4j_problems", {}):
        mask, _, key = problem.rpartition(".")
        with pytest.raises(OptionError, match=r"mask|whole minibatches"):
            computed(name, case, f"{mask}." if mask else "", key)
