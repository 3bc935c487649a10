"""Splits: each example in one part, the same part whatever the partitions are."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import daskdl
from daskdl import DataSet, MultiDataSet, split
from daskdl.data.pre_processors.partition import PreProcessedPartition
from daskdl.errors import DataError, OptionError
from tests.unit.bridge.table_files import write_parquet, write_text


def dataset(numbers, n_classes=3):
    """Examples whose feature is their number, and whose class is that modulo 3."""
    x = np.asarray(numbers, dtype="float32")
    return DataSet(x[:, None], np.eye(n_classes, dtype="float32")[x.astype(int) % 3])


def numbers(source):
    """Return the numbers of the examples of a source, in order."""
    blocks = [b for one in source.partitions for b in one.load_blocks()]
    return [int(x) for block in blocks for x in block.features[:, 0]]


def class_counts(source):
    return np.bincount(np.array(numbers(source)) % 3, minlength=3)


@pytest.mark.parametrize("stratify", [False, True])
def test_each_example_is_in_exactly_one_part(stratify):
    data = [dataset(range(40)), dataset(range(40, 100))]
    parts = split(data, (0.5, 0.3, 0.2), seed=3, stratify=stratify)
    found = [number for part in parts for number in numbers(part)]
    assert sorted(found) == list(range(100))


def test_sizes_are_exact():
    parts = split(dataset(range(1000)), (0.7, 0.2, 0.1), seed=3)
    assert [len(numbers(part)) for part in parts] == [700, 200, 100]


@pytest.mark.parametrize("fractions", [(0.8, 0.2), (0.9, 0.05, 0.05), (1 / 3,) * 3])
def test_each_class_is_within_one_example_of_its_fraction(fractions):
    counts = class_counts(daskdl.open_source(dataset(range(101))))
    parts = split(dataset(range(101)), fractions, seed=3, stratify=True)
    for part, fraction in zip(parts, fractions, strict=True):
        assert np.abs(class_counts(part) - fraction * counts).max() < 1


@pytest.mark.parametrize("stratify", [False, True])
def test_partitions_do_not_matter(stratify):
    whole = split(dataset(range(90)), (0.8, 0.2), seed=3, stratify=stratify)
    pieces = [dataset(range(start, start + 9)) for start in range(0, 90, 9)]
    cut = split(pieces, (0.8, 0.2), seed=3, stratify=stratify)
    assert [numbers(part) for part in cut] == [numbers(part) for part in whole]


def test_the_seed_decides():
    first, again, other = (
        numbers(split(dataset(range(50)), (0.5, 0.5), seed=seed)[0])
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_rounding_favours_no_part():
    """Of classes of one example, half are in each part."""
    data = DataSet(np.arange(400.0)[:, None], np.eye(400))
    first, _ = split(data, (0.5, 0.5), seed=3, stratify=True)
    # A fair coin deviates by 10.
    assert abs(len(numbers(first)) - 200) < 50


def test_load_and_blocks_agree():
    (part, _) = split(dataset(range(30)), (0.6, 0.4), seed=3, stratify=True)
    (partition,) = part.partitions
    assert [int(x) for x in partition.load().features[:, 0]] == numbers(part)


def test_tables_in_blocks_are_split(tmp_path):
    """Row groups are parts of their own, and the keys stay with their examples."""
    n = 1000
    columns = {"x": np.arange(n, dtype="float64"), "y": np.arange(n) % 3}
    columns["id"] = np.arange(n) + 7
    path = write_parquet(tmp_path / "x.parquet", columns, row_group_size=100)
    parts = split(
        path,
        (0.75, 0.25),
        seed=5,
        stratify=True,
        features="x",
        label="y",
        key="id",
        n_classes=3,
    )
    found = [number for part in parts for number in numbers(part)]
    assert sorted(found) == list(range(n))
    loaded = parts[1].partitions[0].load()
    np.testing.assert_array_equal(loaded.keys, loaded.features[:, 0].astype(int) + 7)


def test_rows_of_csv_are_counted(tmp_path):
    rows = "".join(f"{number},{number % 3}\n" for number in range(60))
    path = write_text(tmp_path / "x.csv", "x,y\n" + rows)
    options = {"features": "x", "label": "y", "n_classes": 3}
    csv = split(path, (0.5, 0.5), seed=3, **options)
    memory = split(dataset(range(60)), (0.5, 0.5), seed=3)
    assert [numbers(part) for part in csv] == [numbers(part) for part in memory]


def test_parts_train_and_evaluate_a_network():
    train, test = split(dataset(range(90)), (0.8, 0.2), seed=3, stratify=True)
    network = daskdl.MultiLayerNetwork(
        daskdl.MultiLayerConfiguration(
            input=daskdl.FeedForward(size=1),
            layers=[daskdl.Output(n_out=3, loss="mcxent")],
        )
    )
    network.fit(train, epochs=1, batch_size=8)
    assert network.evaluate(test).confusion_matrix.sum() == 18


def test_preprocessors_run_behind_the_split():
    scaler = daskdl.ImagePreProcessingScaler()
    data = dataset(range(30))
    first, _ = split(data, (0.5, 0.5), seed=3, pre_processor=scaler)
    plain, _ = split(data, (0.5, 0.5), seed=3)
    (partition,) = first.partitions
    assert isinstance(partition, PreProcessedPartition)
    np.testing.assert_allclose(
        partition.load().features[:, 0], np.array(numbers(plain)) / 255
    )


def test_multi_data_sets_of_one_output_are_stratified():
    data = MultiDataSet.of(dataset(range(30)))
    first, _ = split(data, (0.5, 0.5), seed=3, stratify=True)
    loaded = first.partitions[0].load()
    expected, _ = split(dataset(range(30)), (0.5, 0.5), seed=3, stratify=True)
    assert [int(x) for x in loaded.features[0][:, 0]] == numbers(expected)


def test_names_tell_part_and_seed():
    """A run goes on only with data whose partitions have the same names."""
    _, part = split(dataset(range(9)), (0.5, 0.5), seed=3)
    name = "DataSet (part 1 of a split with seed 3)"
    assert [part.name, part.partitions[0].name] == [name, name]


@pytest.mark.parametrize(
    ("fractions", "message"),
    [
        ((0.5, 0.4), r"split: fractions must add up to 1, got \[0.5, 0.4\]"),
        ((), r"split: fractions must add up to 1, got \[\]"),
        ((1.5, -0.5), r"split: each of fractions must be > 0, got -0.5"),
    ],
)
def test_fractions_must_be_a_whole(fractions, message):
    with pytest.raises(OptionError, match=message):
        split(dataset(range(9)), fractions, seed=3)


def test_no_example_is_not_split():
    with pytest.raises(DataError, match="at least one example to be split, got none"):
        split(dataset([]), (0.5, 0.5), seed=3)


def test_numbers_are_no_classes():
    data = DataSet(np.zeros((2, 1)), [[0.0], [0.5]])
    with pytest.raises(DataError, match="labels must hold integers from 0 to"):
        split(data, (0.5, 0.5), seed=3, stratify=True)


def test_data_that_grew_are_refused():
    first, _ = split(dataset(range(5)), (0.5, 0.5), seed=3)
    (partition,) = first.partitions
    grown = replace(
        partition, stored=replace(partition.stored, examples=dataset(range(9)))
    )
    with pytest.raises(DataError, match=r"got more than 5 in the whole source\. Split"):
        grown.load()


def test_rows_that_are_skipped_are_in_no_part(tmp_path):
    rows = {"x": [0.0, None, 1.0, 2.0, None, 3.0], "y": [0, 1, 0, 1, 0, 1]}
    path = write_parquet(tmp_path / "x.parquet", rows)
    options = {"features": "x", "label": "y", "n_classes": 2, "handle_invalid": "skip"}
    parts = split(path, (0.5, 0.5), seed=3, **options)
    assert sorted(n for part in parts for n in numbers(part)) == [0, 1, 2, 3]
    assert [len(numbers(part)) for part in parts] == [2, 2]
    (skipped,) = (rows.skipped for rows in parts[0].partitions[0].load_rows())
    assert skipped == 2


def test_series_stay_where_they_stand(tmp_path):
    rows = {"x": [[1.0], [1.0, 2.0], [1.0, 2.0, 3.0]], "y": [0, 1, 0]}
    path = write_parquet(tmp_path / "x.parquet", rows)
    options = {"features": "x", "label": "y", "n_classes": 2, "align": "end"}
    parts = split(path, (0.5, 0.5), seed=3, **options)
    assert {one.align for part in parts for one in part.partitions} == {"end"}


def test_partitions_are_small_where_they_travel():
    """A number or two for each class, besides what is stored."""
    data = DataSet(np.arange(3000.0)[:, None] % 1000, np.arange(3000)[:, None] % 1000)
    first, _ = split(data, (0.5, 0.5), seed=3, stratify=True)
    (partition,) = first.partitions
    carried = len(pickle.dumps(partition)) - len(pickle.dumps(partition.stored))
    assert carried < 1000 * 2 * 8 + 2000
