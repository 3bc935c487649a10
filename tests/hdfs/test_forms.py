"""Files of many forms, by both protocols of HDFS, are read as from a local disk."""

import numpy as np
import pytest

from daskdl.data.sources.source import SourceOptions, open_source
from daskdl_bridge.storage import filesystem
from tests.unit.bridge.sample_forms import SAMPLES

DATA = SAMPLES.parent
LINES = r"(?P<label>\d) 1:(?P<p0>\S+) 2:(?P<p1>\S+)"
COLUMNS = {"features": ("p0", "p1"), "label": "label"}
NO_LABELS = {"require_labels": False}
OF_CLASSES = {"features": "content", "label": "path", "label_from": "parent"}
# Where a form lies, and how it is read.
FORMS = {
    "avro": ("spark/avro/snappy", {"features": ("x", "a"), "label": "label"}),
    "image of Spark": ("spark/avro/image", {"features": "image", **NO_LABELS}),
    "binary files": ("spark/binaryfile_labelled", OF_CLASSES),
    "images": ("images/by_class", {}),
    "xml": ("spark/xml", {"row_tag": "example", "features": "x", "label": "label"}),
    "tfrecord": (
        "tfrecord/examples.tfrecord",
        {"features": "features", "label": "label"},
    ),
    "csv by Snappy": ("spark/compressed_text/csv_snappy", COLUMNS),
    "json by Lz4": ("spark/compressed_text/json_lz4", COLUMNS),
    "text by deflate": (
        "spark/compressed_text/libsvm_deflate",
        {"format": "text", "pattern": LINES, **COLUMNS},
    ),
    "map file": ("hadoop/map", {"features": "key", **NO_LABELS}),
    "blocks of BZip2": ("hadoop/BLOCK_BZip2Codec", {"features": "key", **NO_LABELS}),
    "pickles": (
        "spark/pickle_tuples",
        {"features": "_c2", "label": "_c1", "key": "_c0"},
    ),
}


def examples(path, how):
    options = SourceOptions(require_success=False, **how)
    batches = [one.load() for one in open_source(path, options).partitions]
    return [
        np.concatenate([getattr(batch, name) for batch in batches])
        for name in ("features", "labels", "keys")
        if getattr(batches[0], name) is not None
    ]


@pytest.mark.parametrize("form", FORMS)
def test_examples_are_those_of_a_local_disk(url, form):
    place, how = FORMS[form]
    fs, path = filesystem(url)
    fs.put(str(DATA / place), path, recursive=True)
    remote, local = examples(url, how), examples(str(DATA / place), how)
    assert len(remote) == len(local)
    for one, other in zip(remote, local, strict=True):
        np.testing.assert_array_equal(one, other)
