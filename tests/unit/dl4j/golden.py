"""Files that the real DL4J 1.0.0-M2.1 wrote, and what NumPy says is in them."""

import functools
import io
import pathlib
import zipfile

import numpy as np

FOLDER = pathlib.Path(__file__).parents[2] / "data" / "nd4j"


@functools.cache
def _members(archive):
    with zipfile.ZipFile(FOLDER / archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def array_names():
    return [n.removesuffix(".bin") for n in _members("arrays.zip") if n.endswith("bin")]


def array_bytes(name):
    return _members("arrays.zip")[f"{name}.bin"]


@functools.cache
def expected_arrays():
    return dict(np.load(io.BytesIO(_members("arrays.zip")["expected.npz"])))


def dataset_names(prefix):
    files = _members("datasets.zip")
    return [
        n.removesuffix(".bin") for n in files if n.startswith(prefix) and ".bin" in n
    ]


def dataset_bytes(name):
    return _members("datasets.zip")[f"{name}.bin"]


def expected_dataset(name):
    return dict(np.load(io.BytesIO(_members("datasets.zip")[f"{name}.npz"])))


def normalizer_names():
    names = [*_members("normalizers.zip"), *_members("datasets.zip")]
    return [
        name.removesuffix(".bin")
        for name in names
        if name.endswith(".bin") and not name.startswith(("ds_", "mds_"))
    ]


def normalizer_bytes(name):
    both = _members("datasets.zip") | _members("normalizers.zip")
    return both[f"{name}.bin"]


def expected_normalized(name):
    return dict(np.load(io.BytesIO(_members("normalizers.zip")[f"{name}.npz"])))


def file_batch_bytes(name):
    return _members("normalizers.zip")[f"{name}.zip"]


def java_names():
    return [name.rpartition(".")[0] for name in _members("java.zip")]


def java_bytes(name):
    """Return what Java 17 serialised."""
    return _members("java.zip")[f"{name}.java"]
