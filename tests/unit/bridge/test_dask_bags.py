"""Dask bags: what their elements are, and what is refused."""

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import ColumnError, DataError, OptionError

db = pytest.importorskip("dask.bag", reason="needs dask[bag]")


def bag(elements, npartitions=2):
    return db.from_sequence(elements, npartitions=npartitions)


def opened(data, **options):
    return open_source(data, SourceOptions(**options))


def blocks_of(source):
    return [block for p in source.partitions for block in p.load_blocks()]


def test_datasets_are_minibatches(rng):
    datasets = [DataSet(rng.random((n, 3)), rng.random((n, 2))) for n in (2, 5, 3)]
    source = opened(bag(datasets))
    assert source.minibatches
    for block, dataset in zip(blocks_of(source), datasets, strict=True):
        assert np.array_equal(block.features, dataset.features)
        assert np.array_equal(block.labels, dataset.labels)


def test_class_numbers_of_datasets_become_rows(rng):
    datasets = [DataSet(rng.random((2, 3)), [0, 2]), DataSet(rng.random((1, 3)), [1])]
    blocks = blocks_of(opened(bag(datasets), n_classes=3))
    assert np.array_equal(blocks[0].labels, np.eye(3)[[0, 2]])


def test_multi_datasets_are_minibatches(rng):
    multi = [
        MultiDataSet([rng.random((2, 3)), rng.random((2, 4))], [rng.random((2, 1))])
        for _ in range(3)
    ]
    blocks = blocks_of(opened(bag(multi), n_classes=2))
    pairs = zip(blocks, multi, strict=True)
    assert all(np.array_equal(b.features[1], m.features[1]) for b, m in pairs)


def test_features_and_labels_are_an_example_each(rng):
    examples = [(rng.random(3), number % 2) for number in range(5)]
    source = opened(bag(examples), n_classes=2)
    assert not source.minibatches
    features = np.concatenate([p.load().features for p in source.partitions])
    labels = np.concatenate([p.load().labels for p in source.partitions])
    assert np.array_equal(features, np.stack([x for x, _ in examples]))
    assert np.array_equal(labels, np.eye(2)[[0, 1, 0, 1, 0]])


def test_several_inputs_of_an_example_are_a_tuple(rng):
    examples = [((rng.random(2), rng.random(3)), rng.random(1)) for _ in range(4)]
    (first, *_) = blocks_of(opened(bag(examples)))
    assert [array.shape for array in first.features] == [(2, 2), (2, 3)]


def test_pairs_keep_their_keys_whatever_they_are(rng):
    keys = [frozenset("a"), ("b", 1), None, 3]
    pairs = [(key, rng.random(2)) for key in keys]
    source = opened(bag(pairs), require_labels=False)
    partitions = source.partitions
    assert all(partition.has_keys() for partition in partitions)
    found = [key for p in partitions for key in p.told_keys(p.load().keys)]
    assert found == keys


def test_masks_stand_behind_keyed_features(rng):
    triples = [(k, rng.random((2, 3)), [1, 1, 0]) for k in "ab"]
    (block,) = blocks_of(opened(bag(triples, 1), require_labels=False))
    assert block.features_mask.tolist() == [[1, 1, 0], [1, 1, 0]]


ROWS = [{"a": 1, "b": 0.5, "y": 0, "id": "u"}, {"a": 2, "b": 1.5, "y": 1, "id": "v"}]


def test_dicts_are_rows_of_a_table():
    source = opened(bag(ROWS), features=("a", "b"), label="y", key="id", n_classes=2)
    loaded = [partition.load() for partition in source.partitions]
    features = np.concatenate([one.features for one in loaded])
    assert features.tolist() == [[1, 0.5], [2, 1.5]]
    assert [key for one in loaded for key in one.keys] == ["u", "v"]
    assert loaded[1].labels.tolist() == [[0, 1]]


def test_dicts_heed_what_tables_do():
    rows = [{"x": [1.0], "id": 1, "s": "a"}, {"id": 2, "s": "b"}]
    rows += [{"x": [2.0, 3.0], "id": 3, "s": "c"}]
    source = opened(
        bag(rows, 1),
        features="x",
        key="id",
        keep="s",
        align="end",
        handle_invalid="skip",
        require_labels=False,
    )
    (loaded,) = source.partitions[0].load_rows()
    assert (loaded.keys.tolist(), loaded.skipped) == ([1, 3], 1)
    kept = source.partitions[0].kept_columns([loaded.columns])
    assert kept["s"].to_pylist() == ["a", "c"]


def test_tuples_of_numbers_have_numbered_columns():
    source = opened(
        bag([(1.0, 2.0, 0), (3.0, 4.0, 1)]), features=("_c0", "_c1"), label="_c2"
    )
    features = [partition.load().features for partition in source.partitions]
    assert np.concatenate(features).tolist() == [[1, 2], [3, 4]]


def test_numbers_may_be_whole_in_the_first_rows_only():
    rows = [{"x": 1, "y": 0}, {"x": 0.5, "y": 1}]
    features = [
        p.load().features for p in opened(bag(rows), features="x", label="y").partitions
    ]
    assert np.concatenate(features).tolist() == [[1], [0.5]]


@pytest.mark.parametrize(
    ("elements", "options"),
    [
        ([(np.ones(3), 0), (np.zeros(3), 1)], {}),
        ([DataSet(np.ones((2, 3)), [[0.0], [1.0]])] * 2, {}),
        ([{"x": 1.0, "y": 0}, {"x": 1.0, "y": 1}], {"features": "x", "label": "y"}),
    ],
    ids=["examples", "datasets", "rows"],
)
def test_partitions_without_elements_have_no_rows(elements, options):
    def keep_last(part, number):
        return list(part) if number == 1 else []

    data = db.from_delayed([_part(keep_last, elements, number) for number in range(3)])
    sizes = [p.load().num_examples for p in opened(data, **options).partitions]
    assert [size > 0 for size in sizes] == [False, True, False]


def _part(keep, elements, number):
    import dask

    return dask.delayed(keep)(elements, number)


def test_only_what_tells_the_kind_is_computed_when_it_is_opened():
    seen = []

    def noted(number):
        seen.append(number)
        return np.full(2, number, np.float32), 0

    source = opened(bag(range(6), 3).map(noted))
    assert seen == [0]
    assert source.partitions[2].load().features.tolist() == [[4, 4], [5, 5]]
    assert seen == [0, 4, 5]


REFUSED = {
    "texts": (["a.csv", "b.csv"], {}, "Give paths as a list"),
    "numbers": ([1.0, 2.0], {}, "elements must be DataSets"),
    "empty": ([], {}, "must hold an example, got none"),
    "of two kinds": ([DataSet([[1.0]], [[1.0]]), 3], {}, "element 1 is a int"),
    "ragged": ([(np.ones(2), 1), ([1.0, [2.0]], 0)], {}, "must be an array"),
    "no labels": ([("k", np.ones(2))], {}, "labels must be there"),
}


@pytest.mark.parametrize(
    ("elements", "options", "message"), REFUSED.values(), ids=REFUSED
)
def test_what_is_no_example_is_refused(elements, options, message):
    with pytest.raises(DataError, match=message):
        blocks_of(opened(bag(elements, 1), **options))


@pytest.mark.parametrize(
    "options",
    [{"format": "csv"}, {"key": "k"}, {"align": "end"}, {"multi_line": True}],
)
def test_options_that_mean_nothing_for_arrays_are_refused(options):
    (name,) = options
    with pytest.raises(OptionError, match=name):
        opened(bag([(np.ones(2), 0)]), **options)


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(ColumnError, match="'z'"):
        opened(bag(ROWS), features="z", label="y")


def test_a_row_that_is_none_is_refused():
    with pytest.raises(ColumnError, match="dicts or tuples as the first is"):
        blocks_of(opened(bag([*ROWS, 3], 1), features="a", label="y"))
