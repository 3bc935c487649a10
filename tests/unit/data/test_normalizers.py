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
from tests.unit.dl4j.golden import expected_dataset

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


@pytest.mark.parametrize("name", ["standardize_2d", "standardize_3d_masked"])
def test_labels_are_normalized_as_dl4j_does(name):
    name = f"{name}_labels"
    normalizer = NormalizerStandardize(fit_label=True).fit(fitted_batches(name))
    expected = expected_dataset(name)
    np.testing.assert_allclose(
        normalizer.label_mean, expected["label_mean"][0], rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        normalizer.label_std, expected["label_std"][0], **FLOAT32
    )
    transformed = normalizer.transform(golden(name, "in"))
    np.testing.assert_allclose(transformed.labels, expected["out.labels"], **FLOAT32)
    np.testing.assert_allclose(
        normalizer.revert(transformed).labels,
        expected["reverted.labels"],
        rtol=1e-5,
        atol=1e-5,
    )


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


@pytest.mark.parametrize("spread", [1e-9, 1.9e-5])
def test_a_feature_that_hardly_varies_is_only_centred(spread):
    """DL4J raises the deviation to 1e-5, and then takes 1e-5 for 0, and 1 for 0."""
    tiny = DataSet(np.array([[0.0], [spread]]))
    normalizer = NormalizerStandardize().fit(tiny)
    assert normalizer.std == 1.0
    np.testing.assert_allclose(
        normalizer.transform(tiny).features, [[-spread / 2], [spread / 2]]
    )


@pytest.mark.parametrize(
    ("column", "dtype", "is_warned_of"),
    [
        ([1.7e9, 1.7e9 + 128], np.float32, True),
        ([1.7e9, 1.7e9 + 3], np.float64, False),
        # Constants: one that may have been anything within 128, and a year.
        ([1.7e9, 1.7e9], np.float32, True),
        ([2024.0, 2024.0], np.float32, False),
        ([2000.0, 2024.0], np.float32, False),
        ([0.0, 1.0], np.float32, False),
    ],
)
def test_features_that_may_be_rounded_are_warned_of(
    caplog, column, dtype, is_warned_of
):
    data = DataSet(np.array([[0.0, number] for number in column], dtype))
    NormalizerStandardize().fit(data)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == is_warned_of
    assert all("Column 1 lies from 17000" in text for text in told)


def test_a_feature_that_varies_a_little_is_scaled():
    little = DataSet(np.array([[0.0], [2.1e-5]]))
    np.testing.assert_allclose(NormalizerStandardize().fit(little).std, 1.05e-5)


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


def test_fitting_missing_labels_is_refused():
    with pytest.raises(DataError, match="must hold at least one label that counts"):
        NormalizerStandardize(fit_label=True).fit(DataSet([[1.0]]))


def test_the_figures_of_every_array_are_told():
    data = MultiDataSet([[[1.0], [3.0]], [[0.0], [8.0]]], [[[2.0], [4.0]]])
    normalizer = NormalizerStandardize().fit_label().fit(data)
    assert normalizer.is_fit_label
    assert [float(mean[0]) for mean in normalizer.means] == [2.0, 4.0]
    assert [float(std[0]) for std in normalizer.stds] == [1.0, 4.0]
    assert [float(mean[0]) for mean in normalizer.label_means] == [3.0]
    assert [float(std[0]) for std in normalizer.label_stds] == [1.0]


def test_labels_have_no_strategy_unless_they_are_fitted():
    assert NormalizerStandardize().strategy("labels", 0) is None
    with pytest.raises(OptionError, match="learnt of labels 0 must be of kind None"):
        fitted().learn(fitted().learned("features"), fitted().learned("features"))


def test_labels_that_were_not_fitted_are_not_told():
    with pytest.raises(OptionError, match="labels must be fitted before they are"):
        _ = fitted().label_mean


def test_examples_without_labels_are_normalized_all_the_same():
    normalizer = NormalizerStandardize(fit_label=True)
    normalizer.fit(DataSet([[1.0], [3.0]], [[0.0], [4.0]]))
    assert normalizer.transform(DataSet([[3.0]])).labels is None


def test_predictions_are_reverted_to_the_units_of_the_labels():
    normalizer = NormalizerStandardize(fit_label=True)
    normalizer.fit(DataSet([[1.0], [3.0]], [[0.0], [4.0]]))
    np.testing.assert_array_equal(normalizer.revert_labels(np.array([[1.0]])), [[4.0]])
    (reverted,) = normalizer.revert_labels([np.array([[1.0]])])
    np.testing.assert_array_equal(reverted, [[4.0]])


def test_predictions_are_left_alone_where_labels_are():
    predicted = np.array([[1.0]])
    assert fitted().revert_labels(predicted) is predicted


def test_features_are_reverted_alone():
    np.testing.assert_array_equal(
        fitted().revert_features(np.array([[1.0, -1.0]])), [[3.0, 5.0]]
    )


def test_what_is_no_number_below_a_mask_is_dropped():
    """DL4J multiplies by the mask, which leaves it."""
    series = DataSet(np.array([[[1.0, 3.0, np.nan]]]), None, np.array([[1, 1, 0]]))
    normalizer = NormalizerStandardize().fit(series)
    np.testing.assert_array_equal(
        normalizer.transform(series).features, [[[-1.0, 1.0, 0.0]]]
    )


def test_volumes_are_normalized_channel_by_channel(rng):
    """DL4J knows up to rank 4."""
    volumes = DataSet(rng.normal(3, 2, size=(4, 2, 3, 3, 3)))
    scaled = NormalizerStandardize().fit(volumes).transform(volumes).features
    np.testing.assert_allclose(scaled.std(axis=(0, 2, 3, 4)), [1.0, 1.0])


def test_whole_numbers_are_scaled_as_float32():
    """DL4J divides them as whole numbers."""
    pixels = DataSet(np.array([[1], [3]], np.uint8))
    np.testing.assert_array_equal(
        NormalizerStandardize().fit(pixels).transform(pixels).features, [[-1.0], [1.0]]
    )


@pytest.mark.parametrize("shape", [(2, 5), (1, 4), (2, 4, 1)])
def test_a_mask_of_another_shape_is_refused(shape):
    series = DataSet(np.zeros((2, 3, 4)))
    normalizer = NormalizerStandardize().fit(series)
    with pytest.raises(ShapeError, match=r"features: mask must have shape \(2, 4\)"):
        normalizer.revert_features(series.features, np.ones(shape))


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


def test_statistics_need_a_mask_of_steps():
    with pytest.raises(ShapeError, match=r"must have shape \(2, 4\), got \(2, 1\)"):
        FeatureStatistics.of(np.zeros((2, 3, 4)), np.ones((2, 1)))


def test_statistics_need_the_axis():
    with pytest.raises(ShapeError, match=r"must have axis 2, got shape \(3, 1\)"):
        FeatureStatistics.of(np.zeros(3), feature_axis=2)
