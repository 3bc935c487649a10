"""Against the real DL4J 1.0.0-M2.1, and what it does not say."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.standardize import NormalizerStandardize
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.data.statistics import FeatureStatistics
from daskdl.errors import DataError, FormatError, OptionError, ShapeError
from tests.unit.data.golden import expected_dataset

GOLDEN = [
    "standardize_2d",
    "standardize_3d_masked",
    "standardize_4d",
    "standardize_constant_column",
]
# DL4J computes in float32.
FLOAT32 = {"rtol": 2e-6, "atol": 2e-6}


def golden(name, prefix):
    values = expected_dataset(name)
    parts = ("features", "labels", "features_mask", "labels_mask")
    return DataSet(*(values.get(f"{prefix}.{part}") for part in parts))


def fitted_batches(name):
    prefixes = {key.split(".")[0] for key in expected_dataset(name)}
    return [golden(name, p) for p in sorted(prefixes) if p.startswith("fit")]


def fitted():
    return NormalizerStandardize().fit(DataSet([[1.0, 5.0], [3.0, 9.0]]))


@pytest.mark.parametrize("name", GOLDEN)
def test_mean_and_std_are_dl4js(name):
    normalizer = NormalizerStandardize().fit(fitted_batches(name))
    expected = expected_dataset(name)
    np.testing.assert_allclose(normalizer.mean, expected["mean"][0], **FLOAT32)
    np.testing.assert_allclose(normalizer.std, expected["std"][0], **FLOAT32)


@pytest.mark.parametrize("name", GOLDEN)
def test_what_is_transformed_is_dl4js(name):
    normalizer = NormalizerStandardize().fit(fitted_batches(name))
    transformed = normalizer.transform(golden(name, "in"))
    expected = golden(name, "out")
    np.testing.assert_allclose(transformed.features, expected.features, **FLOAT32)
    np.testing.assert_array_equal(transformed.labels, expected.labels)


@pytest.mark.parametrize("name", GOLDEN)
def test_what_is_reverted_is_dl4js(name):
    normalizer = NormalizerStandardize().fit(fitted_batches(name))
    reverted = normalizer.revert(normalizer.transform(golden(name, "in")))
    expected = expected_dataset(name)["reverted.features"]
    np.testing.assert_allclose(reverted.features, expected, rtol=1e-5, atol=1e-5)


def test_several_inputs_are_normalized_as_dl4j_does():
    values = expected_dataset("standardize_2d")
    inputs = MultiDataSet([values["fit0.features"], 2 * values["fit0.features"]])
    normalizer = NormalizerStandardize().fit(inputs)
    first, second = normalizer.transform(inputs).features
    np.testing.assert_allclose(first, second, **FLOAT32)


def test_the_last_axis_serves_channels_last_data(rng):
    images = rng.normal(size=(4, 3, 5, 5))
    first = NormalizerStandardize().fit(DataSet(images))
    last_images = DataSet(np.moveaxis(images, 1, -1))
    last = NormalizerStandardize(feature_axis=-1).fit(last_images)
    np.testing.assert_allclose(last.mean, first.mean)
    np.testing.assert_allclose(
        last.transform(last_images).features,
        np.moveaxis(first.transform(DataSet(images)).features, 1, -1),
    )


def test_a_feature_that_is_constant_over_several_batches_has_std_1():
    """0.1 has no exact mean, so the variance is not exactly 0."""
    batches = [DataSet(np.full((n, 1), 0.1)) for n in (3, 7, 11)]
    assert NormalizerStandardize().fit(batches).std == 1.0


def test_a_feature_that_hardly_varies_has_the_least_std():
    tiny = DataSet(np.array([[0.0], [1e-9]]))
    assert NormalizerStandardize().fit(tiny).std == 1e-5


def test_the_examples_given_are_not_changed():
    examples = DataSet(np.array([[1.0, 5.0], [3.0, 9.0]]))
    fitted().transform(examples)
    np.testing.assert_array_equal(examples.features, [[1.0, 5.0], [3.0, 9.0]])


def test_keys_masks_and_labels_stay(rng):
    series = DataSet(
        rng.normal(size=(2, 3, 4)), np.ones((2, 1)), np.ones((2, 4)), keys=["a", "b"]
    )
    transformed = NormalizerStandardize().fit(series).transform(series)
    assert transformed.labels is series.labels
    assert transformed.features_mask is series.features_mask
    assert transformed.keys is series.keys


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float64", "float64"), ("float32", "float32"), ("uint8", "float32")],
)
def test_the_dtype_stays_if_it_is_float(dtype, expected):
    examples = DataSet(np.array([[1, 5], [3, 9]], dtype))
    assert fitted().transform(examples).features.dtype == expected


def test_a_source_is_fitted_partition_by_partition(rng):
    batches = [DataSet(rng.normal(size=(n, 2))) for n in (3, 5)]
    source = open_source(batches, SourceOptions(require_labels=False))
    np.testing.assert_array_equal(
        NormalizerStandardize().fit(source).std,
        NormalizerStandardize().fit(batches).std,
    )


def test_dict_and_back_is_identity_through_json():
    values = json.loads(json.dumps(fitted().to_dict()))
    again = NormalizerStandardize.from_dict(values)
    np.testing.assert_array_equal(again.mean, fitted().mean, strict=True)
    np.testing.assert_array_equal(again.std, fitted().std, strict=True)
    assert again.feature_axis == 1


def test_a_foreign_dict_is_refused():
    with pytest.raises(FormatError, match=r"must have type 'standardize', .* 'minmax'"):
        NormalizerStandardize.from_dict({"type": "minmax", "mean": [], "std": []})


@pytest.mark.parametrize("data", [[], DataSet(np.zeros((0, 2)))])
def test_fitting_nothing_is_refused(data):
    with pytest.raises(DataError, match="must hold at least one example that counts"):
        NormalizerStandardize().fit(data)


def test_using_it_before_fit_is_refused():
    with pytest.raises(OptionError, match="must be fitted before it is used"):
        NormalizerStandardize().transform(DataSet([[1.0]]))


def test_another_width_is_refused():
    with pytest.raises(ShapeError, match=r"2 entries along axis 1, got shape \(1, 3\)"):
        fitted().transform(DataSet([[1.0, 2.0, 3.0]]))


def test_another_number_of_inputs_is_refused():
    one = np.zeros((1, 2))
    with pytest.raises(ShapeError, match=r"must have the 1 inputs .* got 2"):
        fitted().transform(MultiDataSet([one, one]))
    with pytest.raises(ShapeError, match="same number of inputs, got 2 and 1"):
        NormalizerStandardize().fit([MultiDataSet([one, one]), MultiDataSet([one])])


def test_another_axis_is_refused():
    with pytest.raises(OptionError, match="feature_axis must be one of -1, 1, got 2"):
        NormalizerStandardize(feature_axis=2)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_merged_statistics_are_those_of_all_examples(sizes, seed):
    values = np.random.default_rng(seed).normal(5, 3, size=(sum(sizes), 2))
    parts = np.split(values, np.cumsum(sizes)[:-1])
    merged = FeatureStatistics.of(parts[0])
    for part in parts[1:]:
        merged = merged.merge(FeatureStatistics.of(part))
    whole = FeatureStatistics.of(values)
    assert merged.count == whole.count
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(merged.std, whole.std, rtol=1e-9)
    np.testing.assert_array_equal(merged.minimum, whole.minimum)


def test_statistics_of_another_width_do_not_merge():
    with pytest.raises(ShapeError, match="same number of features, got 2 and 3"):
        FeatureStatistics.of(np.zeros((1, 2))).merge(
            FeatureStatistics.of(np.zeros((1, 3)))
        )


def test_statistics_need_the_axis():
    with pytest.raises(ShapeError, match=r"must have axis 1, got shape \(3,\)"):
        FeatureStatistics.of(np.zeros(3))
