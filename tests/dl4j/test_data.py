"""Arrays, data sets and normalizers that we wrote, in the real DL4J and back."""

import io

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.hybrid import MultiNormalizerHybrid
from daskdl.data.normalizers.image import ImagePreProcessingScaler
from daskdl.data.normalizers.min_max import (
    MultiNormalizerMinMaxScaler,
    NormalizerMinMaxScaler,
)
from daskdl.data.normalizers.standardize import (
    MultiNormalizerStandardize,
    NormalizerStandardize,
)
from daskdl.dl4j.datasets.file_batch import FileBatch
from daskdl.dl4j.network import model_zip
from daskdl.dl4j.normalizers import write_normalizer
from tests.dl4j.real_dl4j import read
from tests.dl4j.training_networks import TRAININGS
from tests.dl4j.trials import built

# Whole numbers have as many bits as NumPy says; the names are ND4J's.
TYPES = {
    "float16": "HALF",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "int8": "BYTE",
    "int16": "SHORT",
    "int32": "INT",
    "int64": "LONG",
    "uint8": "UBYTE",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "bool": "BOOL",
}
SHAPES = {"scalar": (), "vector": (5,), "matrix": (3, 4), "volume": (2, 3, 4)}


def random_array(rng, dtype, shape):
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    limits = np.iinfo(dtype)
    return np.asarray(rng.integers(limits.min, limits.max, shape, dtype))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", TYPES)
def test_array(dl4j, rng, dtype, order):
    array = np.asarray(random_array(rng, dtype, (3, 4)), order=order)
    answer = dl4j.ask("array", path=dl4j.write(array), out=dl4j.new())
    assert answer["type"] == TYPES[dtype]
    assert answer["order"] == order.lower()
    assert answer["values"] == array.ravel().astype(array.dtype).tolist()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_array_there_and_back(dl4j, rng, dtype, shape):
    array = random_array(rng, dtype, SHAPES[shape])
    path, back = dl4j.write(array), dl4j.new()
    answer = dl4j.ask("array", path=path, out=back)
    assert answer["shape"] == list(array.shape)
    np.testing.assert_array_equal(read(back), array, strict=True)
    assert back.read_bytes() == path.read_bytes()


def test_what_is_no_number(dl4j):
    array = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    path, back = dl4j.write(array), dl4j.new()
    answer = dl4j.ask("array", path=path, out=back)
    assert answer["values"][:3] == ["NaN", "Infinity", "-Infinity"]
    assert back.read_bytes() == path.read_bytes()


def rows(rng, dtype="f4"):
    labels = np.eye(3, dtype=dtype)[rng.integers(0, 3, 6)]
    return DataSet(rng.standard_normal((6, 4)).astype(dtype), labels)


def series(rng):
    mask = (np.arange(5) < [[5], [3], [1], [5]]).astype("f4")
    x, y = rng.standard_normal((2, 4, 3, 5)).astype("f4")
    return DataSet(x, y, mask, mask)


def images(rng):
    return DataSet(
        rng.integers(0, 256, (4, 2, 3, 3)).astype("f4"), np.eye(4, dtype="f4")
    )


def several(rng):
    mask = np.ones((6, 4), "f4")
    series_of_3 = rng.standard_normal((6, 3, 4)).astype("f4")
    row = rng.standard_normal((6, 2)).astype("f4")
    return MultiDataSet([row, series_of_3], [row, row], [None, mask], None)


DATA_SETS = {
    "rows": rows,
    "series": series,
    "images": images,
    "features alone": lambda rng: DataSet(rng.standard_normal((3, 2))),
    "float64": lambda rng: rows(rng, "f8"),
}


@pytest.mark.parametrize("name", DATA_SETS)
def test_data_set(dl4j, rng, name):
    path, back = dl4j.new(), dl4j.new()
    DATA_SETS[name](rng).save(path)
    dl4j.ask("dataset", path=path, out=back)
    assert back.read_bytes() == path.read_bytes()


def test_multi_data_set(dl4j, rng):
    path, back = dl4j.new(), dl4j.new()
    several(rng).save(path)
    dl4j.ask("multi_dataset", path=path, out=back)
    assert back.read_bytes() == path.read_bytes()


def test_file_batch(dl4j, rng, tmp_path):
    paths = [tmp_path / f"part {i}.bin" for i in range(3)]
    for path in paths:
        rows(rng).save(path)
    zipped, back = dl4j.new(".zip"), dl4j.new(".zip")
    batch = FileBatch.for_files(paths)
    batch.write_as_zip(zipped)
    answer = dl4j.ask("file_batch", path=zipped, out=back)
    assert answer["uris"] == list(batch.original_uris)
    assert answer["sizes"] == [path.stat().st_size for path in paths]
    assert FileBatch.read_from_zip(back) == batch


NORMALIZERS = {
    "standardize": (NormalizerStandardize, rows),
    "standardize with labels": (lambda: NormalizerStandardize().fit_label(), rows),
    "standardize series": (NormalizerStandardize, series),
    "min max": (lambda: NormalizerMinMaxScaler(-1, 2), rows),
    "images": (lambda: ImagePreProcessingScaler(-1, 1), images),
    "several, standardize": (MultiNormalizerStandardize, several),
    "several, min max": (lambda: MultiNormalizerMinMaxScaler(-1, 1), several),
    "several, hybrid": (
        lambda: (
            MultiNormalizerHybrid()
            .standardize_all_inputs()
            .min_max_scale_input(1, -1, 1)
            .standardize_output(1)
        ),
        several,
    ),
}


@pytest.fixture(params=NORMALIZERS)
def normalizer(request, rng):
    """A fitted normalizer, and data for it."""
    make, data = NORMALIZERS[request.param]
    return make().fit([data(rng), data(rng)]), data(rng)


def transformed(dl4j, data, **source):
    """Return what DL4J's normalizer makes of data, and its own file."""
    path, changed, own = dl4j.new(), dl4j.new(), dl4j.new()
    data.save(path)
    dl4j.ask("normalizer", dataset=path, transformed=changed, out=own, **source)
    return type(data).load(changed), own.read_bytes()


def check_same(found, expected):
    for part in ("features", "labels"):
        ours, theirs = getattr(expected, part), getattr(found, part)
        if isinstance(ours, np.ndarray):
            ours, theirs = [ours], [theirs]
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_normalizer(dl4j, normalizer):
    fitted, data = normalizer
    stream = io.BytesIO()
    write_normalizer(stream, fitted)
    path = dl4j.new()
    path.write_bytes(stream.getvalue())
    found, own = transformed(dl4j, data, path=path)
    assert own == stream.getvalue()
    check_same(found, fitted.transform(data))


def test_normalizer_of_a_model(dl4j, rng, tmp_path):
    fitted = NormalizerStandardize().fit([rows(rng)])
    network = built(TRAININGS["adam"], "float32", rng)
    model_zip.save(network, tmp_path / "model.zip", normalizer=fitted)
    data = rows(rng)
    found, _ = transformed(dl4j, data, model=tmp_path / "model.zip")
    check_same(found, fitted.transform(data))
