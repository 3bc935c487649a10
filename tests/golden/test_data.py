"""Every data set, FileBatch and normalizer that the real DL4J wrote."""

import io
import json
import zipfile

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.hybrid import MultiNormalizerHybrid
from daskdl.data.normalizers.image import (
    ImagePreProcessingScaler,
    VGG16ImagePreProcessor,
)
from daskdl.data.normalizers.kinds import normalizer_from_dict
from daskdl.data.normalizers.min_max import (
    MultiNormalizerMinMaxScaler,
    NormalizerMinMaxScaler,
)
from daskdl.data.normalizers.standardize import (
    MultiNormalizerStandardize,
    NormalizerStandardize,
)
from daskdl.dl4j.datasets.file_batch import FileBatch
from daskdl.dl4j.datasets.streams import (
    read_dataset,
    read_multi_dataset,
    write_dataset,
    write_multi_dataset,
)
from daskdl.dl4j.normalizers import read_normalizer, write_normalizer
from daskdl.errors import FormatError
from tests.golden.case_names import case_names

DATASETS = case_names("data", "ds_")
MULTI_DATASETS = case_names("data", "mds_")
FILE_BATCHES = case_names("data", "filebatch_")
SETS = (*DATASETS, *MULTI_DATASETS, *FILE_BATCHES)
NORMALIZERS = [name for name in case_names("data") if name not in SETS]
# DL4J has no format for it.
NOT_STORED = "vgg16"
STORED = [name for name in NORMALIZERS if name != NOT_STORED]
# The manifest's, relative to the largest number: DL4J adds up in float32.
TOLERANCE = 1e-6

PARTS = ("features", "labels", "features_mask", "labels_mask")
KEYS = {
    "features": "features",
    "labels": "labels",
    "features_masks": "features_mask",
    "labels_masks": "labels_mask",
}
MAKE = {
    "standardize": NormalizerStandardize,
    "minmax": NormalizerMinMaxScaler,
    "minmax_m1_2": lambda: NormalizerMinMaxScaler(-1, 2),
    "image_0_1": ImagePreProcessingScaler,
    "image_m1_1": lambda: ImagePreProcessingScaler(-1, 1),
    "image_16bit": lambda: ImagePreProcessingScaler(0, 1, 16),
    "vgg16": VGG16ImagePreProcessor,
    "multi_standardize": MultiNormalizerStandardize,
    "multi_minmax": lambda: MultiNormalizerMinMaxScaler(-1, 1),
    "multi_hybrid": lambda: (
        MultiNormalizerHybrid()
        .standardize_all_inputs()
        .min_max_scale_input(1, -1, 1)
        .min_max_scale_output(0)
        .standardize_output(1)
    ),
    "multi_hybrid_inputs": lambda: MultiNormalizerHybrid().standardize_input(0),
    "multi_hybrid_all": lambda: (
        MultiNormalizerHybrid().min_max_scale_all_inputs(0, 2).standardize_all_outputs()
    ),
}


def raw(golden, name):
    return (golden / "data" / f"{name}.bin").read_bytes()


def arrays(golden, name):
    return dict(np.load(golden / "data" / f"{name}.npz"))


def examples(values, prefix, *, multi):
    if not multi:
        return DataSet(*(values.get(f"{prefix}.{part}") for part in PARTS))
    return MultiDataSet(
        *([values.get(f"{prefix}.{part}.{k}") for k in range(2)] for part in PARTS)
    )


def unfitted(name):
    kind = max((kind for kind in MAKE if name.startswith(kind)), key=len)
    made = MAKE[kind]()
    return made.fit_label() if name.endswith("_labels") else made


def fitted(name, values):
    prefixes = sorted({key.split(".")[0] for key in values if key.startswith("fit")})
    multi = name.startswith("multi")
    return unfitted(name).fit([examples(values, p, multi=multi) for p in prefixes])


def results(name, values, normalizer):
    """Return what the normalizer makes of the case's data, by the case's keys."""
    if name.startswith("multi"):
        changed = normalizer.transform(examples(values, "fit0", multi=True))
        return {
            f"out.{group}.{k}": array
            for group in ("features", "labels")
            for k, array in enumerate(getattr(changed, group))
        }
    changed = normalizer.transform(examples(values, "in", multi=False))
    reverted = normalizer.revert(changed)
    found = {"out": changed, "reverted": reverted}
    return {
        f"{key}.{group}": getattr(found[key], group)
        for key in found
        for group in ("features", "labels")
        if f"{key}.{group}" in values
    }


def test_every_case_of_the_manifest_is_tried(manifest):
    names = [case["name"] for case in manifest["cases"] if case["kind"] == "data"]
    assert sorted(names) == sorted([*SETS, *NORMALIZERS])


def test_no_case_failed_in_dl4j(manifest):
    cases = [case for case in manifest["cases"] if case["kind"] == "data"]
    assert not [case["name"] for case in cases if case.get("failed_in_dl4j")]


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_is_read(golden, name):
    found = read_dataset(io.BytesIO(raw(golden, name)), name=name)
    expected = arrays(golden, name)
    for part in PARTS:
        assert (getattr(found, part) is None) == (part not in expected)
        if part in expected:
            np.testing.assert_array_equal(getattr(found, part), expected[part])


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_is_written_byte_for_byte(golden, name):
    stream = io.BytesIO()
    write_dataset(stream, read_dataset(io.BytesIO(raw(golden, name)), name=name))
    assert stream.getvalue() == raw(golden, name)


@pytest.mark.parametrize("name", [name for name in DATASETS if name != "ds_empty"])
def test_a_dataset_is_loaded_and_saved_byte_for_byte(golden, tmp_path, name):
    DataSet.load(golden / "data" / f"{name}.bin").save(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == raw(golden, name)


@pytest.mark.parametrize("name", MULTI_DATASETS)
def test_a_multi_dataset_is_read(golden, name):
    found = read_multi_dataset(io.BytesIO(raw(golden, name)), name=name)
    actual = {
        f"{key}.{k}": array
        for group, key in KEYS.items()
        for k, array in enumerate(getattr(found, group) or ())
        if array is not None
    }
    expected = arrays(golden, name)
    assert actual.keys() == expected.keys()
    for key, array in expected.items():
        np.testing.assert_array_equal(actual[key], array, strict=True)


@pytest.mark.parametrize("name", MULTI_DATASETS)
def test_a_multi_dataset_is_written_byte_for_byte(golden, tmp_path, name):
    stream = io.BytesIO()
    found = read_multi_dataset(io.BytesIO(raw(golden, name)), name=name)
    write_multi_dataset(stream, found)
    assert stream.getvalue() == raw(golden, name)
    MultiDataSet.load(golden / "data" / f"{name}.bin").save(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == raw(golden, name)


def test_merging_makes_the_bytes_that_dl4js_merge_makes(golden):
    parts = [DataSet.load(golden / "data" / f"ds_merge_in{k}.bin") for k in (1, 2)]
    stream = io.BytesIO()
    DataSet.merge(parts).write_to(stream)
    assert stream.getvalue() == raw(golden, "ds_merge_out")


@pytest.mark.parametrize("name", FILE_BATCHES)
def test_a_file_batch_has_the_same_entries_again(golden, name):
    path = golden / "data" / f"{name}.zip"
    stream = io.BytesIO()
    FileBatch.read_from_zip(path).write_to(stream)
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(stream) as after:
        assert after.namelist() == before.namelist()
        for entry in before.namelist():
            assert after.read(entry) == before.read(entry)


def test_a_file_batch_of_odd_names(golden):
    batch = FileBatch.read_from_zip(golden / "data" / "filebatch_binary.zip")
    expected = json.loads((golden / "data" / "filebatch_binary.json").read_text())
    assert list(batch.original_uris) == expected["uris"]
    as_hex = [content.hex().lstrip("0") for content in batch.file_bytes]
    assert as_hex == expected["bytes_hex"]


def test_a_file_batch_of_data_sets(golden):
    batch = FileBatch.read_from_zip(golden / "data" / "filebatch_datasets.zip")
    expected = arrays(golden, "filebatch_datasets")
    for k, found in enumerate(batch.datasets()):
        np.testing.assert_array_equal(found.features, expected[f"features.{k}"])
        np.testing.assert_array_equal(found.labels, expected[f"labels.{k}"])


@pytest.mark.parametrize("name", STORED)
def test_a_normalizer_is_written_byte_for_byte(golden, name):
    stream = io.BytesIO()
    write_normalizer(stream, read_normalizer(io.BytesIO(raw(golden, name))))
    assert stream.getvalue() == raw(golden, name)


@pytest.mark.parametrize("name", STORED)
def test_a_normalizer_survives_our_own_checkpoints(golden, name):
    values = read_normalizer(io.BytesIO(raw(golden, name))).to_dict()
    stream = io.BytesIO()
    write_normalizer(stream, normalizer_from_dict(json.loads(json.dumps(values))))
    assert stream.getvalue() == raw(golden, name)


@pytest.mark.parametrize("name", STORED)
def test_a_loaded_normalizer_gives_dl4js_numbers_to_the_last_bit(golden, name):
    values = arrays(golden, name)
    loaded = read_normalizer(io.BytesIO(raw(golden, name)))
    for key, found in results(name, values, loaded).items():
        np.testing.assert_array_equal(found, values[key], strict=True)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_a_fitted_normalizer_gives_dl4js_numbers(golden, name):
    values = arrays(golden, name)
    for key, found in results(name, values, fitted(name, values)).items():
        atol = TOLERANCE * np.abs(values[key]).max()
        np.testing.assert_allclose(found, values[key], rtol=0, atol=atol)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_what_is_learnt_is_what_dl4j_learns(golden, name):
    values = arrays(golden, name)
    normalizer = fitted(name, values)
    keys = ("mean", "std", "min", "max")
    for key in (*keys, *(f"label_{key}" for key in keys)):
        if key in values:
            found, expected = getattr(normalizer, key), values[key][0]
            atol = TOLERANCE * np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def test_what_dl4j_cannot_store_is_refused():
    with pytest.raises(FormatError, match="VGG16ImagePreProcessor must be of a class"):
        write_normalizer(io.BytesIO(), VGG16ImagePreProcessor())
