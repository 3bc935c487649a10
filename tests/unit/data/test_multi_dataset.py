import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import CorruptFileError, DataError, OptionError, ShapeError
from tests.unit.dl4j.golden import dataset_bytes, dataset_names, expected_dataset

GROUPS = {
    "features": "features",
    "labels": "labels",
    "features_masks": "features_mask",
    "labels_masks": "labels_mask",
}


@pytest.fixture
def golden(tmp_path):
    """Gives the path of a golden file."""

    def path_of(name):
        path = tmp_path / f"{name}.bin"
        path.write_bytes(dataset_bytes(name))
        return path

    return path_of


def two(n=3, **options):
    return MultiDataSet(
        [np.arange(2.0 * n).reshape(n, 2), np.arange(12.0 * n).reshape(n, 3, 4)],
        [np.arange(1.0 * n)[:, None]],
        [None, np.ones((n, 4))],
        **options,
    )


@pytest.mark.parametrize("name", dataset_names("mds_"))
def test_loads_what_dl4j_saved(golden, name):
    loaded = MultiDataSet.load(golden(name))
    actual = {
        f"{key}.{index}": array
        for group, key in GROUPS.items()
        for index, array in enumerate(getattr(loaded, group) or [])
        if array is not None
    }
    expected = expected_dataset(name)
    assert actual.keys() == expected.keys()
    for key, array in actual.items():
        np.testing.assert_array_equal(array, expected[key], strict=True)


@pytest.mark.parametrize("name", dataset_names("mds_"))
def test_saves_what_dl4j_saved(golden, tmp_path, name):
    path = golden(name)
    MultiDataSet.load(path).save(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == path.read_bytes()


@given(st.integers(1, 4), st.integers(0, 2), st.booleans())
def test_loading_what_was_saved_is_identity(tmp_path_factory, n, n_labels, has_masks):
    saved = MultiDataSet(
        [np.arange(2.0 * n).reshape(n, 2), np.zeros((n, 2, 2), np.float32)],
        [np.ones((n, 1))] * n_labels,
        [None, np.ones((n, 2))] if has_masks else None,
    )
    path = tmp_path_factory.mktemp("saved") / "batch.bin"
    saved.save(path)
    loaded = MultiDataSet.load(path)
    assert repr(loaded) == repr(saved)
    np.testing.assert_array_equal(loaded.features[0], saved.features[0])


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (
            b"\xff\xff\xff\xff" * 4,
            r"arrays .* from 0 to 10000, got \(-1, -1, -1, -1\)",
        ),
        (b"PK\x03\x04" * 4, "The file is damaged, or something else"),
        (
            b"\0\0\0\2" + b"\0\0\0\1" * 3,
            r"no mask or one for each array, got \(2, 1\) arrays and \(1, 1\) masks",
        ),
        (b"\0\0\0\1" * 2 + b"\0" * 8, r"2 bytes must follow at offset 16, got 0"),
        (b"\0", r"16 bytes must follow at offset 0, got 1"),
    ],
)
def test_a_foreign_file_is_corrupt(tmp_path, head, message):
    (tmp_path / "foreign.bin").write_bytes(head)
    with pytest.raises(CorruptFileError, match=message):
        MultiDataSet.load(tmp_path / "foreign.bin")


def test_a_file_without_features_is_refused(tmp_path):
    (tmp_path / "none.bin").write_bytes(b"\0" * 16)
    with pytest.raises(DataError, match=r"none\.bin: a MultiDataSet must hold feature"):
        MultiDataSet.load(tmp_path / "none.bin")


def test_an_array_instead_of_a_list_is_refused():
    with pytest.raises(DataError, match="features must be a list of arrays, got ndarr"):
        MultiDataSet(np.zeros((2, 2)))


def test_no_input_is_refused():
    with pytest.raises(DataError, match="features must hold at least one, got none"):
        MultiDataSet([])


def test_a_wrong_number_of_masks_is_refused():
    with pytest.raises(ShapeError, match=r"one entry for each of 1 arrays .* got 2"):
        MultiDataSet([np.zeros((2, 2))], features_masks=[None, None])


def test_an_array_of_another_length_is_named():
    with pytest.raises(ShapeError, match=r"labels\[0\] must have as many examples as"):
        MultiDataSet([np.zeros((2, 2))], [np.zeros((3, 1))])


def test_masks_that_are_all_none_are_no_masks():
    masks = MultiDataSet([np.zeros((2, 2))], features_masks=[None]).features_masks
    assert masks is None


def test_merging_batches_is_identity():
    whole = two(5, keys=range(5))
    merged = MultiDataSet.merge(list(whole.batches(2)))
    assert repr(merged) == repr(whole)
    for before, after in zip(whole.features, merged.features, strict=True):
        np.testing.assert_array_equal(after, before)


def test_merging_fills_shorter_time_series():
    long = MultiDataSet([np.ones((1, 2, 4))])
    merged = MultiDataSet.merge([MultiDataSet([np.ones((1, 2, 3))]), long])
    np.testing.assert_array_equal(merged.features_masks[0], [[1, 1, 1, 0], [1] * 4])


def test_class_numbers_of_steps_are_filled_up_like_series():
    merged = MultiDataSet.merge(
        [MultiDataSet([np.ones((1, 2, n))], [np.ones((1, n))]) for n in (3, 4)]
    )
    np.testing.assert_array_equal(merged.labels[0], [[1, 1, 1, 0], [1] * 4])
    np.testing.assert_array_equal(merged.labels_masks[0], [[1, 1, 1, 0], [1] * 4])


def test_merging_nothing_is_refused():
    with pytest.raises(OptionError, match=r"datasets must hold at least one"):
        MultiDataSet.merge([])


def test_merging_other_numbers_of_inputs_is_refused():
    with pytest.raises(
        ShapeError, match=r"same number of inputs and outputs, got \[\(1"
    ):
        MultiDataSet.merge([two(), MultiDataSet([np.zeros((1, 2))])])


def test_shuffling_keeps_everything_together(rng):
    shuffled = two(6, keys=range(6)).shuffled(rng)
    np.testing.assert_array_equal(shuffled.labels[0][:, 0], shuffled.keys)
    np.testing.assert_array_equal(shuffled.features[0][:, 0], 2 * shuffled.keys)


def test_a_data_set_becomes_lists_of_one():
    single = DataSet(
        np.zeros((2, 3, 4)), np.zeros((2, 1)), np.ones((2, 4)), keys=[5, 6]
    )
    multi = MultiDataSet.of(single)
    assert multi.features[0] is single.features
    assert multi.labels[0] is single.labels
    assert multi.features_masks[0] is single.features_mask
    assert multi.labels_masks is None
    assert multi.keys is single.keys


def test_nbytes_counts_every_array():
    assert two(2).nbytes == 8 * (4 + 24 + 2 + 8)


def test_metadata_are_read_sliced_merged_and_written(golden, tmp_path):
    loaded = MultiDataSet.load(golden("mds_metadata"))
    part = loaded.slice(3, 5)
    assert part.example_metadata == ("id3", "id4")
    merged = MultiDataSet.merge([part, part.replaced(example_metadata=None)])
    merged.save(tmp_path / "merged.bin")
    again = MultiDataSet.load(tmp_path / "merged.bin")
    assert again.example_metadata == ("id3", "id4", None, None)


def test_metadata_are_left_unread_on_request(golden):
    loaded = MultiDataSet.load(golden("mds_metadata"), with_metadata=False)
    assert loaded.example_metadata is None


def test_what_follows_the_masks_must_be_metadata(golden):
    path = golden("mds_1_1")
    path.write_bytes(path.read_bytes() + b"\0\0\0\2")
    with pytest.raises(CorruptFileError, match=r"the end, or 1 and .* got 2 at offset"):
        MultiDataSet.load(path)


def test_arrays_that_do_not_go_together_are_damage_of_the_file(golden):
    path = golden("mds_1_1")
    five, four = (5).to_bytes(8, "big"), (4).to_bytes(8, "big")
    path.write_bytes(path.read_bytes().replace(five + four, four + five, 1))
    with pytest.raises(CorruptFileError, match=r"must be a whole MultiDataSet file"):
        MultiDataSet.load(path)


def test_a_data_set_as_lists_keeps_its_metadata():
    data = DataSet([[1.0]], example_metadata=["a"])
    assert MultiDataSet.of(data).example_metadata is data.example_metadata


def test_replaced_parts_are_new_and_the_others_the_same():
    before = two()
    after = before.replaced(labels=[np.zeros((3, 1))])
    assert after.features[0] is before.features[0]
    assert not after.labels[0].any()
