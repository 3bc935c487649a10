"""Classes that the paths of files name, as numbers in the order of sorted names.

That is what DL4J's ``ParentPathLabelGenerator`` and ``ImageRecordReader`` do.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from daskdl.data.sources.source import Columns, SourceOptions
from daskdl.data.sources.text_options import PARENT, compiled_pattern
from daskdl.errors import ColumnError, DataError, OptionError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.nested import field_of
from daskdl_bridge.readers.table_reader import TablePartition, TableReader

__all__ = [
    "class_of_path",
    "sorted_classes",
    "with_classes_of_paths",
    "with_paths_as_key",
]

_DEFAULT_LABEL = "label"


def class_of_path(path: str, label_from: str) -> str:
    """Return the name of the class of a file.

    Parameters
    ----------
    path : str
        Path or URL.
    label_from : str
        ``"parent"``, or a regular expression with one group.

    Raises
    ------
    DataError
        If the path names none.
    """
    if label_from == PARENT:
        name = path.rpartition("/")[0].rpartition("/")[2]
    else:
        found = compiled_pattern("label_from", label_from, n_groups=1).search(path)
        name = (found[1] or "") if found else ""
    if not name:
        raise DataError(
            f"{path}: the path must name a class by label_from={label_from!r}, it does "
            "not. Give another one, or leave the file out."
        )
    return name


def sorted_classes(paths: Iterable[str], label_from: str) -> tuple[str, ...]:
    """Return the names of the classes of files, in the order of their numbers.

    Raises
    ------
    DataError
        If a path names none.
    """
    return tuple(sorted({class_of_path(path, label_from) for path in paths}))


def with_paths_as_key(options: SourceOptions) -> SourceOptions:
    """Return options whose key has the column of paths, and that name no label.

    A key is read as it is stored, in a field of a struct too.

    Raises
    ------
    OptionError
        If `label` names several columns.
    """
    key = tuple(dict.fromkeys([*_names(options.key), _label(options)]))
    return replace(options, label=None, require_labels=False, key=key)


def with_classes_of_paths(
    partitions: Sequence[TablePartition], options: SourceOptions
) -> list[TablePartition]:
    """Return partitions whose label column, of paths, is the number of a class.

    Parameters
    ----------
    partitions : sequence of TablePartition
        Opened as `with_paths_as_key` says. Of all, the paths are read here.
    options : SourceOptions
        With `label_from`, and the column of paths as `label`.

    Raises
    ------
    ColumnError
        If the column holds no text.
    DataError
        If a path names no class.
    """
    label = _label(options)
    paths = (
        path
        for partition in partitions
        for column in [partition.columns.holding(label)]
        for table in partition.reader.read_blocks(partition.part, [column], options)
        for path in _paths(table, label, column, partition.part)
    )
    # Of each path its class is kept.
    names = sorted_classes(paths, str(options.label_from))
    return [_with_classes(partition, options, names) for partition in partitions]


def _with_classes(
    partition: TablePartition, options: SourceOptions, names: tuple[str, ...]
) -> TablePartition:
    label, n_keys = _label(options), len(_names(options.key))
    columns = partition.columns
    return replace(
        partition,
        reader=_ClassReader(partition.reader, label, columns.holding(label), names),
        columns=replace(
            columns,
            labels=((_class_column(label),),),
            keys=columns.keys[:n_keys],
            key_types=columns.key_types[:n_keys],
        ),
        options=options,
        class_names=names,
    )


@dataclass(frozen=True)
class _ClassReader(TableReader):
    """Adds the numbers of the classes that a column of paths names."""

    reader: TableReader
    label: str
    column: str
    names: tuple[str, ...]

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        numbers = {name: number for number, name in enumerate(self.names)}
        added, label_from = _class_column(self.label), str(options.label_from)
        stored = [name for name in columns if name != added]
        asked = list(dict.fromkeys([*stored, self.column]))
        for table in self.reader.read_blocks(part, asked, options):
            classes = [
                numbers[class_of_path(path, label_from)]
                for path in _paths(table, self.label, self.column, part)
            ]
            made = {name: table.column(name) for name in stored}
            yield pa.table({**made, added: pa.array(classes, pa.int64())})


def _class_column(label: str) -> str:
    """Return a name beside that of the paths, which may be keys."""
    return f"class of {label}"


def _label(options: SourceOptions) -> str:
    label = _DEFAULT_LABEL if options.label is None else options.label
    if not isinstance(label, str):
        raise OptionError(
            "SourceOptions: label must be one column of paths with label_from, got "
            f"{label!r}."
        )
    return label


def _names(key: Columns | None) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key or ()


def _paths(table: Any, label: str, holding: str, part: Part) -> list[str]:
    column = field_of(table.column(holding), label, holding)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise ColumnError(
            f"{part.url}: column {label!r} must hold paths with label_from, got "
            f"{column.type}."
        )
    if column.null_count:
        raise DataError(f"{part.url}: column {label!r} must hold a path in every row.")
    paths: list[str] = column.to_pylist()
    return paths
