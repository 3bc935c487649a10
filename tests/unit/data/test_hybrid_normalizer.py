"""A strategy for each input and output, against the real DL4J 1.0.0-M2.1."""

import numpy as np
import pytest

from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.hybrid import MultiNormalizerHybrid
from daskdl.data.normalizers.stats import DistributionStats
from daskdl.data.normalizers.strategies import MinMaxStrategy, StandardizeStrategy
from daskdl.errors import DataError, FormatError, OptionError
from tests.unit.dl4j.golden import expected_normalized

PARTS = ("features", "labels", "features_mask", "labels_mask")


def golden(values, prefix):
    return MultiDataSet(
        *([values.get(f"{prefix}.{part}.{k}") for k in range(2)] for part in PARTS)
    )


def two():
    return MultiDataSet(
        [np.array([[0.0], [4.0]]), np.array([[1.0], [3.0]])], [np.array([[5.0], [7.0]])]
    )


def test_every_array_is_normalized_as_dl4j_does():
    values = expected_normalized("multi_hybrid")
    normalizer = (
        MultiNormalizerHybrid()
        .standardize_all_inputs()
        .min_max_scale_input(1, -1, 1)
        .min_max_scale_output(0)
        .standardize_output(1)
        .fit([golden(values, "fit0"), golden(values, "fit1")])
    )
    scaled = normalizer.transform(golden(values, "fit0"))
    for group in ("features", "labels"):
        for k in range(2):
            np.testing.assert_allclose(
                getattr(scaled, group)[k], values[f"out.{group}.{k}"], atol=1e-6
            )
    reverted = normalizer.revert(scaled).labels[0]
    np.testing.assert_allclose(reverted, values["fit0.labels.0"], atol=1e-5)


def test_what_has_no_strategy_is_left_alone():
    data = two()
    normalizer = MultiNormalizerHybrid().standardize_input(0).fit(data)
    scaled = normalizer.transform(data)
    assert scaled.features[1] is data.features[1]
    assert scaled.labels[0] is data.labels[0]
    np.testing.assert_array_equal(scaled.features[0], [[-1.0], [1.0]])


def test_a_strategy_of_its_own_goes_before_the_one_for_all():
    chosen = MultiNormalizerHybrid().min_max_scale_all_inputs().standardize_input(1)
    assert chosen.strategy("features", 0) == MinMaxStrategy()
    assert chosen.strategy("features", 1) == StandardizeStrategy()
    assert chosen.strategy("labels", 0) is None


def test_outputs_alone_can_be_normalized():
    normalizer = MultiNormalizerHybrid().min_max_scale_all_outputs(0, 10).fit(two())
    assert normalizer.is_fit_label
    np.testing.assert_array_equal(normalizer.transform(two()).labels[0], [[0.0], [10]])


def test_all_outputs_can_be_standardized():
    normalizer = MultiNormalizerHybrid().standardize_all_outputs().fit(two())
    np.testing.assert_array_equal(normalizer.transform(two()).labels[0], [[-1.0], [1]])


def test_outputs_that_are_not_there_are_refused():
    inputs = MultiDataSet([[[1.0]]])
    with pytest.raises(DataError, match="at least one label that counts"):
        MultiNormalizerHybrid().standardize_output(0).fit(inputs)


def test_labels_are_not_chosen_by_a_flag():
    with pytest.raises(OptionError, match="as by standardize_all_outputs, got"):
        MultiNormalizerHybrid().fit_label()


def test_an_index_needs_a_strategy():
    with pytest.raises(OptionError, match=r"index >= 0 must come .* got -1 and Stan"):
        MultiNormalizerHybrid().standardize_input(-1)
    with pytest.raises(OptionError, match="got 1 and None"):
        MultiNormalizerHybrid().choose("features", None, 1)


def test_what_was_learnt_must_be_of_the_strategys_kind():
    stats = {0: DistributionStats(np.zeros(1), np.ones(1))}
    with pytest.raises(OptionError, match="of kind 'min_max', got 'standardize'"):
        MultiNormalizerHybrid().min_max_scale_input(0).learn(stats)
    with pytest.raises(OptionError, match="of kind None, got 'standardize'"):
        MultiNormalizerHybrid().learn(stats)


@pytest.mark.parametrize("is_fitted", [True, False])
def test_dict_and_back_is_identity(is_fitted):
    normalizer = (
        MultiNormalizerHybrid(feature_axis=-1)
        .standardize_all_inputs()
        .min_max_scale_input(1, -1, 1)
        .standardize_all_outputs()
    )
    if is_fitted:
        normalizer.fit(two())
    again = MultiNormalizerHybrid.from_dict(normalizer.to_dict())
    assert again.to_dict() == normalizer.to_dict()
    assert again.is_fitted == is_fitted


def test_a_strategy_may_be_its_name():
    values = {"type": "multi_hybrid", "global_input_strategy": "standardize"}
    chosen = MultiNormalizerHybrid.from_dict(values)
    assert chosen.strategy("features", 3) == StandardizeStrategy()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"global_input_strategy": "minmax"}, "among .* got 'minmax'.* mean 'min_max'"),
        ({"global_input_strategy": 3}, "a strategy must have a type among"),
        (
            {"global_input_strategy": {"type": "min_max", "min": 3}},
            r"numbers for 'min_range', 'max_range', got \{'min': 3\}",
        ),
        (
            {"global_input_strategy": {"type": "standardize", "min_range": 3}},
            r"must have numbers for nothing, got \{'min_range': 3\}",
        ),
        (
            {"global_input_strategy": {"type": "min_max", "min_range": True}},
            "must have numbers for",
        ),
        (
            {"per_input_strategies": {"x": "standardize"}},
            "mappings from the index",
        ),
        ({"per_input_strategies": ["standardize"]}, "mappings from the index"),
        ({"input_stats": {"0": {"type": "x"}}}, "statistics must have a type among"),
        ({"input_stats": {"0": 3}}, "statistics must have a type among"),
        ({"per_inputs": {}}, "keys must be among .* got 'per_inputs'"),
    ],
)
def test_a_foreign_dict_is_refused(values, message):
    with pytest.raises(FormatError, match=rf"^MultiNormalizerHybrid.*{message}"):
        MultiNormalizerHybrid.from_dict({"type": "multi_hybrid", **values})
