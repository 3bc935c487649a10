"""Shuffling across files: every example once, in an order that the seed decides."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import daskdl
from daskdl import DataSet, MultiDataSet, shuffled
from daskdl.data.sources.partition import Partition, Source
from daskdl.errors import DataError, OptionError, OutputExistsError
from tests.unit.bridge.table_files import write_parquet

# A row of a float32 feature and label.
ROW_BYTES = 8


def dataset(numbers):
    x = np.asarray(numbers, dtype="float32")[:, None]
    return DataSet(x, -x)


@dataclass(frozen=True)
class Blocks(Partition):
    """A partition of blocks of as many rows."""

    n_blocks: int
    block_rows: int
    name: str = "blocks"
    rows: None = None

    def load(self):
        return dataset(range(self.n_blocks * self.block_rows))

    def load_blocks(self):
        yield from self.load().batches(self.block_rows)


def numbers(source):
    """Return the numbers of the examples, after a look at their labels."""
    loaded = DataSet.merge([one.load() for one in source.partitions])
    np.testing.assert_array_equal(loaded.labels, -loaded.features)
    return loaded.features[:, 0].astype(int).tolist()


def test_every_example_comes_once_and_mixed(tmp_path):
    data = [dataset(range(50)), dataset(range(50, 60)), dataset(range(60, 100))]
    found = numbers(shuffled(data, tmp_path / "s", seed=3, bucket_bytes=30 * ROW_BYTES))
    assert sorted(found) == list(range(100))
    # Bound by 6 deviations: ranks of a random order have no correlation.
    assert abs(np.corrcoef(found, np.arange(100))[0, 1]) < 0.6


@pytest.mark.parametrize("bucket_rows", [1, 7, 30, 1000])
def test_neither_partitions_nor_buckets_matter(tmp_path, bucket_rows):
    whole = shuffled(dataset(range(90)), tmp_path / "whole", seed=3)
    cut = shuffled(
        [dataset(range(start, start + 9)) for start in range(0, 90, 9)],
        tmp_path / "cut",
        seed=3,
        bucket_bytes=bucket_rows * ROW_BYTES,
    )
    assert numbers(cut) == numbers(whole)


def test_the_seed_decides(tmp_path):
    first, again, other = (
        numbers(shuffled(dataset(range(50)), tmp_path / f"{number}", seed=seed))
        for number, seed in enumerate((1, 1, 2))
    )
    assert first == again
    assert first != other


def test_buckets_hold_what_they_may(tmp_path):
    source = shuffled(
        dataset(range(100)), tmp_path / "s", seed=3, bucket_bytes=30 * ROW_BYTES
    )
    assert [one.rows for one in source.partitions] == [30, 30, 30, 10]
    assert [len(one.load()) for one in source.partitions] == [30, 30, 30, 10]


def test_a_file_is_written_for_each_full_buffer(tmp_path):
    """Not one for each pair of block and bucket."""
    source = Source("blocks", (Blocks(10, 100),))
    found = shuffled(source, tmp_path / "s", seed=3, bucket_bytes=250 * ROW_BYTES)
    assert sorted(numbers(found)) == list(range(1000))
    # Three blocks fill a buffer.
    assert len(list((tmp_path / "s").iterdir())) == 4


def test_series_keep_their_masks(tmp_path):
    """Those of a bucket are filled up to the longest one."""
    data = [
        DataSet(np.full((2, 1, length), length), np.full((2, 1, length), length))
        for length in (2, 3, 5)
    ]
    source = shuffled(data, tmp_path / "s", seed=3)
    (loaded,) = [one.load() for one in source.partitions]
    lengths = loaded.features[:, 0, 0]
    np.testing.assert_array_equal(loaded.features_mask.sum(axis=1), lengths)


def test_series_stay_at_the_end_where_they_stood_there(tmp_path):
    """Those of two files, which are padded once more where they meet."""
    for part, rows in enumerate(([[1.0], [2.0, 2.0]], [[3.0, 3.0, 3.0]])):
        columns = {"x": rows, "y": [0] * len(rows)}
        write_parquet(tmp_path / f"{part}.parquet", columns)
    source = shuffled(
        [str(tmp_path / f"{part}.parquet") for part in range(2)],
        tmp_path / "s",
        seed=3,
        features="x",
        label="y",
        n_classes=2,
        align="end",
    )
    (partition,) = source.partitions
    loaded = partition.load()
    np.testing.assert_array_equal(loaded.features_mask[:, -1], [1, 1, 1])
    assert sorted(loaded.features[:, 0, -1]) == [1, 2, 3]
    assert partition.align == "end"


def test_multi_data_sets_are_shuffled(tmp_path):
    x = np.arange(20.0)[:, None]
    data = MultiDataSet([x, 2 * x], [3 * x])
    (partition,) = shuffled(data, tmp_path / "s", seed=3).partitions
    loaded = partition.load()
    np.testing.assert_array_equal(2 * loaded.features[0], loaded.features[1])
    np.testing.assert_array_equal(3 * loaded.features[0], loaded.labels[0])
    assert sorted(loaded.features[0][:, 0]) == x[:, 0].tolist()


def test_preprocessors_run_where_buckets_are_loaded(tmp_path):
    scaler = daskdl.ImagePreProcessingScaler()
    data = dataset(range(20))
    source = shuffled(data, tmp_path / "s", seed=3, pre_processor=scaler)
    plain = shuffled(data, tmp_path / "p", seed=3)
    (partition,) = source.partitions
    np.testing.assert_allclose(
        partition.load().features[:, 0], np.array(numbers(plain)) / 255
    )


def test_other_stores_take_the_files():
    source = shuffled(dataset(range(20)), "memory://shuffled", seed=3)
    assert sorted(numbers(source)) == list(range(20))


def test_a_split_is_shuffled(tmp_path):
    first, _ = daskdl.split(dataset(range(20)), (0.5, 0.5), seed=3)
    whole = DataSet.merge([one.load() for one in first.partitions])
    found = numbers(shuffled(first, tmp_path / "s", seed=3))
    assert sorted(found) == whole.features[:, 0].tolist()


def test_keys_are_refused(tmp_path):
    x = np.zeros((2, 1))
    with pytest.raises(DataError, match="keys must be None to be shuffled"):
        shuffled(DataSet(x, x, keys=["a", "b"]), tmp_path / "s", seed=3)
    assert not (tmp_path / "s").exists()


def test_a_column_of_keys_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(OptionError, match=r"shuffled: key must be None.*got 'id'"):
        shuffled(str(tmp_path), tmp_path / "s", seed=3, key="id")


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "other").touch()
    with pytest.raises(OutputExistsError, match="must not exist yet"):
        shuffled(dataset(range(2)), tmp_path, seed=3)
    assert (tmp_path / "other").exists()


def test_no_example_is_not_shuffled(tmp_path):
    with pytest.raises(DataError, match="at least one example to be shuffled"):
        shuffled(dataset([]), tmp_path / "s", seed=3)
    assert not (tmp_path / "s").exists()


def test_lost_examples_are_noticed(tmp_path):
    """A file of another shuffle under the same name, say."""
    source = shuffled([dataset(range(9)), dataset(range(9))], tmp_path / "s", seed=3)
    (partition,) = source.partitions
    (url, start, stop), _ = partition.pieces
    object.__setattr__(partition, "pieces", ((url, start, stop),))
    with pytest.raises(DataError, match=r"must hold 18 examples .*got 9\. Shuffle"):
        partition.load()


def test_buckets_are_small_where_they_travel(tmp_path):
    """They name their own pieces, and no other's."""
    source = shuffled(
        [dataset(range(start, start + 9)) for start in range(0, 900, 9)],
        tmp_path / "s",
        seed=3,
        bucket_bytes=9 * ROW_BYTES,
    )
    assert len(pickle.dumps(source.partitions[0])) < 5000
