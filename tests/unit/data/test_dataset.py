import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskdl.data.dataset import DataSet
from daskdl.dl4j.datasets.streams import read_dataset, write_dataset
from daskdl.errors import (
    CorruptFileError,
    DataError,
    OptionError,
    OutputExistsError,
    ShapeError,
    SourceNotFoundError,
)
from tests.unit.dl4j.golden import dataset_bytes, dataset_names, expected_dataset

PARTS = ("features", "labels", "features_mask", "labels_mask")
LOADABLE = [name for name in dataset_names("ds_") if name != "ds_empty"]


@pytest.fixture
def golden(tmp_path):
    """Gives the path of a golden file."""

    def path_of(name):
        path = tmp_path / f"{name}.bin"
        path.write_bytes(dataset_bytes(name))
        return path

    return path_of


def five(**options):
    return DataSet(np.arange(10.0).reshape(5, 2), np.arange(5.0)[:, None], **options)


@pytest.mark.parametrize("name", LOADABLE)
def test_loads_what_dl4j_saved(golden, name):
    loaded = DataSet.load(golden(name))
    expected = expected_dataset(name)
    for part in PARTS:
        actual = getattr(loaded, part)
        assert (actual is None) == (part not in expected)
        if actual is not None:
            np.testing.assert_array_equal(actual, expected[part])


@pytest.mark.parametrize("name", LOADABLE)
def test_saves_what_dl4j_saved(golden, tmp_path, name):
    path = golden(name)
    DataSet.load(path).save(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == path.read_bytes()


def test_labels_that_are_the_features_are_the_same_array(golden):
    loaded = DataSet.load(golden("ds_labels_are_features"))
    assert loaded.labels is loaded.features


def test_a_file_without_features_is_refused(golden):
    with pytest.raises(DataError, match=r"ds_empty\.bin: a DataSet must hold features"):
        DataSet.load(golden("ds_empty"))


def test_metadata_are_left_unread_on_request(golden):
    with open(golden("ds_metadata_and_names"), "rb") as stream:
        read_dataset(stream, name="ds.bin", with_metadata=False)
        assert stream.read(4) == b"\xac\xed\x00\x05"
    loaded = DataSet.load(golden("ds_metadata_and_names"), with_metadata=False)
    assert (loaded.example_metadata, loaded.label_names) == (None, None)


def test_metadata_and_label_names_are_texts(golden):
    loaded = DataSet.load(golden("ds_metadata_and_names"))
    assert loaded.example_metadata == tuple(f"example-{k}" for k in range(5))
    assert loaded.label_names == ("red", "green", "blue")


def test_an_empty_data_set_is_the_same_bytes_again():
    """DL4J saves one; as a `DataSet` it is refused, since there is nothing in it."""
    stream = io.BytesIO()
    write_dataset(stream, read_dataset(io.BytesIO(b"\0"), name="ds.bin"))
    assert stream.getvalue() == b"\0"


def test_parts_of_a_data_set_keep_their_metadata_and_names(rng):
    """DL4J's getRange loses the metadata."""
    data = five(example_metadata=list("abcde"), label_names=["y"])
    assert data.slice(1, 3).example_metadata == ("b", "c")
    shuffled = data.shuffled(rng)
    rows = (shuffled.features[:, 0] / 2).astype(int)
    assert shuffled.example_metadata == tuple("abcde"[row] for row in rows)
    assert shuffled.label_names == ("y",)


def test_merging_keeps_metadata_and_names():
    """DL4J's merge loses names, and metadata unless all have some."""
    first = five(example_metadata=list("abcde"), label_names=["y"])
    merged = DataSet.merge([first, five()])
    assert merged.example_metadata == (*"abcde", *[None] * 5)
    assert merged.label_names == ("y",)


def test_merging_other_label_names_is_refused():
    named = [five(label_names=[name]) for name in "xy"]
    with pytest.raises(DataError, match=r"label_names must be the same .* \['y'\]\."):
        DataSet.merge(named)


def test_metadata_that_are_saved_come_back(tmp_path):
    data = five(example_metadata=["ä", None, "c", "c", ""], label_names=["y"])
    data.save(tmp_path / "batch.bin")
    loaded = DataSet.load(tmp_path / "batch.bin")
    assert loaded.example_metadata == data.example_metadata
    assert loaded.label_names == data.label_names


def test_metadata_that_are_no_text_are_not_saved(tmp_path):
    with pytest.raises(DataError, match=r"every entry must be text, None .* got 0"):
        five(example_metadata=range(5)).save(tmp_path / "batch.bin")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"example_metadata": ["a"]},
            ShapeError,
            r"one entry for each of 5 examples, got 1\. .* with_metadata=False",
        ),
        ({"label_names": "red"}, DataError, r"must be texts, got 'red'"),
        ({"label_names": [1]}, DataError, r"must be texts, got \[1\]"),
    ],
)
def test_what_does_not_go_with_the_examples_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        five(**options)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (b"t\0\3red", b"p", "label names must be texts, got None at offset 5"),
        (b"example-0", b"\xffxample-0", "text must be UTF-8, got"),
        (b"\0\0\0\5t\0\x09example-0", b"\0\0\0\5", "must be a whole DataSet file"),
    ],
)
def test_damaged_metadata_are_named_with_file(golden, before, after, message):
    path = golden("ds_metadata_and_names")
    raw = path.read_bytes()
    assert before in raw
    path.write_bytes(raw.replace(before, after))
    with pytest.raises(CorruptFileError, match=rf"_names\.bin: {message}"):
        DataSet.load(path)


def test_replaced_parts_are_new_and_the_others_the_same(golden):
    loaded = DataSet.load(golden("ds_bfloat16"))
    replaced = loaded.replaced(labels=loaded.labels * 2)
    assert replaced.features is loaded.features
    replaced.save(golden("ds_bfloat16"), overwrite=True)
    raw = golden("ds_bfloat16")  # written anew
    assert DataSet.load(raw).labels.dtype == np.float32


def test_a_part_of_a_bfloat16_data_set_is_saved_as_bfloat16(golden, tmp_path):
    DataSet.load(golden("ds_bfloat16")).slice(0, 2).save(tmp_path / "part.bin")
    assert (tmp_path / "part.bin").read_bytes().count(b"BFLOAT16") == 2


def test_merge_fills_time_series_as_dl4j_does(golden):
    merged = DataSet.merge(
        [DataSet.load(golden("ds_merge_in1")), DataSet.load(golden("ds_merge_in2"))]
    )
    expected = expected_dataset("ds_merge_out")
    for part in PARTS:
        np.testing.assert_array_equal(getattr(merged, part), expected[part])


@settings(deadline=None)  # files are written through to the disk
@given(
    st.integers(1, 6),
    st.lists(st.integers(1, 4), min_size=0, max_size=3),
    st.booleans(),
    st.sampled_from(["float32", "float64", "float16", "int32", "uint8", "bool"]),
    st.integers(0, 2**32 - 1),
)
def test_loading_what_was_saved_is_identity(
    tmp_path_factory, batch, shape, has_mask, dtype, seed
):
    rng = np.random.default_rng(seed)
    saved = DataSet(
        (rng.normal(size=(batch, *shape)) * 100).astype(dtype),
        rng.normal(size=(batch, 2)),
        (rng.random((batch, 3)) > 0.5) if has_mask else None,
    )
    path = tmp_path_factory.mktemp("saved") / "batch.bin"
    saved.save(path)
    loaded = DataSet.load(path)
    for part in PARTS:
        before, after = getattr(saved, part), getattr(loaded, part)
        if before is None:
            assert after is None
        else:
            np.testing.assert_array_equal(after, before, strict=True)


def test_saves_and_loads_by_url(tmp_path):
    five().save(f"file://{tmp_path}/batch.bin")
    np.testing.assert_array_equal(
        DataSet.load(f"file://{tmp_path}/batch.bin").features, five().features
    )


def test_an_existing_file_is_not_overwritten_unasked(tmp_path):
    path = tmp_path / "batch.bin"
    five().save(path)
    with pytest.raises(OutputExistsError, match="must not exist yet"):
        five().save(path)


def test_overwriting_on_request_leaves_one_file(tmp_path):
    path = tmp_path / "batch.bin"
    five().save(path)
    five().slice(0, 2).save(path, overwrite=True)
    assert DataSet.load(path).num_examples == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["batch.bin"]


def test_a_failed_save_leaves_no_file(tmp_path):
    batch = five()
    batch.labels = np.array([["text"]] * 5)
    with pytest.raises(DataError, match="dtype must be one that ND4J has"):
        batch.save(tmp_path / "batch.bin")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SourceNotFoundError, match=r"none\.bin: must be a file"):
        DataSet.load(tmp_path / "none.bin")


def test_a_cut_off_file_is_named_with_its_offset(golden):
    path = golden("ds_2d")
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(
        CorruptFileError, match=re.escape(str(path)) + r".* at offset \d+, got"
    ):
        DataSet.load(path)


def test_an_empty_file_is_corrupt(tmp_path):
    (tmp_path / "empty.bin").write_bytes(b"")
    with pytest.raises(CorruptFileError, match=r"1 bytes must follow at offset 0"):
        DataSet.load(tmp_path / "empty.bin")


def test_a_foreign_file_is_corrupt(tmp_path):
    (tmp_path / "foreign.bin").write_bytes(b"\x89PNG")
    with pytest.raises(CorruptFileError, match=r"flags .* below 128, got 137"):
        DataSet.load(tmp_path / "foreign.bin")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0], [1.0, 2.0]],), "DataSet: features must be a regular array"),
        ((["a", "b"],), "features must hold real numbers, got dtype <U1"),
        (([1j],), "features must hold real numbers, got dtype complex128"),
        (([None, 1.0],), "features must hold real numbers, got dtype object"),
        ((DataSet([[1.0]]),), "must be an array, got a DataSet. Give what is in it"),
        (([[1.0]], np.array([[{}]])), "labels must hold real numbers, got dtype obj"),
    ],
)
def test_what_is_no_regular_array_of_numbers_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        DataSet(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0,), "features must have an axis of examples first, got a single number"),
        (
            (np.zeros((3, 2)), np.zeros((2, 1))),
            r"labels must have as many examples as features \(3\), got shape \(2, 1\)",
        ),
        (
            (np.zeros((3, 2, 4)), None, np.zeros((4, 4))),
            r"features_mask must have as many examples as features \(3\)",
        ),
    ],
)
def test_arrays_of_other_lengths_are_refused(arguments, message):
    with pytest.raises(ShapeError, match=f"^DataSet: {message}"):
        DataSet(*arguments)


def test_a_wrong_number_of_keys_is_refused():
    with pytest.raises(ShapeError, match=r"keys must have shape \(5,\), got \(2,\)"):
        five(keys=["a", "b"])


@pytest.mark.parametrize("keys", [[1, "a", None, (1, 2), 2.0], [(1, 2), (3, 4)] * 2])
def test_keys_of_any_kind_stay_what_they_are(keys):
    assert DataSet(np.zeros((len(keys), 1)), keys=keys).keys.tolist() == keys


def test_batches_share_memory_and_only_the_last_is_short():
    batch = five(keys=list("abcde"))
    parts = list(batch.batches(2))
    assert [part.num_examples for part in parts] == [2, 2, 1]
    assert all(np.shares_memory(part.features, batch.features) for part in parts)
    assert parts[2].keys.tolist() == ["e"]


def test_a_batch_size_of_0_is_refused():
    with pytest.raises(
        OptionError, match="batch_size must be a whole number > 0, got 0"
    ):
        next(five().batches(0))


def test_shuffling_keeps_features_labels_and_keys_together(rng):
    shuffled = five(keys=range(5)).shuffled(rng)
    assert sorted(shuffled.keys) == list(range(5))
    np.testing.assert_array_equal(shuffled.features, five().features[shuffled.keys])
    np.testing.assert_array_equal(shuffled.labels, five().labels[shuffled.keys])


@given(st.integers(1, 7))
def test_merging_batches_is_identity(batch_size):
    batch = five(keys=list("abcde"))
    merged = DataSet.merge(list(batch.batches(batch_size)))
    np.testing.assert_array_equal(merged.features, batch.features)
    np.testing.assert_array_equal(merged.keys, batch.keys)


def test_merging_makes_masks_only_where_some_have_one():
    series = np.zeros((2, 3, 4))
    mask = np.array([[1.0, 1.0, 0.0, 0.0]] * 2)
    merged = DataSet.merge([DataSet(series, None, mask), DataSet(series)])
    expected = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    np.testing.assert_array_equal(merged.features_mask, expected)
    assert merged.labels_mask is None


def test_merging_lengths_keeps_the_masks_that_were_given():
    short = DataSet(np.zeros((1, 3, 2)), None, np.array([[1.0, 0.0]]))
    merged = DataSet.merge([short, DataSet(np.zeros((1, 3, 4)))])
    np.testing.assert_array_equal(merged.features_mask, [[1, 0, 0, 0], [1, 1, 1, 1]])


def test_class_numbers_of_steps_are_filled_up_like_series():
    series = [
        DataSet(np.zeros((1, 3, time)), np.ones((1, time), int)) for time in (1, 3)
    ]
    merged = DataSet.merge(series)
    np.testing.assert_array_equal(merged.labels, [[1, 0, 0], [1, 1, 1]])
    np.testing.assert_array_equal(merged.labels_mask, [[1, 0, 0], [1, 1, 1]])


def test_rows_that_are_not_as_long_as_the_series_may_not_differ():
    series = [DataSet(np.zeros((1, 3, n)), np.ones((1, n + 1))) for n in (1, 3)]
    with pytest.raises(
        ShapeError, match=r"labels must have one shape, .* \[\(2,\), \("
    ):
        DataSet.merge(series)


def test_merging_nothing_is_refused():
    with pytest.raises(OptionError, match=r"datasets must hold at least one, got \[\]"):
        DataSet.merge([])


def test_merging_other_widths_is_refused():
    with pytest.raises(ShapeError, match=r"one shape, .* got \[\(2,\), \(3,\)\]"):
        DataSet.merge([five(), DataSet(np.zeros((1, 3)), [[0.0]])])


def test_merging_masks_of_other_lengths_is_refused():
    series = np.zeros((1, 2, 3))
    parts = [DataSet(series, None, np.ones((1, n))) for n in (3, 4)]
    with pytest.raises(ShapeError, match=r"features_mask must have shape \(batch, 3\)"):
        DataSet.merge(parts)


@pytest.mark.parametrize("part", ["labels", "keys"])
def test_merging_some_without_labels_or_keys_is_refused(part):
    first, second = five(keys=range(5)), five(keys=range(5))
    setattr(second, part, None)
    with pytest.raises(
        DataError, match=rf"must have {part}, got none in number 1 of 2"
    ):
        DataSet.merge([first, second])


def test_repr_shows_shapes_and_dtypes():
    assert repr(five()) == "DataSet(features=(5, 2) float64, labels=(5, 1) float64)"


def test_len_is_the_number_of_examples():
    assert len(five()) == five().num_examples == 5


def test_nbytes_counts_every_array():
    assert five().nbytes == 5 * 3 * 8


def test_rows_to_take_are_numbers_in_a_row():
    with pytest.raises(ShapeError, match="must be numbers in a row, got 0 axes"):
        DataSet(np.zeros((3, 2))).take(1)
