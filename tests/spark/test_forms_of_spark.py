"""Forms that the test bed has not, written by this Spark here and on HDFS, are read."""

import numpy as np
import pytest

from daskdl.data.sources.source import SourceOptions, open_source
from tests.spark import written_forms as written
from tests.spark.places import PLACES, root_at, run

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

MAJOR = int(pyspark.__version__.split(".")[0])
SCALA = "2.12" if MAJOR < 4 else "2.13"
PACKAGES = {
    "avro": f"org.apache.spark:spark-avro_{SCALA}:{pyspark.__version__}",
    "tfrecord": "org.tensorflow:tensorflow-hadoop:1.15.0",
}

COLUMNS = {"features": ("p0", "p1"), "label": "label", "key": "key"}
PAIRS = {"features": "value", "key": "key", "require_labels": False}
PATTERN = r"(?P<key>\w+): (?P<p0>\S+) (?P<p1>\S+) -> (?P<label>\d)"
TEXT = {"format": "text", "pattern": PATTERN, **COLUMNS}
CODECS = ["none", *written.HADOOP_CODECS]
# How the forms are read whose examples are the rows.
OF_ROWS = {
    **{f"sequence_{codec}": PAIRS for codec in CODECS},
    "map_file": PAIRS,
    "pickle_arrays": PAIRS,
    "pickle_vectors": PAIRS,
    "pickle_dicts": COLUMNS,
    "pickle_rows": COLUMNS,
    **{f"text_{codec}": TEXT for codec in [*CODECS, *written.GZIP]},
    **{f"csv_{codec}": COLUMNS for codec in written.CODECS},
    **{f"json_{codec}": COLUMNS for codec in written.CODECS},
}
# Spark 3.5 writes no XML by itself.
if MAJOR >= 4:
    OF_ROWS |= {
        f"xml_{codec}": {"row_tag": "example", **COLUMNS} for codec in ("none", "gzip")
    }
OF_FILES = {"binary_file": ("content", "path"), "image": ("image", "image.origin")}


@pytest.fixture(scope="module", params=PLACES)
def root(request, tmp_path_factory):
    """URL of a directory with all forms that need no further package."""
    folder = tmp_path_factory.mktemp("forms")
    url = root_at(request.param, request, folder)
    run(folder, "-m", "tests.spark.written_forms", url)
    return url


@pytest.fixture(scope="module", params=PLACES)
def avro(request, tmp_path_factory):
    return written_with(PACKAGES["avro"], request, tmp_path_factory.mktemp("avro"))


@pytest.fixture(scope="module", params=PLACES)
def tfrecord(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tfrecord")
    return written_with(PACKAGES["tfrecord"], request, folder)


def written_with(package, request, folder):
    """Return the URL of a directory with the forms that need a package of Maven."""
    url = root_at(request.param, request, folder)
    try:
        run(folder, "-m", "tests.spark.written_forms", url, package)
    except AssertionError as error:
        if "unresolved dependency" in str(error):
            pytest.skip(f"Maven has no {package}")
        raise
    return url


def read(path, **options):
    """Return the batches that are not empty, in order."""
    partitions = open_source(path, SourceOptions(**options)).partitions
    batches = [partition.load() for partition in partitions]
    return [batch for batch in batches if batch.num_examples]


def joined(batches, name):
    return np.concatenate([getattr(batch, name) for batch in batches])


def check_rows(path, how):
    batches = read(path, **how)
    assert joined(batches, "keys").tolist() == written.KEYS
    assert joined(batches, "features").tolist() == written.FEATURES
    if "label" in how:
        assert joined(batches, "labels")[:, 0].tolist() == written.LABELS


@pytest.mark.parametrize("form", OF_ROWS)
def test_examples_are_the_rows(root, form):
    check_rows(f"{root}/{form}", OF_ROWS[form])


def test_numbers_of_sequence_files_are_numbers(root):
    batches = read(f"{root}/sequence_of_numbers", **PAIRS)
    numbers = np.arange(float(written.N_ROWS))
    np.testing.assert_array_equal(joined(batches, "keys"), numbers)
    np.testing.assert_array_equal(joined(batches, "features")[:, 0], numbers / 2)


def test_labelled_points_are_examples(root):
    batches = read(f"{root}/pickle_points")
    assert joined(batches, "features").tolist() == written.FEATURES
    assert joined(batches, "labels")[:, 0].tolist() == written.LABELS


@pytest.mark.parametrize("form", ["parquet", "orc", "json"])
def test_arrays_of_several_lengths_are_series(root, form):
    how = {"features": "features", "label": "label", "key": "key"}
    batches = read(f"{root}/series_{form}", align="start", **how)
    assert joined(batches, "keys").tolist() == written.KEYS
    found = [
        row[0, : int(mask.sum())].tolist()
        for batch in batches
        for row, mask in zip(batch.features, batch.features_mask, strict=True)
    ]
    assert found == written.SERIES


@pytest.mark.parametrize("source", OF_FILES)
@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_files_of_images_are_images(root, source, form):
    features, path = OF_FILES[source]
    how = {"features": features, "label": path, "key": path, "label_from": "parent"}
    how["n_classes"] = 3
    found = by_file(read(f"{root}/{source}_{form}", **how))
    assert found == by_file(read(str(written.IMAGES), key="path", n_classes=3))


def by_file(batches):
    """Return pixels and number of the class by the last two parts of the path."""
    names = ["/".join(key.split("/")[-2:]) for key in joined(batches, "keys")]
    pixels, labels = joined(batches, "features"), joined(batches, "labels")
    rows = zip(pixels.tolist(), labels.argmax(axis=1).tolist(), strict=True)
    return dict(zip(names, rows, strict=True))


def test_values_of_directories_have_the_types_of_spark(root):
    names = list(written.PARTITIONED)
    batches = read(
        f"{root}/partitioned", features=("p0", "p1"), label="label", key=("key", *names)
    )
    rows = [tuple(key) for batch in batches for key in batch.keys]
    expected = [
        (key, *(values[i % 3] for _, values in written.PARTITIONED.values()))
        for i, key in enumerate(written.KEYS)
    ]
    assert sorted(rows) == sorted(expected)


@pytest.mark.parametrize("codec", written.AVRO_CODECS)
def test_avro_of_each_codec_is_read(avro, codec):
    check_rows(f"{avro}/avro_{codec}", COLUMNS)


def test_tfrecord_is_read(tfrecord):
    how = {"features": "p", "label": "label", "key": "key"}
    check_rows(f"{tfrecord}/tfrecord", how)
