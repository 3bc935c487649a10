import os
import pickle

import numpy as np
import pytest
import xarray as xr

from daskdl.data.dataset import DataSet
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import (
    ChangedFileError,
    ColumnError,
    DataError,
    MissingExtraError,
    OptionError,
    SourceNotFoundError,
)


def weather(n=6):
    """Time last, so that the dimension of the examples is not the first."""
    return xr.Dataset(
        {
            "image": (("y", "time", "x"), np.arange(4.0 * n).reshape(2, n, 2)),
            "wind": ("time", np.arange(1.0 * n)),
            "kind": ("time", np.arange(n) % 3),
        },
        coords={"time": np.arange(100, 100 + n)},
    )


OPTIONS = {
    "features": "image",
    "label": "kind",
    "n_classes": 3,
    "key": "time",
    "sample_dim": "time",
}


def source(data, **options):
    return open_source(data, SourceOptions(**{**OPTIONS, **options}))


def joined(opened):
    loaded = [partition.load() for partition in opened.partitions]
    return DataSet.merge(loaded)


def check_is_weather(loaded):
    expected = weather().image.transpose("time", "y", "x")
    np.testing.assert_array_equal(loaded.features, expected)
    np.testing.assert_array_equal(loaded.labels.argmax(axis=1), weather().kind)
    np.testing.assert_array_equal(loaded.keys, weather().time)


def test_a_data_set_in_memory_travels_with_its_partition():
    opened = source(weather())
    assert opened.in_memory
    assert [partition.rows for partition in opened.partitions] == [6]
    check_is_weather(pickle.loads(pickle.dumps(opened.partitions[0])).load())


def test_unused_variables_do_not_travel():
    big = weather().assign(big=("z", np.zeros(100_000)))
    assert len(pickle.dumps(source(big).partitions[0])) < 10_000


def test_chunks_along_the_examples_are_the_partitions():
    pytest.importorskip("dask.array", reason="chunks need dask[array]")
    opened = source(weather().chunk(time=4, x=1))
    assert [part.rows for part in opened.partitions] == [4, 2]
    assert [part.name for part in opened.partitions] == [
        "xarray chunk 0",
        "xarray chunk 1",
    ]
    check_is_weather(joined(opened))


def test_lazy_and_loaded_variables_go_together():
    pytest.importorskip("dask.array", reason="chunks need dask[array]")
    mixed = weather()
    mixed["image"] = mixed.image.chunk(time=4)
    opened = source(mixed)
    assert [part.rows for part in opened.partitions] == [4, 2]
    check_is_weather(joined(opened))


def test_the_examples_lie_along_the_first_dimension_by_default():
    (part,) = source(
        weather(), features="wind", label=None, require_labels=False, sample_dim=None
    ).partitions
    np.testing.assert_array_equal(part.load().features, np.arange(6.0)[:, None])


def test_several_variables_stand_side_by_side():
    (part,) = source(weather(), features=("wind", "kind")).partitions
    expected = np.stack([np.arange(6), np.arange(6) % 3], axis=1)
    np.testing.assert_array_equal(part.load().features, expected)


def test_variables_of_many_dimensions_do_not():
    (part,) = source(weather(), features=("wind", "image")).partitions
    with pytest.raises(
        ColumnError, match=r"column 'image' must hold a number or a row"
    ):
        part.load()


def series():
    mask = np.array([[1, 1, 0], [1, 0, 0]])
    values = np.arange(12.0).reshape(2, 2, 3)
    return xr.Dataset({"x": (("n", "f", "t"), values), "keep": (("n", "t"), mask)})


def test_masks_are_columns_too():
    options = SourceOptions(
        features="x", label="x", features_mask="keep", labels_mask="keep"
    )
    loaded = open_source(series(), options).partitions[0].load()
    np.testing.assert_array_equal(loaded.features_mask, series().keep)
    np.testing.assert_array_equal(loaded.labels_mask, series().keep)


def test_one_mask_serves_all_inputs_of_a_multi_data_set():
    options = SourceOptions(
        features={"a": "x", "b": "x"},
        features_mask="keep",
        require_labels=False,
    )
    loaded = open_source(series(), options).partitions[0].load()
    for mask in loaded.features_masks:
        np.testing.assert_array_equal(mask, series().keep)


def test_a_mask_of_other_values_is_refused():
    options = SourceOptions(features="x", features_mask="keep", require_labels=False)
    (part,) = open_source(series() * 2, options).partitions
    with pytest.raises(DataError, match=r"mask column 'keep' must hold only 0 and 1, "):
        part.load()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"features": None}, OptionError, "features must name the columns to use"),
        ({"label": None}, OptionError, "label must name a column, got None"),
        ({"features": "imag"}, ColumnError, "got 'imag'. Did you mean 'image'"),
        ({"sample_dim": "tim"}, ColumnError, "sample_dim must be a dimension .* 'tim'"),
        (
            {"sample_dim": "x"},
            ColumnError,
            "variable 'kind' must have the dimension 'x'",
        ),
        ({"format": "zarr"}, OptionError, "format must be one of .* got 'zarr'"),
    ],
)
def test_what_is_not_there_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        source(weather(), **options)


def test_a_variable_without_dimension_holds_no_examples():
    with pytest.raises(ColumnError, match="'one' must have a dimension of examples"):
        source(xr.Dataset({"one": 1.0}), features="one", sample_dim=None)


def test_a_bad_class_is_named():
    (part,) = source(weather(), n_classes=2).partitions
    with pytest.raises(
        DataError,
        match=r"^xarray dataset: column 'kind' .* from 0 to 1, got 2 in row 2",
    ):
        part.load()


def need_netcdf():
    pytest.importorskip("h5netcdf", reason="the NetCDF format needs h5netcdf")
    pytest.importorskip("h5py", reason="h5netcdf needs h5py to read")


def stored(tmp_path, kind, **encoding):
    encoding = {"image": encoding} if encoding else {}
    if kind == "zarr":
        pytest.importorskip("zarr", reason="the Zarr format needs zarr")
        path = tmp_path / "weather.zarr"
        weather().to_zarr(path, encoding=encoding, zarr_format=2, consolidated=True)
    else:
        need_netcdf()
        path = tmp_path / "weather.nc"
        weather().to_netcdf(path, engine="h5netcdf", encoding=encoding)
    return path


@pytest.mark.parametrize(
    ("kind", "encoding"),
    [
        ("zarr", {"chunks": (2, 4, 1)}),
        ("netcdf", {"chunksizes": (2, 4, 1)}),
    ],
)
@pytest.mark.parametrize("as_path", [str, lambda path: path, "file://{}".format])
def test_stored_chunks_are_the_partitions(tmp_path, kind, encoding, as_path):
    path = stored(tmp_path, kind, **encoding)
    opened = source(as_path(path), format=kind)
    assert [part.rows for part in opened.partitions] == [4, 2]
    assert opened.partitions[1].name == f"{as_path(path)}[4:6]"
    assert not opened.in_memory
    check_is_weather(joined(opened))


def test_a_stored_partition_is_small_to_send(tmp_path):
    path = stored(tmp_path, "netcdf", chunksizes=(2, 4, 1))
    (first, _) = source(path).partitions
    assert len(pickle.dumps(first)) < 2000
    assert pickle.loads(pickle.dumps(first)).load().num_examples == 4


def test_a_file_without_chunks_is_cut_by_size(tmp_path, monkeypatch):
    monkeypatch.setattr("daskdl.data.sources.xarray._PARTITION_BYTES", 3 * 48)
    path = stored(tmp_path, "netcdf")
    opened = source(path)
    assert [part.rows for part in opened.partitions] == [3, 3]
    check_is_weather(joined(opened))


def test_netcdf_is_read_through_fsspec(tmp_path):
    path = stored(tmp_path, "netcdf", chunksizes=(2, 4, 1))
    fsspec = pytest.importorskip("fsspec", reason="a dependency")
    with fsspec.open("memory://weather.nc", "wb") as stream:
        stream.write(path.read_bytes())
    check_is_weather(joined(source("memory://weather.nc")))


def test_a_missing_store_is_named(tmp_path):
    need_netcdf()
    with pytest.raises(
        SourceNotFoundError, match=r"none\.nc: something must be stored"
    ):
        source(tmp_path / "none.nc")


def test_a_damaged_store_is_named(tmp_path):
    need_netcdf()
    (tmp_path / "bad.nc").write_bytes(b"no netcdf")
    with pytest.raises(DataError, match=r"bad\.nc: must be readable with 'h5netcdf'"):
        source(tmp_path / "bad.nc")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"'zarr' must be .* pip install zarr"):
        source("somewhere.zarr")


def test_a_package_that_an_engine_needs_is_named(monkeypatch):
    def open_dataset(*_, **__):
        raise ImportError("No module named 'h5py'")

    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr(xr, "open_dataset", open_dataset)
    with pytest.raises(MissingExtraError, match=r"'h5netcdf' needs must .* 'h5py'"):
        source("somewhere.nc")


def test_another_format_than_the_ending_is_refused():
    with pytest.raises(OptionError, match=r"agrees with .* got 'netcdf'"):
        source("somewhere.zarr", format="netcdf")


def test_a_data_set_comes_from_labelled_variables():
    loaded = DataSet.from_xarray(
        weather(),
        features="image",
        label="kind",
        sample_dim="time",
        n_classes=3,
        key="time",
    )
    check_is_weather(loaded)
    assert loaded.features.dtype == np.float64


def test_columns_and_masks_come_from_labelled_variables():
    ds = weather().assign(keep=(("time", "x"), np.ones((6, 2))))
    loaded = DataSet.from_xarray(
        ds,
        features=["wind", "kind"],
        label=["wind"],
        labels_mask="keep",
        features_mask="keep",
    )
    assert loaded.features.shape == (6, 2)
    assert loaded.labels.shape == (6, 1)
    assert loaded.features_mask.shape == loaded.labels_mask.shape == (6, 2)


def test_labelled_images_do_not_stand_side_by_side():
    with pytest.raises(ColumnError, match=r"'image' must have at most one dimension"):
        DataSet.from_xarray(weather(), features=["image", "wind"], sample_dim="time")


def test_a_file_that_is_rewritten_is_refused(tmp_path):
    path = stored(tmp_path, "netcdf")
    (part,) = source(str(path)).partitions
    part.load()
    changed = weather()
    changed["image"] = changed["image"] + 1
    changed.to_netcdf(path, engine="h5netcdf")
    os.utime(path, (1, 1))
    with pytest.raises(ChangedFileError, match=r"weather\.nc: must stay as it was"):
        part.load()


def test_a_file_that_is_damaged_meanwhile_is_told_as_rewritten(tmp_path):
    path = stored(tmp_path, "netcdf")
    (part,) = source(str(path)).partitions
    path.write_bytes(b"no numbers")
    with pytest.raises(ChangedFileError, match=r"its size is 10 bytes after"):
        part.load()
