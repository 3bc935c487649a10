"""Part files of a Spark job at a path, in the order of its rows.

The rules were found by comparing Spark's files with what ``collect()`` returns: within
one job, files in order of part number and file number hold the rows in their order.
Names that start with ``_`` or ``.`` are Spark's own and are skipped at every level.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from daskdl.data.fingerprint import Fingerprint, fingerprint_of, modified
from daskdl.data.retries import with_retries
from daskdl.data.store import kind_of
from daskdl.errors import DataError, UnfinishedJobError
from daskdl_bridge.partition_values import (
    PartitionValue,
    partition_texts,
    typed_values,
)
from daskdl_bridge.storage import (
    Location,
    expand_locations,
    is_hidden,
    not_found,
    url_of,
)
from daskdl_bridge.streaming_log import STREAMING_LOG, committed_files
from daskdl_bridge.table_formats import places_of, refuse_table, refuse_table_above

__all__ = ["Part", "list_parts"]

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

# Anchored: '-c47f' also occurs inside a job's uuid. Below partitionBy directories a dot
# stands where a dash stands elsewhere; bucketed files carry the bucket before it.
_DATAFRAME_PART = re.compile(rf"part-(\d+)-({_UUID})(?:_(\d+))?[-.]c(\d{{3,}})(?:\.|$)")
_RDD_PART = re.compile(r"part-(?:[mr]-)?(\d+)(?:\.|$)")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One data file, or the lines or records of it that begin in some of its bytes.

    Parameters
    ----------
    url : str
        Where it is; a plain path if local.
    partition : int or None
        Number of the Spark partition that wrote it; None if the name has none.
    job : str or None
        The uuid that all files of one write share.
    file_no : int
        Number among the files of one partition.
    bucket : int or None
        Number of the bucket, for data written by ``bucketBy``.
    values : dict of str to value
        Values of the partition columns, from ``column=value`` directories.
    types : dict of str to pyarrow.DataType
        Of the partition columns, the same for all parts.
    size : int
        In bytes.
    fingerprint : Fingerprint, optional
        What must still hold when the file is read.
    span : (int, int), optional
        Offsets of the first byte and of the one after the last, of those in which the
        lines or records begin; all of the file if not given.
    """

    url: str
    partition: int | None = None
    job: str | None = None
    file_no: int = 0
    bucket: int | None = None
    values: dict[str, PartitionValue] = field(default_factory=dict)
    types: dict[str, Any] = field(default_factory=dict)
    size: int = 0
    fingerprint: Fingerprint | None = None
    span: tuple[int, int] | None = None

    @property
    def place(self) -> str:
        """The URL, with the bytes if they are only some."""
        if self.span is None:
            return self.url
        return f"{self.url} [{self.span[0]}:{self.span[1]}]"

    @property
    def name(self) -> str:
        """The last piece of the URL."""
        return self.url.rpartition("/")[2]

    def with_tail(self, tail: str) -> "Part":
        """Return the part with the digest of the file's end in its fingerprint."""
        if self.fingerprint is None:
            return self
        return replace(self, fingerprint=replace(self.fingerprint, tail=tail))


@dataclass(frozen=True)
class _Found:
    """A data file before its place in the order is known.

    `texts` are what its ``column=value`` directories hold.
    """

    part: Part
    modified: float
    texts: Mapping[str, str | None]


def list_parts(
    url_or_urls: Location | Iterable[Location],
    *,
    require_success: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Part]:
    """List the data files at one or several paths.

    Parameters
    ----------
    url_or_urls : str, path, or several of them
        Directories and files, with globs and commas as
        :func:`daskdl_bridge.storage.expand_locations` takes them. A file is a part by
        itself.
    require_success : bool
        Refuse a directory of part files without ``_SUCCESS``. A directory whose files
        do not bear Spark's names needs none, because what wrote them leaves none.
    storage_options : dict, optional
        See :func:`daskdl_bridge.storage.filesystem`.

    Returns
    -------
    list of Part
        Path by path in the order given; below one path by job (in order of time), part
        number, bucket and file number, as integers. Files below ``partitionBy``
        directories follow the same order, so that their values alternate. Files with
        other names come last, numbers in the names counted as numbers. Of what a
        streaming query of Spark wrote: the files in its log, in their order there.

    Raises
    ------
    SourceNotFoundError
        If a path does not exist.
    UnfinishedJobError
        If ``_SUCCESS`` is missing.
    DataError
        If a directory holds no data file, its partition columns differ, or it is or
        holds or lies in a table of a format of its own. A file of a table that is
        named, without a pattern, is taken.
    """
    files: list[_Found] = []
    checked: set[str] = set()
    for fs, path, is_named in expand_locations(url_or_urls, storage_options):
        fs.invalidate_cache(path)
        files += _list_one(
            fs, path, checked, is_named=is_named, require_success=require_success
        )
    return _with_typed_values(files)


def _list_one(
    fs: Any, path: str, checked: set[str], *, is_named: bool, require_success: bool
) -> list[_Found]:
    try:
        entry = with_retries(f"{path}: looking it up", lambda: fs.info(path))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise not_found(fs, path) from error
    root = _partitioned_root(path)
    is_file = entry["type"] != "directory"
    if not (is_file and is_named):
        _refuse_inside_of_tables(fs, path, checked)
    if is_file:
        return [_found(fs, root, entry)]
    if kind_of(fs, f"{path}/{STREAMING_LOG}") == "directory":
        return [_found(fs, path, file) for file in committed_files(fs, path)]
    files = [_found(fs, root, file) for file in _walk(fs, path)]
    if require_success:
        _check_finished(fs, path, root, [file.part for file in files])
    if not files:
        raise DataError(f"{url_of(fs, path)}: it must hold data files, it holds none.")
    return _in_order(files)


def _refuse_inside_of_tables(fs: Any, path: str, checked: set[str]) -> None:
    for place in places_of(fs, path):
        above = place.rpartition("/")[0]
        # The matches of a pattern mostly have one directory.
        if above not in checked:
            checked.add(above)
            refuse_table_above(fs, place)


def _walk(fs: Any, directory: str) -> Iterator[dict[str, Any]]:
    entries = with_retries(
        f"{directory}: listing it", lambda: fs.ls(directory, detail=True)
    )
    names = [entry["name"].rstrip("/").rpartition("/")[2] for entry in entries]
    refuse_table(fs, directory, names)
    for entry in entries:
        name = entry["name"].rstrip("/").rpartition("/")[2]
        if is_hidden(name) or entry["name"].rstrip("/") == directory:
            continue
        if entry["type"] == "directory":
            yield from _walk(fs, entry["name"].rstrip("/"))
        elif not name.startswith("_"):
            yield entry


def _partitioned_root(path: str) -> str:
    """Climb out of ``column=value`` directories to the directory of the whole job."""
    parent = path.rpartition("/")[0]
    if "=" not in path.rpartition("/")[2] and "=" not in parent.rpartition("/")[2]:
        return path
    while "=" in parent.rpartition("/")[2]:
        parent = parent.rpartition("/")[0]
    return parent


def _found(fs: Any, root: str, entry: dict[str, Any]) -> _Found:
    path = entry["name"]
    name = path.rpartition("/")[2]
    partition, job, bucket, file_no = _numbers(name)
    part = Part(
        url=url_of(fs, path),
        partition=partition,
        job=job,
        file_no=file_no,
        bucket=bucket,
        size=int(entry["size"]),
        fingerprint=fingerprint_of(fs, entry),
    )
    below_root = path.removeprefix(root).split("/")
    return _Found(part, modified(entry) or 0.0, partition_texts(below_root[:-1]))


def _numbers(name: str) -> tuple[int | None, str | None, int | None, int]:
    if match := _DATAFRAME_PART.match(name):
        number, job, bucket, file_no = match.groups()
        return int(number), job, None if bucket is None else int(bucket), int(file_no)
    if match := _RDD_PART.match(name):
        return int(match[1]), None, None, 0
    return None, None, None, 0


def _check_finished(fs: Any, path: str, root: str, parts: list[Part]) -> None:
    directory = root if len(root) < len(path) else path
    # A job can also have written right into a `column=value` directory.
    if any(kind_of(fs, f"{place}/_SUCCESS") for place in (directory, path)):
        return
    how = (
        "Give require_success=False (in a job require_success: false, on the command "
        "line --unfinished) to read it all the same."
    )
    if kind_of(fs, f"{directory}/_temporary"):
        raise UnfinishedJobError(
            f"{url_of(fs, directory)}: a finished job leaves _SUCCESS; here is "
            f"_temporary and no _SUCCESS, so the job runs or broke off. {how}"
        )
    if any(part.partition is not None for part in parts):
        # What `export_datasets` writes, and DL4J: minibatches, and a list of them.
        names = ("data", "paths/part-00000")
        if all(kind_of(fs, f"{directory}/{name}") for name in names):
            data = url_of(fs, f"{directory}/data")
            how = f"For the minibatches that are listed there, give {data}."
        raise UnfinishedJobError(
            f"{url_of(fs, directory)}: a finished job leaves _SUCCESS beside its part "
            f"files, there is none. {how}"
        )


def _in_order(files: list[_Found]) -> list[_Found]:
    started: dict[str, float] = {}
    for file in files:
        job = file.part.job or ""
        started[job] = min(file.modified, started.get(job, file.modified))

    def place(file: _Found) -> tuple[Any, ...]:
        part = file.part
        if part.partition is None:
            return (1, _natural(part.url))
        bucket = -1 if part.bucket is None else part.bucket
        job = part.job or ""
        numbers = (part.partition, bucket, part.file_no)
        return (0, started[job], job, *numbers, part.url)

    return sorted(files, key=place)


def _natural(text: str) -> list[tuple[int, str]]:
    pieces = re.split(r"(\d+)", text)
    return [(int(p), "") if p.isdigit() else (-1, p) for p in pieces]


def _with_typed_values(files: list[_Found]) -> list[Part]:
    columns = list(files[0].texts) if files else []
    for file in files:
        if list(file.texts) != columns:
            raise DataError(
                f"{file.part.url}: all files must lie below the same partition columns "
                f"{columns!r}, got {list(file.texts)!r}."
            )
    found = {c: typed_values([file.texts[c] for file in files]) for c in columns}
    types = {column: kind for column, (kind, _) in found.items()}
    return [
        replace(
            file.part,
            values={c: found[c][1][text] for c, text in file.texts.items()},
            types=types,
        )
        for file in files
    ]
