"""What Spark exported: written as Spark would, read as workers do."""

import datetime
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DataError, OptionError
from daskdl_bridge import element_blocks
from daskdl_bridge.spark.block_source import open_blocks
from daskdl_bridge.spark.export import Export
from daskdl_bridge.spark.sources import SparkSources
from tests.unit.bridge.table_files import write_parquet
from tests.unit.bridge.uneven_rows import UNEVEN, check_uneven_rows

SCHEMA = pa.schema({"keys": pa.list_(pa.binary()), "arrays": pa.binary()})


@pytest.fixture
def opened(tmp_path):
    """Return a function that writes rows as one file, and opens it."""

    def write(rows, *, minibatches=False, keys=None, row_group_size=3, **options):
        columns = zip(*rows, strict=True)
        table = pa.table(dict(zip(SCHEMA.names, columns, strict=True)), SCHEMA)
        path = tmp_path / "part-00000.parquet"
        pq.write_table(table, path, row_group_size=row_group_size)
        (tmp_path / "_SUCCESS").touch()
        wanted = SourceOptions(**options)
        return open_blocks(
            str(tmp_path), "an RDD", wanted, minibatches=minibatches, keys=keys
        )

    return write


def blocks_of(source):
    return [block for p in source.partitions for block in p.load_blocks()]


def test_a_dataset_is_a_block_with_its_masks(opened, rng):
    datasets = [
        DataSet(
            rng.random((4, 3, n), np.float32),
            rng.random((4, 2, n), np.float32),
            features_mask=np.ones((4, n), np.float32),
            labels_mask=np.zeros((4, n), np.float32),
        )
        for n in (2, 5, 3, 4)
    ]
    source = opened(element_blocks.rows_of_datasets(datasets), minibatches=True)
    assert source.minibatches
    assert len(source.partitions) == 2  # three rows a row group
    for block, dataset in zip(blocks_of(source), datasets, strict=True):
        for name in ("features", "labels", "features_mask", "labels_mask"):
            assert np.array_equal(getattr(block, name), getattr(dataset, name))


def test_a_multi_dataset_keeps_each_input_and_missing_masks(opened, rng):
    first = MultiDataSet(
        [rng.random((2, 3)), rng.random((2, 4, 5))],
        [rng.random((2, 1))],
        features_masks=[None, np.ones((2, 5))],
    )
    (block,) = blocks_of(opened(element_blocks.rows_of_datasets([first])))
    pairs = zip(block.features, first.features, strict=True)
    assert all(np.array_equal(*pair) for pair in pairs)
    assert block.features_masks[0] is None
    assert np.array_equal(block.features_masks[1], first.features_masks[1])
    assert np.array_equal(block.labels[0], first.labels[0])


def test_pairs_keep_their_keys_as_bytes_that_nobody_decodes(opened, rng):
    pairs = [((number, "k"), rng.random(3)) for number in range(5)]
    (block,) = blocks_of(
        opened(element_blocks.rows_of_pairs(pairs), require_labels=False)
    )
    assert [pickle.loads(key) for key in block.keys] == [key for key, _ in pairs]
    assert np.array_equal(block.features, np.stack([x for _, x in pairs]))


PLAIN_KEYS = [
    *(None, True, 7, -(1 << 40), 0.5, "k", b"k", ("a", (1, None))),
    *(datetime.date(2026, 1, 31), datetime.timedelta(hours=1), Decimal("1.5")),
]


def test_plain_keys_are_told_as_they_were(opened):
    pairs = [(key, [1.0]) for key in PLAIN_KEYS]
    rows = element_blocks.rows_of_pairs(pairs)
    (partition,) = opened(rows, keys="values", require_labels=False).partitions
    keys = partition.load().keys
    assert partition.told_keys(keys).tolist() == PLAIN_KEYS
    assert partition.stored_keys(keys).tolist() == PLAIN_KEYS


def test_numbers_of_numpy_are_told_as_those_of_python(opened):
    pairs = [(np.int64(3), [1.0]), (np.float32(0.5), [1.0])]
    rows = element_blocks.rows_of_pairs(pairs)
    (partition,) = opened(rows, keys="values", require_labels=False).partitions
    told = partition.told_keys(partition.load().keys)
    assert [type(key) for key in told] == [int, float]


def test_what_spark_unpickles_is_stored_as_bytes(opened):
    rows = element_blocks.rows_of_pairs([({1, 2}, [1.0])])
    (partition,) = opened(rows, keys="pickles", require_labels=False).partitions
    (key,) = partition.stored_keys(partition.load().keys)
    assert pickle.loads(key) == {1, 2}


@pytest.mark.parametrize(
    "key", [{1, 2}, frozenset("a"), [1], {"a": 1}, ("a", [1]), 1j, Fraction(1, 2)]
)
def test_keys_that_stand_for_no_value_are_refused(opened, key):
    rows = element_blocks.rows_of_pairs([("first", [1.0]), (key, [1.0])])
    (partition,) = opened(rows, keys="values", require_labels=False).partitions
    with pytest.raises(DataError, match="key 1 must be a number, a text"):
        partition.told_keys(partition.load().keys)


def test_elements_without_keys_behind_some_with_are_refused(opened):
    rows = element_blocks.rows_of_datasets([DataSet(np.ones((2, 3)))])
    (partition,) = opened(rows, keys="values", require_labels=False).partitions
    with pytest.raises(DataError, match="all elements of an RDD must have keys"):
        partition.stored_keys(partition.load().keys)


def test_examples_of_other_shapes_begin_another_block(opened, rng):
    lengths = [2, 2, 5, 2]
    pairs = [
        (number, rng.random((3, n)), np.ones(n)) for number, n in enumerate(lengths)
    ]
    blocks = blocks_of(
        opened(element_blocks.rows_of_pairs(pairs), require_labels=False)
    )
    shapes = [block.features.shape for block in blocks]
    assert shapes == [(2, 3, 2), (1, 3, 5), (1, 3, 2)]
    assert [block.features_mask.shape for block in blocks] == [(2, 2), (1, 5), (1, 2)]


def test_several_inputs_come_as_a_tuple(opened, rng):
    pairs = [(number, (rng.random(2), rng.random(3))) for number in range(4)]
    (block,) = blocks_of(
        opened(element_blocks.rows_of_pairs(pairs), require_labels=False)
    )
    assert isinstance(block, MultiDataSet)
    assert [array.shape for array in block.features] == [(4, 2), (4, 3)]


def test_class_numbers_become_rows(opened, rng):
    examples = [(rng.random(2), number % 3) for number in range(6)]
    (block,) = blocks_of(opened(element_blocks.rows_of_examples(examples), n_classes=3))
    assert np.array_equal(block.labels, np.eye(3)[[0, 1, 2, 0, 1, 2]])


def test_a_block_is_bounded(opened):
    pairs = [(number, np.zeros(1 << 18)) for number in range(5)]  # 2 MiB each
    blocks = blocks_of(
        opened(element_blocks.rows_of_pairs(pairs), require_labels=False)
    )
    assert [len(block.features) for block in blocks] == [2, 2, 1]


def test_a_partition_joins_its_blocks(opened, rng):
    features = [rng.random((2, 3)), rng.random((4, 3))]
    rows = element_blocks.rows_of_datasets([DataSet(one) for one in features])
    (partition,) = opened(rows, require_labels=False).partitions
    assert np.array_equal(partition.load().features, np.concatenate(features))


def test_an_exported_table_heeds_what_tables_do(tmp_path):
    url = write_parquet(tmp_path / "x.parquet", UNEVEN)
    check_uneven_rows(SparkSources(), Export(url, "DataFrame", "columns", {}))


@pytest.mark.parametrize("option", ["align", "handle_invalid"])
def test_exported_blocks_heed_nothing_of_tables(tmp_path, option):
    value = {"align": "end", "handle_invalid": "skip"}[option]
    there = Export(str(tmp_path), "RDD", "examples", {})
    with pytest.raises(OptionError, match=f"got {option}='{value}'"):
        SparkSources().open(there, SourceOptions(**{option: value}))


UNUSABLE = {
    "a text": ("abc", "array of numbers"),
    "lists of several lengths": ([[1.0], [1.0, 2.0]], "array of numbers"),
    "an object": ([None, 1.0], "array of numbers, got object"),
    "not finite": ([1.0, float("nan")], "finite numbers"),
}


@pytest.mark.parametrize(("features", "must"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_pair_that_cannot_be_used_is_named_by_its_key(features, must):
    pairs = [("first", [1.0, 2.0]), ("row 7", features)]
    with pytest.raises(
        ValueError, match=f"features of the key 'row 7' must be .*{must}"
    ):
        list(element_blocks.rows_of_pairs(pairs))


def test_what_a_mask_drops_may_be_anything():
    pairs = [("a", [1.0, float("nan")], [1, 0])]
    assert len(list(element_blocks.rows_of_pairs(pairs))) == 1


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (
            ([1.0], ["a"]),
            r"labels of the element \(\[1.0\], \['a'\]\) must be an array",
        ),
        (([1.0],), r"must all be \(features, labels\), got \(\[1.0\],\)"),
        (3, r"must all be \(features, labels\), got 3"),
    ],
)
def test_an_example_that_cannot_be_used_is_shown(element, message):
    with pytest.raises(ValueError, match=message):
        list(element_blocks.rows_of_examples([element]))
