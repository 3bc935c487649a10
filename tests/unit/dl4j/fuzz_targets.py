"""What reads bytes of strangers, for Hypothesis, and for Atheris where it is installed.

``python -m tests.unit.dl4j.fuzz_targets [folder of seeds]`` fuzzes with Atheris. What
it finds becomes a test of its own.
"""

import io
import sys

from daskdl.dl4j.arrays.nd4j import read_array
from daskdl.dl4j.datasets.file_batch import FileBatch
from daskdl.dl4j.datasets.streams import read_dataset, read_multi_dataset
from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.dl4j.java.reader import read_java
from daskdl.dl4j.normalizers import read_normalizer
from daskdl.errors import FormatError
from tests.unit.dl4j.golden import (
    array_bytes,
    dataset_bytes,
    file_batch_bytes,
    normalizer_bytes,
)

READERS = {
    "array": lambda raw: read_array(io.BytesIO(raw), name="f"),
    "dataset": lambda raw: read_dataset(io.BytesIO(raw), name="f"),
    "multi_dataset": lambda raw: read_multi_dataset(io.BytesIO(raw), name="f"),
    "normalizer": lambda raw: read_normalizer(io.BytesIO(raw), name="f"),
    "java": lambda raw: read_java(CountedStream(io.BytesIO(raw), "f")),
    "file_batch": lambda raw: FileBatch.read_from(io.BytesIO(raw), name="f"),
}


def seeds():
    """Return small whole files for each reader."""
    metadata = dataset_bytes("ds_metadata")
    names = ("standardize_2d_labels", "minmax_2d", "image_0_1", "multi_hybrid")
    return {
        "array": [
            array_bytes(name)
            for name in ("float_2x3_c", "bool_2x3x4_f", "compressed_gzip", "half_5_c")
        ],
        "dataset": [metadata, dataset_bytes("ds_metadata_and_names")],
        "multi_dataset": [
            dataset_bytes("mds_metadata"),
            dataset_bytes("mds_masks_null_entries"),
        ],
        "normalizer": [normalizer_bytes(name) for name in names],
        "java": [metadata[metadata.index(b"\xac\xed") :]],
        "file_batch": [file_batch_bytes("filebatch_binary")],
    }


def read_or_refuse(reader, raw):
    """Return what was read, or None after the error that says what is wrong and where.

    Any other error is a finding.
    """
    try:
        return READERS[reader](raw)
    except FormatError as error:
        message = str(error)
    assert message.startswith("f"), message
    return None


def target(raw):
    """Hand all but the first byte to the reader that the first byte chooses."""
    if raw:
        read_or_refuse(sorted(READERS)[raw[0] % len(READERS)], raw[1:])


if __name__ == "__main__":
    import atheris

    atheris.instrument_all()
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
