"""Scaling to a range, against the real DL4J 1.0.0-M2.1."""

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.min_max import (
    MultiNormalizerMinMaxScaler,
    NormalizerMinMaxScaler,
)
from daskdl.errors import OptionError
from tests.unit.dl4j.golden import expected_normalized

PARTS = ("features", "labels", "features_mask", "labels_mask")


def golden(values, prefix):
    return DataSet(*(values.get(f"{prefix}.{part}") for part in PARTS))


def golden_multi(values, prefix):
    return MultiDataSet(
        *([values.get(f"{prefix}.{part}.{k}") for k in range(2)] for part in PARTS)
    )


def batches(values, make):
    prefixes = {key.split(".")[0] for key in values if key.startswith("fit")}
    return [make(values, prefix) for prefix in sorted(prefixes)]


@pytest.mark.parametrize("name", ["minmax_2d_labels", "minmax_3d_masked_labels"])
def test_bounds_and_numbers_are_dl4js_to_the_last_bit(name):
    values = expected_normalized(name)
    scaler = NormalizerMinMaxScaler(fit_label=True).fit(batches(values, golden))
    for key in ("min", "max", "label_min", "label_max"):
        np.testing.assert_array_equal(getattr(scaler, key), values[key][0])
    scaled = scaler.transform(golden(values, "in"))
    np.testing.assert_array_equal(scaled.features, values["out.features"], strict=True)
    np.testing.assert_array_equal(scaled.labels, values["out.labels"], strict=True)
    reverted = scaler.revert(scaled)
    np.testing.assert_array_equal(reverted.features, values["reverted.features"])
    np.testing.assert_array_equal(reverted.labels, values["reverted.labels"])


def test_a_constant_feature_has_bounds_that_are_apart():
    values = expected_normalized("minmax_constant_column")
    scaler = NormalizerMinMaxScaler().fit(batches(values, golden))
    np.testing.assert_array_equal(scaler.max, values["max"][0])


def test_several_inputs_and_outputs_are_scaled_as_dl4j_does():
    values = expected_normalized("multi_minmax_labels")
    scaler = MultiNormalizerMinMaxScaler(-1, 1, fit_label=True)
    scaler.fit(batches(values, golden_multi))
    scaled = scaler.transform(golden_multi(values, "fit0"))
    for k in range(2):
        np.testing.assert_array_equal(scaled.features[k], values[f"out.features.{k}"])
        np.testing.assert_array_equal(scaled.labels[k], values[f"out.labels.{k}"])


def test_the_bounds_of_every_array_are_told():
    data = MultiDataSet([[[1.0], [3.0]], [[0.0], [8.0]]], [[[2.0], [4.0]]])
    scaler = NormalizerMinMaxScaler(fit_label=True).fit(data)
    assert [float(low[0]) for low in scaler.mins] == [1.0, 0.0]
    assert [float(high[0]) for high in scaler.maxs] == [3.0, 8.0]
    assert [float(low[0]) for low in scaler.label_mins] == [2.0]
    assert [float(high[0]) for high in scaler.label_maxs] == [4.0]


def test_nothing_is_told_before_fit():
    assert NormalizerMinMaxScaler().mins == ()
    assert not NormalizerMinMaxScaler().is_fitted


def test_a_large_constant_gives_numbers():
    """1000 + 1e-5 is 1000 in float32: DL4J divides 0 by 0."""
    constant = DataSet(np.full((3, 1), 1000.0, np.float32))
    scaler = NormalizerMinMaxScaler(-1, 1).fit(constant)
    scaled = scaler.transform(constant)
    np.testing.assert_array_equal(scaled.features, np.full((3, 1), -1.0))
    np.testing.assert_array_equal(scaler.revert(scaled).features, constant.features)


def test_values_beyond_the_bounds_lie_outside_the_range():
    scaler = NormalizerMinMaxScaler().fit(DataSet([[0.0], [2.0]]))
    scaled = scaler.transform(DataSet([[4.0], [-2.0]])).features
    np.testing.assert_array_equal(scaled, [[2.0], [-1.0]])


def test_the_range_is_told():
    scaler = NormalizerMinMaxScaler(-1, 2)
    assert (scaler.target_min, scaler.target_max) == (-1, 2)


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (1, 1, r"max_range must be at least min_range \+ 1e-05, got 1 and 1"),
        (2, 1, "got 1 and 2"),
        (0, float("nan"), "max_range must be from .* got nan"),
        ("0", 1, "min_range must be from .* got '0'"),
    ],
)
def test_a_range_that_is_none_is_refused(low, high, message):
    with pytest.raises(OptionError, match=message):
        NormalizerMinMaxScaler(low, high)
