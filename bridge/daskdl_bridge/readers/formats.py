"""Formats of files and their readers, by the ending of names or the user's choice.

Hadoop gives files names without any ending, so that those with such names are looked
into.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from daskdl.checks import check_one_of, some
from daskdl.data.sources.partition import Partition
from daskdl.data.sources.row_options import ROW_OPTIONS, TABLE_OPTIONS
from daskdl.data.sources.sequence_options import SEQUENCE_OPTIONS
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.text_options import TEXT_OPTIONS
from daskdl.errors import DataError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers import (
    avro,
    csv,
    dl4j,
    image_files,
    json,
    libsvm,
    orc,
    parquet,
    sequence_table,
    text,
    tfrecord,
    xml,
)
from daskdl_bridge.readers.file_summary import FileSummary
from daskdl_bridge.readers.first_bytes import format_by_first_bytes, is_text
from daskdl_bridge.readers.lines import ENDINGS

__all__ = [
    "FORMATS",
    "MINIBATCH_FORMATS",
    "OPTIONS_OF_FORMAT",
    "SUMMARIES",
    "format_of",
]

OpenParts: TypeAlias = Callable[[Sequence[Part], SourceOptions], Sequence[Partition]]

FORMATS: Mapping[str, OpenParts] = MappingProxyType(
    {
        "avro": avro.open_parts,
        "csv": csv.open_parts,
        "dl4j": dl4j.open_dataset_parts,
        "dl4j_batch": dl4j.open_file_batch_parts,
        "dl4j_multi": dl4j.open_multi_dataset_parts,
        "image": image_files.open_parts,
        "json": json.open_parts,
        "libsvm": libsvm.open_parts,
        "orc": orc.open_parts,
        "parquet": parquet.open_parts,
        "sequence_file": sequence_table.open_parts,
        "text": text.open_parts,
        "tfrecord": tfrecord.open_parts,
        "xml": xml.open_parts,
    }
)
"""Name of a format to the function that makes partitions of its files."""

SUMMARIES: Mapping[str, Callable[[Sequence[Part], SourceOptions], FileSummary]] = (
    MappingProxyType(
        {
            "avro": avro.summarize_parts,
            "csv": csv.summarize_parts,
            "image": image_files.summarize_parts,
            "json": json.summarize_parts,
            "libsvm": libsvm.summarize_parts,
            "orc": orc.summarize_parts,
            "parquet": parquet.summarize_parts,
            "sequence_file": sequence_table.summarize_parts,
            "text": text.summarize_parts,
            "tfrecord": tfrecord.summarize_parts,
            "xml": xml.summarize_parts,
        }
    )
)
"""Name of a format with columns to the function that summarizes its files."""

OPTIONS_OF_FORMAT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "avro": ("label_from", *TABLE_OPTIONS),
        "csv": (*TEXT_OPTIONS, *ROW_OPTIONS),
        "image": ("label_from", *ROW_OPTIONS),
        "json": ("encoding", "multi_line", "merge_schema", *TABLE_OPTIONS),
        "libsvm": ROW_OPTIONS,
        "orc": ("label_from", "merge_schema", *TABLE_OPTIONS),
        "parquet": ("label_from", "merge_schema", *TABLE_OPTIONS),
        "sequence_file": (*SEQUENCE_OPTIONS, *TABLE_OPTIONS),
        "text": ("encoding", "pattern", *ROW_OPTIONS),
        "tfrecord": TABLE_OPTIONS,
        "xml": ("row_tag", *TABLE_OPTIONS),
    }
)
"""Name of a format to the options of its own that it heeds; others heed none."""

MINIBATCH_FORMATS = frozenset({"dl4j", "dl4j_batch", "dl4j_multi"})
"""Formats that hold minibatches: one a file, or several in a zip."""

_BY_ENDING = {
    "avro": "avro",
    "parquet": "parquet",
    "csv": "csv",
    "json": "json",
    "jsonl": "json",
    "orc": "orc",
    "libsvm": "libsvm",
    "svm": "libsvm",
    "seq": "sequence_file",
    "txt": "text",
    "tfrecord": "tfrecord",
    "xml": "xml",
    "tfrecords": "tfrecord",
    "bin": "dl4j",
    "zip": "dl4j_batch",
    **dict.fromkeys(image_files.ENDINGS, "image"),
}

# Whose files may be compressed as a whole.
_MAY_BE_COMPRESSED = ("csv", "json", "libsvm", "text", "tfrecord", "xml")

# What TensorFlow's writers put behind names.
_SHARD = re.compile(r"-\d+-of-\d+(?=\.|$)")


def format_of(parts: Sequence[Part], options: SourceOptions) -> str:
    """Find the format in which files are stored.

    Parameters
    ----------
    parts : sequence of Part
        At least one.
    options : SourceOptions
        Its `format` decides if it is given.

    Returns
    -------
    str
        A key of `FORMATS`.

    Raises
    ------
    OptionError
        If `format` is no format that can be read.
    DataError
        If neither names nor the first bytes of the first file without a known ending,
        of those that are not empty, tell the format, or names tell different ones.
    """
    if options.format is not None:
        return check_one_of("SourceOptions", "format", options.format, FORMATS)
    found: dict[Any, str] = {}
    for part in parts:
        found.setdefault(_format_of_name(part.name), part.url)
    if None in found:
        unnamed = [part for part in parts if _format_of_name(part.name) is None]
        file_format = format_by_first_bytes(unnamed, options)
        if file_format is None:
            raise _unknown(unnamed[0], options)
        found.setdefault(file_format, found.pop(None))
    if len(found) > 1:
        raise DataError(
            f"{parts[0].url}: all files must be of one format, got {some(found)}, for "
            f"instance {list(found.values())[1]}. Name the files of one format, or "
            "give format."
        )
    (file_format,) = found
    return str(file_format)


def _unknown(part: Part, options: SourceOptions) -> DataError:
    hint = "Give format='parquet' or what it is."
    if is_text(part, options):
        hint = "It is text: give format='csv', or what it is."
    return DataError(
        f"{part.url}: the name must end in one of "
        f"{some(sorted(_BY_ENDING), len(_BY_ENDING))}, so that the format is known, or "
        f"the first bytes tell it. {hint}"
    )


def _format_of_name(name: str) -> str | None:
    pieces = _SHARD.sub("", name.lower()).split(".")
    is_compressed = f".{pieces[-1]}" in ENDINGS
    if is_compressed:
        pieces.pop()
    file_format = _BY_ENDING.get(pieces[-1]) if len(pieces) > 1 else None
    if is_compressed and file_format not in _MAY_BE_COMPRESSED:
        return None
    return file_format
