import pickle

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.min_max import NormalizerMinMaxScaler
from daskdl.data.normalizers.standardize import NormalizerStandardize
from daskdl.data.scan import merge_facts, scan_partition
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError, OptionError, ShapeError


def partitions(*datasets):
    return open_source(list(datasets), SourceOptions(require_labels=False)).partitions


def scan(*datasets, statistics=False, **how):
    found = partitions(*datasets)
    return [scan_partition(p, statistics=statistics, **how) for p in found]


def test_facts_say_rows_and_shapes():
    (facts,) = scan(DataSet(np.zeros((4, 3, 5)), np.zeros((4, 2))))
    assert (facts.name, facts.rows) == ("DataSet 0", 4)
    assert (facts.features, facts.labels) == (((3, 5),), ((2,),))
    assert facts.statistics is None


def test_facts_can_be_pickled(rng):
    facts = scan(DataSet(rng.normal(size=(4, 3))), statistics=True)[0]
    assert pickle.loads(pickle.dumps(facts)).rows == 4


def test_merged_statistics_fit_a_normalizer_as_the_data_do(rng):
    batches = [DataSet(rng.normal(size=(n, 3))) for n in (4, 0, 7)]
    merged = merge_facts(scan(*batches, statistics=True))
    normalizer = NormalizerStandardize().fit_statistics(merged.statistics)
    direct = NormalizerStandardize().fit(batches)
    assert merged.rows == 11
    np.testing.assert_allclose(normalizer.mean, direct.mean)
    np.testing.assert_allclose(normalizer.std, direct.std)


def test_labels_have_statistics_on_request(rng):
    batches = [
        DataSet(rng.normal(size=(n, 3)), rng.normal(size=(n, 2))) for n in (4, 7)
    ]
    merged = merge_facts(scan(*batches, statistics=True, label_statistics=True))
    normalizer = NormalizerMinMaxScaler(fit_label=True)
    normalizer.fit_statistics(merged.statistics, merged.label_statistics)
    direct = NormalizerMinMaxScaler(fit_label=True).fit(batches)
    np.testing.assert_array_equal(normalizer.label_max, direct.label_max)
    np.testing.assert_array_equal(normalizer.min, direct.min)


def test_labels_have_no_statistics_unasked(rng):
    data = DataSet(rng.normal(size=(4, 3)), rng.normal(size=(4, 2)))
    assert scan(data, statistics=True)[0].label_statistics is None


def test_masked_steps_do_not_count_in_the_statistics():
    series = np.array([[[1.0, 3.0, 1000.0]]])
    (facts,) = scan(DataSet(series, None, [[1, 1, 0]]), statistics=True)
    assert facts.statistics[0].mean == 2.0


def test_merged_shapes_are_those_of_the_longest_time_series():
    short, long = np.zeros((1, 3, 4)), np.zeros((1, 3, 6))
    assert merge_facts(scan(DataSet(long), DataSet(short))).features == ((3, 6),)


def test_merged_masks_are_those_of_the_longest_time_series():
    short, long = np.zeros((1, 3, 4)), np.zeros((1, 3, 6))
    masked = DataSet(long, None, np.ones((1, 6)))
    facts = merge_facts(scan(DataSet(short), masked, DataSet(short)))
    assert (facts.features_masks, facts.labels_masks) == (((6,),), ())


def test_statistics_are_not_merged_with_none(rng):
    batches = [DataSet(rng.normal(size=(2, 3))) for _ in range(2)]
    facts = [scan(batches[0], statistics=True)[0], scan(batches[1])[0]]
    assert merge_facts(facts).statistics is None


def test_only_empty_partitions_are_no_rows():
    assert merge_facts(scan(DataSet(np.zeros((0, 2))))).rows == 0


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        (
            DataSet([[0.0], [np.nan]]),
            r"^DataSet 0: features must hold finite .* got nan in row 1, column 0\.$",
        ),
        (
            DataSet([[0.0], [1.0]], [[np.inf], [0.0]]),
            r"^DataSet 0: labels must hold finite .* got inf in row 0, column 0\.$",
        ),
        (
            MultiDataSet([np.zeros((2, 1)), np.array([[0.0], [np.nan]])]),
            r"^MultiDataSet 0: features\[1\] must hold finite numbers",
        ),
    ],
)
def test_numbers_that_are_not_finite_are_named(examples, message):
    with pytest.raises(DataError, match=message):
        scan(examples)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            DataSet(np.zeros((1, 3)), [[1.0]]),
            r"features .* DataSet 0, \(2,\), got \(3,\)",
        ),
        (DataSet(np.zeros((1, 2))), r"labels .* in DataSet 0, \(1,\), got none"),
        (DataSet(np.zeros((1, 2, 4)), [[1.0]]), r"features .* got \(2, 4\)"),
    ],
)
def test_partitions_of_other_shapes_are_named(other, message):
    with pytest.raises(ShapeError, match=rf"^DataSet 1: {message}\.$"):
        merge_facts(scan(DataSet(np.zeros((1, 2)), [[1.0]]), other))


def test_merging_nothing_is_refused():
    with pytest.raises(OptionError, match="facts must hold at least one, got none"):
        merge_facts([])
