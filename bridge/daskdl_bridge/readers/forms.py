"""Which reader reads what: by the ending of file names, or by what the user says."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from daskdl.checks import check_one_of, some
from daskdl.data.sources.partition import Partition
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.text_options import TEXT_OPTIONS
from daskdl.errors import DataError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers import csv, dl4j, json, libsvm, orc, parquet
from daskdl_bridge.readers.file_summary import FileSummary
from daskdl_bridge.readers.lines import FOREIGN_CODECS

__all__ = ["FORMS", "MINIBATCH_FORMS", "OPTIONS_OF_FORM", "SUMMARIES", "form_of"]

OpenParts: TypeAlias = Callable[[Sequence[Part], SourceOptions], Sequence[Partition]]

FORMS: Mapping[str, OpenParts] = MappingProxyType(
    {
        "csv": csv.open_parts,
        "dl4j": dl4j.open_dataset_parts,
        "dl4j_batch": dl4j.open_file_batch_parts,
        "dl4j_multi": dl4j.open_multi_dataset_parts,
        "json": json.open_parts,
        "libsvm": libsvm.open_parts,
        "orc": orc.open_parts,
        "parquet": parquet.open_parts,
    }
)
"""Name of a form to what makes partitions of its files."""

SUMMARIES: Mapping[str, Callable[[Sequence[Part], SourceOptions], FileSummary]] = (
    MappingProxyType(
        {
            "csv": csv.summarize_parts,
            "json": json.summarize_parts,
            "libsvm": libsvm.summarize_parts,
            "orc": orc.summarize_parts,
            "parquet": parquet.summarize_parts,
        }
    )
)
"""Name of a form with columns to what tells them."""

OPTIONS_OF_FORM: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"csv": TEXT_OPTIONS, "json": ("encoding", "multi_line")}
)
"""Name of a form to the options of text files that it heeds; others heed none."""

MINIBATCH_FORMS = frozenset({"dl4j", "dl4j_batch", "dl4j_multi"})
"""Forms that hold minibatches: one a file, or several in a zip."""

_BY_ENDING = {
    "parquet": "parquet",
    "csv": "csv",
    "json": "json",
    "jsonl": "json",
    "orc": "orc",
    "libsvm": "libsvm",
    "svm": "libsvm",
    "bin": "dl4j",
    "zip": "dl4j_batch",
}

_COMPRESSED = ("gz", "bz2")
_OF_LINES = ("csv", "json", "libsvm")


def form_of(parts: Sequence[Part], options: SourceOptions) -> str:
    """Find the form that files are stored in.

    Parameters
    ----------
    parts : sequence of Part
        At least one.
    options : SourceOptions
        Its `format` decides if it is given.

    Returns
    -------
    str
        A key of `FORMS`.

    Raises
    ------
    OptionError
        If `format` is no form that can be read.
    DataError
        If names do not tell the form, or tell different ones.
    """
    if options.format is not None:
        return check_one_of("SourceOptions", "format", options.format, FORMS)
    found: dict[Any, str] = {}
    for part in parts:
        found.setdefault(_form_of_name(part.name), part.url)
    if None in found:
        raise DataError(
            f"{found[None]}: the name must end in one of "
            f"{some(sorted(_BY_ENDING), len(_BY_ENDING))}, so that the form is known. "
            "Give format='parquet' or what it is."
        )
    if len(found) > 1:
        raise DataError(
            f"{parts[0].url}: all files must be of one form, got {some(found)}, for "
            f"instance {list(found.values())[1]}. Name the files of one form, or give "
            "format."
        )
    (form,) = found
    return str(form)


def _form_of_name(name: str) -> str | None:
    pieces = name.lower().split(".")
    is_foreign = f".{pieces[-1]}" in FOREIGN_CODECS
    if is_foreign or pieces[-1] in _COMPRESSED:
        pieces.pop()
    form = _BY_ENDING.get(pieces[-1]) if len(pieces) > 1 else None
    # Readers of lines say that they do not know the compression.
    return None if is_foreign and form not in _OF_LINES else form
