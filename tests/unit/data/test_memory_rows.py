"""Rows of data in memory are cut and gathered, and stay what they are."""

import numpy as np
import pytest

from daskdl import DataSet, MultiDataSet, SourceOptions, open_source
from daskdl.data.plan import plan_given, plan_minibatches
from daskdl.data.reader import MinibatchReader
from daskdl.data.sources.memory_rows import (
    LEAST_BYTES,
    cut_source,
    gathered,
    is_part_of_memory,
)


@pytest.fixture
def data(rng):
    features = rng.normal(size=(50, 4)).astype(np.float32)
    return DataSet(features, np.eye(3)[rng.integers(0, 3, 50)], keys=np.arange(50))


def opened(data, **options):
    return open_source(data, SourceOptions(**options))


def read(partitions, minibatches):
    reader = MinibatchReader(partitions)
    return [reader.read(minibatch) for minibatch in minibatches]


def test_minibatches_are_the_same_out_of_their_own_rows(data):
    source = opened([data, data], n_classes=3)
    plan = plan_minibatches([50, 50], 8)
    share = [plan[7], plan[2], plan[6]]
    sent, placed = gathered(source.partitions, share, 2)
    for found, expected in zip(
        read(sent, placed), read(source.partitions, share), strict=True
    ):
        np.testing.assert_array_equal(found.features, expected.features)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_array_equal(found.keys, expected.keys)


def test_no_row_is_sent_that_is_not_needed(data):
    source, plan = opened(data), plan_minibatches([50], 8)
    shares = [plan[rank::3] for rank in range(3)]
    sent = [gathered(source.partitions, share, 1)[0] for share in shares]
    rows = [sum(one.rows for one in each.values()) for each in sent]
    assert rows == [18, 16, 16]


def test_minibatches_keep_their_numbers_and_their_order(data):
    plan = plan_minibatches([50], 8)
    _, placed = gathered(opened(data).partitions, [plan[3], plan[1]], 1)
    assert [one.index for one in placed] == [3, 1]
    assert [one.rows for one in placed] == [8, 8]


def test_all_rows_are_sent_as_they_are(data):
    source, plan = opened(data), plan_minibatches([50], 8)
    sent, placed = gathered(source.partitions, plan, 1)
    assert sent == {0: source.partitions[0]}
    assert placed == plan


def test_several_inputs_are_gathered_with_their_masks(rng):
    features = [rng.normal(size=(20, 2, 5)), rng.normal(size=(20, 3))]
    mask = rng.integers(0, 2, (20, 5))
    data = MultiDataSet(features, [rng.normal(size=(20, 1))], [mask, None])
    plan = plan_minibatches([20], 4)
    source = opened(data)
    sent, placed = gathered(source.partitions, [plan[1], plan[4]], 1)
    (first, second) = read(sent, placed)
    np.testing.assert_array_equal(first.features[0], features[0][4:8])
    np.testing.assert_array_equal(second.features_masks[0], mask[16:])


def test_a_data_set_that_is_a_minibatch_is_no_part(data):
    source = opened([data, data])
    assert not is_part_of_memory(source.partitions, plan_given([50, 50])[0])
    assert is_part_of_memory(source.partitions, plan_minibatches([50, 50], 8)[0])


def test_data_in_memory_are_cut_between_minibatches(rng):
    rows = LEAST_BYTES // 400 * 5
    data = DataSet(rng.normal(size=(rows, 100)).astype(np.float32), np.zeros((rows, 1)))
    cut = cut_source(opened(data), pieces=4, batch_size=64)
    sizes = [partition.rows for partition in cut.partitions]
    assert len(sizes) in (4, 5)
    assert all(size % 64 == 0 for size in sizes[:-1])
    joined = np.concatenate([one.load().features for one in cut.partitions])
    np.testing.assert_array_equal(joined, data.features)
    held = [one.examples.features for one in cut.partitions]
    assert all(np.shares_memory(one, data.features) for one in held)


def test_little_data_stay_whole(data):
    source = opened(data)
    assert cut_source(source, pieces=8, batch_size=4) == source


def test_no_data_stay_whole():
    source = opened(DataSet(np.zeros((0, 4)), np.zeros((0, 3))))
    assert cut_source(source, pieces=8, batch_size=4) == source
