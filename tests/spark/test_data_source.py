"""Spark reads and writes through daskdl: every example once, with its values."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import daskdl
from daskdl import DataSet, MultiDataSet, SourceOptions
from daskdl.dl4j.datasets.file_batch import FileBatch
from daskdl_bridge.spark.data_source import register
from tests.ports import free_port

pytest.importorskip(
    "pyspark.sql.datasource", reason="data sources in Python came with Spark 4"
)
data_source_reading = pytest.importorskip("daskdl_bridge.spark.data_source_reading")
data_source_writing = pytest.importorskip("daskdl_bridge.spark.data_source_writing")

pytestmark = [
    pytest.mark.timeout(300),
    # No pandas takes part.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]

PROGRAM = Path(__file__).with_name("data_source_program.py")


@pytest.fixture(scope="module")
def registered(spark):
    register(spark)
    return spark


def read(spark, path, **options):
    return spark.read.format("daskdl").options(**options).load(str(path))


def write(frame, path, mode="append", batch_size=4, **options):
    writer = frame.write.format("daskdl").mode(mode).options(**options)
    writer.option("batch_size", batch_size).save(str(path))


def minibatches(path):
    return [
        partition.load()
        for partition in daskdl.open_source(str(path), SourceOptions()).partitions
    ]


def saved(folder, *datasets):
    folder.mkdir()
    for number, dataset in enumerate(datasets):
        dataset.save(f"{folder}/dataset_{number}.bin")
    return folder


def examples(n_rows, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_rows, 3)).astype(dtype)
    return DataSet(features, np.eye(2, dtype=dtype)[np.arange(n_rows) % 2])


def series(n_rows, steps, seed=0, *, masked=False):
    rng = np.random.default_rng(seed)
    mask = None
    if masked:
        mask = np.ones((n_rows, steps), np.float32)
        mask[:, steps // 2 :] = 0
    features = rng.normal(size=(n_rows, 2, steps)).astype(np.float32)
    labels = rng.normal(size=(n_rows, 1, steps)).astype(np.float32)
    return DataSet(features, labels, mask, mask)


def assert_same(first, second):
    for name in ("features", "labels", "features_mask", "labels_mask"):
        one, other = getattr(first, name), getattr(second, name)
        if one is None:
            assert other is None
        else:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("dtype", "element"), [("float32", "float"), ("float64", "double")]
)
def test_minibatches_go_through_spark_unchanged(registered, tmp_path, dtype, element):
    sets = [examples(4, dtype), examples(4, dtype, 1), examples(3, dtype, 2)]
    frame = read(registered, saved(tmp_path / "in", *sets))
    found = frame.schema.simpleString()
    assert found == f"struct<features:array<{element}>,label:array<{element}>>"
    assert frame.rdd.getNumPartitions() == len(sets)
    write(frame.coalesce(1), tmp_path / "out", dtype=dtype)
    for one, other in zip(sets, minibatches(tmp_path / "out"), strict=True):
        assert_same(one, other)


def test_series_keep_their_masks_and_lengths(registered, tmp_path):
    """Minibatches of one length have no mask, others have one and other lengths."""
    sets = [series(4, 5), series(4, 7, 1, masked=True), series(2, 7, 2)]
    frame = read(registered, saved(tmp_path / "in", *sets)).coalesce(1)
    assert frame.columns == ["features", "label", "features_mask", "labels_mask"]
    assert frame.where("features_mask is null").count() == 6
    write(frame, tmp_path / "out")
    for one, other in zip(sets, minibatches(tmp_path / "out"), strict=True):
        assert_same(one, other)


def test_series_of_several_minibatches_are_padded(registered, tmp_path):
    sets = [series(2, 5), series(2, 7, 1, masked=True)]
    frame = read(registered, saved(tmp_path / "in", *sets)).coalesce(1)
    write(frame, tmp_path / "out")
    (found,) = minibatches(tmp_path / "out")
    assert_same(DataSet.merge(sets), found)


def test_images_are_nested_arrays(registered, tmp_path):
    images = np.arange(96, dtype=np.float32).reshape(4, 2, 3, 4)
    one = DataSet(images, np.eye(2, dtype=np.float32)[[0, 1, 1, 0]])
    frame = read(registered, saved(tmp_path / "in", one))
    kind = frame.schema["features"].dataType.simpleString()
    assert kind == "array<array<array<float>>>"
    write(frame, tmp_path / "out")
    (found,) = minibatches(tmp_path / "out")
    assert_same(one, found)


def test_several_inputs_and_outputs_are_numbered_columns(registered, tmp_path):
    rng = np.random.default_rng(0)
    shapes = [(4, 2), (4, 3), (4, 2), (4, 1)]
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    MultiDataSet(arrays[:2], arrays[2:]).save(f"{tmp_path}/mds_0.bin")
    frame = read(registered, tmp_path / "mds_0.bin", format="dl4j_multi")
    assert frame.columns == ["features_0", "features_1", "label_0", "label_1"]
    assert frame.schema["label_1"].dataType.simpleString() == "float"
    write(frame, tmp_path / "out")
    source = daskdl.open_source(f"{tmp_path}/out", SourceOptions(format="dl4j_multi"))
    (found,) = [one.load() for one in source.partitions]
    for one, other in zip(arrays, [*found.features, *found.labels], strict=True):
        np.testing.assert_array_equal(one, other)


def test_masks_of_several_inputs_are_refused(registered, tmp_path):
    frame = registered.range(2).selectExpr(
        "array(float(id)) features_0", "array(1f) features_mask_0", "float(id) label_0"
    )
    with pytest.raises(Exception, match="features_mask_0 must be null"):
        write(frame, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_zip_of_minibatches_is_read(registered, tmp_path):
    sets = [examples(4), examples(3, seed=1)]
    folder = saved(tmp_path / "in", *sets)
    files = sorted(str(path) for path in folder.iterdir())
    FileBatch.for_files(files).write_as_zip(f"{tmp_path}/batch.zip")
    frame = read(registered, tmp_path / "batch.zip")
    assert frame.rdd.getNumPartitions() == 2
    found = np.array([row.features for row in frame.collect()], np.float32)
    expected = np.concatenate([one.features for one in sets])
    np.testing.assert_array_equal(found, expected)


def test_keys_of_tables_come_as_they_are_stored(registered, tmp_path):
    table = registered.range(0, 40, 1, 3).selectExpr(
        "id", "concat('k', id) name", "array(float(id), 1f) x", "id % 2 y"
    )
    path = str(tmp_path / "table")
    table.write.parquet(path)
    columns = {"features": "x", "label": "y"}
    one = read(registered, path, key="name", n_classes=2, **columns)
    assert one.schema.simpleString() == (
        "struct<name:string,features:array<float>,label:array<double>>"
    )
    both = read(registered, path, key='["id", "name"]', **columns)
    assert both.schema.simpleString() == (
        "struct<id:bigint,name:string,features:array<float>,label:double>"
    )
    joined = both.join(table, ["id", "name"]).where("x = features and y = label")
    assert joined.count() == 40
    assert one.where("features[0] % 2 = label[1]").count() == 40


def test_what_xarray_stores_is_read(registered, tmp_path):
    pytest.importorskip("h5netcdf", reason="h5netcdf is not installed")
    xarray = pytest.importorskip("xarray")
    variables = {
        "x": (("n", "a"), np.arange(6.0).reshape(3, 2)),
        "y": ("n", np.array([0.5, 1.5, 2.5])),
    }
    path = tmp_path / "stored.nc"
    xarray.Dataset(variables).to_netcdf(path, engine="h5netcdf")
    rows = read(registered, path, features="x", label="y").collect()
    assert [row.features for row in rows] == [[0, 1], [2, 3], [4, 5]]
    assert [row.label for row in rows] == [0.5, 1.5, 2.5]


def test_a_key_of_the_name_of_an_array_is_refused(registered, tmp_path):
    registered.range(3).selectExpr("id features", "id label").write.parquet(
        f"{tmp_path}/table"
    )
    with pytest.raises(Exception, match="beside those of examples, got 'label'"):
        read(registered, tmp_path / "table", key="label")


def test_a_wider_schema_is_cast_to_and_a_narrower_one_is_not(registered, tmp_path):
    folder = saved(tmp_path / "in", examples(4), examples(4, "float64", 1))
    frame = read(registered, folder)
    with pytest.raises(Exception, match=r"dataset_1\.bin: features must fit float"):
        frame.collect()
    wide = "label array<double>, features array<double>"
    reader = registered.read.format("daskdl").schema(wide)
    rows = reader.load(str(folder)).collect()
    expected = examples(4, "float64", 1)
    assert [row.features for row in rows[4:]] == expected.features.tolist()
    assert [row.label for row in rows[4:]] == expected.labels.tolist()
    assert read(registered, folder, dtype="float32").count() == 8


def test_what_the_schema_has_no_column_for_is_not_dropped(registered, tmp_path):
    folder = saved(tmp_path / "in", examples(4))
    reader = registered.read.format("daskdl").schema("features array<float>")
    with pytest.raises(Exception, match=r"got 'label' and the schema 'features'"):
        reader.load(str(folder)).collect()


def test_vectors_and_numbers_side_by_side_are_written(registered, tmp_path):
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions

    frame = registered.range(0, 8, 1, 1).selectExpr(
        "double(id) a", "double(-id) b", "array(double(id), double(-id)) v", "id % 3 y"
    )
    vectors = frame.withColumn("v", array_to_vector(functions.col("v")))
    write(vectors, tmp_path / "v", features="v", label="y", n_classes=3)
    write(frame, tmp_path / "ab", features='["a", "b"]', label="y", n_classes=3)
    for one, other in zip(
        minibatches(tmp_path / "v"), minibatches(tmp_path / "ab"), strict=True
    ):
        assert_same(one, other)
        assert one.labels.shape == (4, 3)
        assert one.features[1].tolist() == [one.features[1][0], -one.features[1][0]]


def test_partitions_without_rows_write_nothing(registered, tmp_path):
    frame = registered.range(0, 12, 1, 4).selectExpr("array(float(id)) features", "id")
    write(
        frame.where("id < 3 or id > 8"),
        tmp_path / "out",
        batch_size=10,
        require_labels="false",
    )
    found = [one.features[:, 0].tolist() for one in minibatches(tmp_path / "out")]
    assert [row for rows in found for row in rows] == [0, 1, 2, 9, 10, 11]
    assert len(found) == 2
    write(frame.where("id < 0"), tmp_path / "none", require_labels="false")
    names = sorted(path.name for path in (tmp_path / "none").iterdir())
    assert names == ["_SUCCESS", "data"]


def test_a_write_may_replace_what_it_reads(registered, tmp_path):
    path = tmp_path / "out"
    write(read(registered, saved(tmp_path / "in", examples(8))), path)
    again = read(registered, path)
    write(again.where("label[0] = 1").coalesce(1), path, "overwrite", batch_size=3)
    assert [len(one) for one in minibatches(path)] == [3, 1]
    assert all(one.labels[:, 0].all() for one in minibatches(path))


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_write_that_fails_keeps_what_was_there(registered, tmp_path, mode):
    path = tmp_path / "out"
    write(read(registered, saved(tmp_path / "in", examples(8))), path)
    before = sorted(str(one) for one in path.rglob("*"))
    broken = registered.range(0, 60, 1, 3).selectExpr(
        "array(float(if(id = 59, raise_error('no'), id))) features", "id label"
    )
    with pytest.raises(Exception, match="no"):
        write(broken, path, mode)
    assert sorted(str(one) for one in path.rglob("*")) == before
    assert sum(len(one) for one in minibatches(path)) == 8


def test_an_unknown_option_is_refused_before_a_task_runs(registered, tmp_path):
    frame = registered.range(3).selectExpr("array(float(id)) features", "id label")
    with pytest.raises(Exception, match="Did you mean 'label'"):
        write(frame, tmp_path / "out", lable="y")
    with pytest.raises(Exception, match="Did you mean 'features'"):
        read(registered, tmp_path, fetures="x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("features array<float>, label long", {"label": "y"}, "'y'"),
        ("features array<float>", {}, r"'label'.*option\('require_labels', 'false'\)"),
        ("features array<string>, label long", {}, "features"),
        ("label long", {}, "features must name"),
    ],
)
def test_columns_are_checked_before_a_task_runs(
    spark, tmp_path, columns, options, message
):
    schema = spark.createDataFrame([], columns).schema
    given = {"path": f"{tmp_path}/out", "batch_size": "2", **options}
    with pytest.raises(daskdl.DaskdlError, match=message):
        data_source_writing.prepared(given, schema, overwrite=False)
    assert list(tmp_path.iterdir()) == []


def test_a_path_without_an_example_is_refused(tmp_path):
    with pytest.raises(daskdl.SourceNotFoundError, match="the path must exist"):
        data_source_reading.schema_of({"path": f"{tmp_path}/none"})
    (tmp_path / "x.csv").write_text("features,label\n")
    with pytest.raises(daskdl.DataError, match=r"must hold an example.*\.schema"):
        data_source_reading.schema_of({"path": f"{tmp_path}/x.csv"})


@pytest.mark.slow
def test_a_task_that_is_tried_again_counts_once(tmp_path):
    """In a process of its own: only a master with failures tries again."""
    assert found_by("retried", tmp_path) == {
        "attempts": 2,
        "written before": 11,
        "rows": True,
        "left": ["_SUCCESS", "data"],
    }


# Spark Connect is tried with a whole program in test_connect.py.
@pytest.mark.slow
def test_it_works_on_connect(tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    found = found_by("connect", tmp_path, str(free_port()))
    assert found == {"connect": True, "rows": True, "refused": True}


def test_a_python_without_daskdl_is_named(tmp_path):
    found = found_by("missing", tmp_path)
    assert "must have the daskdl of the program" in found["said"]
    assert "got none" in found["said"]
    assert "spark.archives" in found["said"]


def found_by(what, folder, *arguments):
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    ran = subprocess.run(
        [sys.executable, PROGRAM, what, str(folder), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=280,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])
