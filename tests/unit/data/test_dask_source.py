import dask
import numpy as np
import pytest

from daskdl.data.plan import plan_minibatches
from daskdl.data.reader import MinibatchReader
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError, OptionError, ShapeError

da = pytest.importorskip("dask.array", reason="dask arrays need dask[array]")
cloudpickle = pytest.importorskip("cloudpickle", reason="comes with dask")


def partitions(data, **options):
    return open_source(data, SourceOptions(**options)).partitions


def pair(n=10, chunk=4):
    x = da.from_array(np.arange(2.0 * n).reshape(n, 2), chunks=(chunk, 1))
    y = da.from_array(np.arange(n) % 3, chunks=5)
    return x * 2, y


def load_all(data, **options):
    return [partition.load() for partition in partitions(data, **options)]


def test_one_partition_a_chunk_of_the_features():
    parts = partitions(pair(), n_classes=3)
    assert [(p.name, p.rows) for p in parts] == [
        ("dask chunk 0", 4),
        ("dask chunk 1", 4),
        ("dask chunk 2", 2),
    ]


@pytest.mark.parametrize("held", [0, 1])
def test_one_of_both_may_be_in_memory(held):
    given = list(pair())
    expected = load_all(tuple(given), n_classes=3)
    given[held] = given[held].compute()
    # Cut where the one is that is not.
    found = load_all(tuple(given), n_classes=3)
    for name in ("features", "labels"):
        np.testing.assert_array_equal(
            np.concatenate([getattr(part, name) for part in found]),
            np.concatenate([getattr(part, name) for part in expected]),
        )


def test_partitions_together_are_the_arrays():
    x, y = pair()
    loaded = load_all((x, y), n_classes=3)
    features = np.concatenate([part.features for part in loaded])
    labels = np.concatenate([part.labels for part in loaded])
    np.testing.assert_array_equal(features, x.compute())
    np.testing.assert_array_equal(labels.argmax(axis=1), y.compute())
    assert (features.dtype, labels.dtype) == (x.dtype, np.float64)


def test_a_partition_carries_its_own_chunk_only():
    x = da.from_array(np.zeros((100, 1000)), chunks=(10, -1))
    (first, *_) = partitions(x + 1, require_labels=False)
    assert len(cloudpickle.dumps(first)) < 2 * 10 * 1000 * 8


def test_a_partition_loads_in_any_process():
    (first, *_) = partitions(pair(), n_classes=3)
    again = cloudpickle.loads(cloudpickle.dumps(first)).load()
    np.testing.assert_array_equal(again.features, first.load().features)


def test_partitions_compute_in_their_own_thread():
    """The default scheduler may be a cluster that waits for this very task."""
    x, y = pair()
    parts = partitions((x, y), n_classes=3)
    with dask.config.set(scheduler="no such scheduler"):
        assert parts[0].load().num_examples == 4


def test_images_are_joined_along_their_axes():
    images = da.from_array(np.arange(96.0).reshape(4, 2, 3, 4), chunks=(2, 1, 2, 2))
    (first, _) = load_all(images, require_labels=False)
    np.testing.assert_array_equal(first.features, np.arange(48.0).reshape(2, 2, 3, 4))


def test_unknown_chunk_sizes_are_no_known_rows():
    x, y = pair()
    keep = da.from_array(np.arange(10) % 2 == 0, chunks=4)
    x, y = x.rechunk((4, 2))[keep], y.rechunk(4)[keep]
    parts = partitions((x, y), n_classes=3)
    assert [part.rows for part in parts] == [None] * 3
    assert [part.load().num_examples for part in parts] == [2, 2, 1]


def test_a_plan_over_dask_chunks_reads_every_row(rng):
    values = rng.normal(size=(23, 3))
    source = open_source(
        da.from_array(values, chunks=(5, -1)),
        SourceOptions(require_labels=False, dtype="float64"),
    )
    plan = plan_minibatches([part.rows for part in source.partitions], 4)
    reader = MinibatchReader(source.partitions)
    read = np.concatenate([reader.read(m).features for m in plan])
    np.testing.assert_array_equal(read, values)


def test_a_bad_label_is_named_with_its_chunk():
    x = da.zeros((6, 2), chunks=(3, 2))
    y = da.from_array(np.array([0, 1, 2, 0, 7, 1]), chunks=3)
    with pytest.raises(
        DataError,
        match=r"^dask chunk 1: column 'label' must hold integers from 0 to 2, got 7 in "
        r"row 1\.$",
    ):
        load_all((x, y), n_classes=3)


def test_a_value_that_is_not_finite_is_named_with_its_chunk():
    x = da.from_array(np.array([[0.0], [1.0], [np.nan]]), chunks=(2, 1))
    with pytest.raises(
        DataError, match=r"^dask chunk 1: column 'features' .* row 0\.$"
    ):
        load_all(x, require_labels=False)


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        (pair(), {"features": "x"}, OptionError, "features must be None for dask arr"),
        (pair(), {"format": "csv"}, OptionError, "format must be None for Dask coll"),
        (pair()[0], {}, DataError, "must be a pair of features and labels"),
        (
            (da.zeros((4, 2)), da.zeros(5)),
            {},
            ShapeError,
            r"same number of rows, got \{'features': 4, 'label': 5\}",
        ),
        (
            (da.zeros((4, 2)), np.zeros(5)),
            {},
            ShapeError,
            r"same number of rows, got \{'features': 4, 'label': 5\}",
        ),
        (
            (pair()[0][pair()[0][:, 0] > 4], np.zeros(7)),
            {},
            ShapeError,
            "features must know how many rows its chunks have beside label in memory",
        ),
        (
            da.zeros(()),
            {"require_labels": False},
            ShapeError,
            "must have an axis of row",
        ),
    ],
)
def test_what_cannot_be_opened_is_refused(data, options, error, message):
    with pytest.raises(error, match=message):
        partitions(data, **options)


def test_unknown_chunks_of_other_number_are_refused():
    x = da.zeros((6, 2), chunks=(2, 2))[da.ones(6, chunks=2) > 0]
    with pytest.raises(ShapeError, match=r"same number of chunks .* got 2 and 3"):
        partitions((x, da.zeros(6, chunks=3)))
