"""The stored columns of features, labels and keys, chosen before any work."""

import fnmatch
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from daskdl.checks import did_you_mean, some
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, DataError, OptionError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.arrays import innermost, is_list, is_number
from daskdl_bridge.readers.images import is_binary, is_image_struct
from daskdl_bridge.readers.nested import column_holding, type_of
from daskdl_bridge.readers.text_labels import TextLabelError, is_text
from daskdl_bridge.readers.vectors import is_vector

__all__ = [
    "ExampleColumns",
    "check_exist",
    "check_fields",
    "check_named_once",
    "check_types",
    "refuse_missing",
    "resolve_columns",
]

# What Spark ML calls them unless told otherwise.
_SPARK_FEATURES, _SPARK_LABEL = "features", "label"

_MERGE = " Other files have it; with merge_schema it is null where it is not."


@dataclass(frozen=True, kw_only=True)
class ExampleColumns:
    """Names of the columns that examples are made of.

    Parameters
    ----------
    features, labels : tuple of tuple of str
        One entry an input or output; the columns of an entry stand side by side. No
        entry in `labels` if there are none.
    keys : tuple of str
        Columns that make the key together, none if there is no key.
    key_types : tuple of pyarrow.DataType
        Of the keys in all files; see `daskdl_bridge.readers.keys.with_key_type`.
    kept : tuple of str
        Further columns that stand beside predictions.
    kept_types : tuple of pyarrow.DataType
        Of those in all files.
    features_mask, labels_mask : str, optional
        Columns.
    nested : mapping of str to str
        Of names that reach into structs: the column that holds each.
    is_multi : bool
        Whether examples make a multi data set.
    """

    features: tuple[tuple[str, ...], ...]
    labels: tuple[tuple[str, ...], ...] = ()
    keys: tuple[str, ...] = ()
    key_types: tuple[Any, ...] = ()
    kept: tuple[str, ...] = ()
    kept_types: tuple[Any, ...] = ()
    features_mask: str | None = None
    labels_mask: str | None = None
    is_multi: bool = False
    nested: Mapping[str, str] = field(default_factory=dict)

    def numeric(self) -> Iterator[str]:
        """Yield the columns that become numbers."""
        for group in (*self.features, *self.labels):
            yield from group
        for mask in (self.features_mask, self.labels_mask):
            if mask is not None:
                yield mask

    def series(self, options: SourceOptions) -> Iterator[str]:
        """Yield the features that are time series."""
        for index, group in enumerate(self.features):
            is_series = options.is_series("features", index) is not False
            yield from group if options.align is not None and is_series else ()

    def class_column(self, options: SourceOptions) -> str | None:
        """Return the label that may hold names of classes, if those are given."""
        if options.class_names is None or not self.labels or len(self.labels[0]) > 1:
            return None
        return self.labels[0][0]

    def hint_for_text(self, name: str) -> str:
        """Return advice for a column of text that should be numbers."""
        if not any(name in group for group in self.labels):
            return ""
        return (
            " If these are names of classes, give all of them as class_names, in the "
            "order of their numbers; or number them from 0, in Spark by StringIndexer."
        )

    def all(self) -> list[str]:
        """Return every name once."""
        return list(dict.fromkeys([*self.numeric(), *self.keys, *self.kept]))

    def holding(self, name: str) -> str:
        """Return the column that a name is, or reaches into."""
        return self.nested.get(name, name)

    def stored(self) -> list[str]:
        """Return every column that is to be read once."""
        return list(dict.fromkeys(map(self.holding, self.all())))


def check_named_once(who: str, names: Iterable[Any], wanted: Collection[Any]) -> None:
    """Refuse columns of a table that are wanted, and of which it has several.

    Raises
    ------
    ColumnError
        With their names.
    """
    counts = Counter(names)
    twice = [name for name in dict.fromkeys(wanted) if counts[name] > 1]
    if twice:
        raise ColumnError(
            f"{who}: each column must have a name of its own, got {some(twice)} "
            "several times. Rename them, or leave out what is not used."
        )


def resolve_columns(
    options: SourceOptions,
    stored: Iterable[str],
    part: Part,
    elsewhere: Collection[str] = (),
    *,
    has_structs: bool = False,
) -> ExampleColumns:
    """Find the columns that the options name.

    Parameters
    ----------
    options : SourceOptions
        A name with ``*`` or ``?`` that is no column stands for all that match, in
        stored order. Features and labels that are not named are the columns
        ``features`` and ``label``, as in Spark ML.
    stored : iterable of str
        Columns in the files.
    part : Part
        One of them, with its partition columns.
    elsewhere : collection of str
        Columns of other files, for messages.
    has_structs : bool
        Whether names may reach into structs, ``image.data``; whether there is such a
        field, `check_types` says.

    Raises
    ------
    DataError
        If there are no columns: the files are empty.
    ColumnError
        If a column does not exist; with the nearest name. If a partition column cannot
        become numbers.
    OptionError
        If features or labels are not named and there is no default.
    """
    names, who = list(stored), part.url
    if not names:
        raise DataError(
            f"{who}: must hold at least one example, got none, and no columns."
        )
    available = [*names, *part.types]
    features = options.features
    if features is None:
        features = _default("features", _SPARK_FEATURES, available, who)
    label = options.label
    if not options.require_labels:
        # Predictions must not fail for want of labels, nor for a bad one.
        label = None
    elif label is None:
        label = _default("label", _SPARK_LABEL, available, who)
    is_multi = isinstance(features, dict)
    if is_multi:
        _refuse_for_multi(options, who)
    columns = ExampleColumns(
        features=_groups(features, available, who),
        labels=() if label is None else _groups(label, available, who),
        keys=_group(options.key),
        kept=_kept(options, available, who),
        features_mask=options.features_mask,
        labels_mask=options.labels_mask if options.require_labels else None,
        is_multi=is_multi,
    )
    if has_structs:
        held = {name: column_holding(name, available) for name in columns.all()}
        nested = {name: one for name, one in held.items() if one not in (None, name)}
        columns = replace(columns, nested=nested)
    check_exist(columns.stored(), available, who, elsewhere)
    check_types(columns, part.types, who, options)
    return columns


def check_exist(
    names: Iterable[str],
    available: Sequence[str],
    who: str,
    elsewhere: Collection[str] = (),
) -> None:
    """Refuse a column that does not exist; say which do.

    Raises
    ------
    ColumnError
    """
    known = set(available)
    for name in names:
        if name not in known:
            hint = _MERGE if name in elsewhere else _hint(name, known)
            raise ColumnError(
                f"{who}: column {name!r} must exist, it does not. The columns are "
                f"{some(available) or 'none'}.{hint}"
            )


def _hint(name: str, known: Set[str]) -> str:
    if "," in name and {part.strip() for part in name.split(",")} <= known:
        return (
            " Several columns are given as a list, on the command line with an option "
            "for each."
        )
    return did_you_mean(name, known)


def refuse_missing(columns: ExampleColumns, missing: Iterable[str], who: str) -> None:
    """Refuse a file without a column that must hold a value in every row.

    Parameters
    ----------
    columns : ExampleColumns
        As resolved.
    missing : iterable of str
        Columns that the file does not have, which are null there.
    who : str
        For messages: the file.

    Raises
    ------
    ColumnError
        If features, labels or masks are among them; a key may be null.
    """
    needed = set(map(columns.holding, columns.numeric()))
    for name in missing:
        if name in needed:
            raise ColumnError(
                f"{who}: column {name!r} must hold a value in every row to be a "
                "feature, label or mask, but this file does not have it, so that it is "
                "null. Fill it in Spark, or leave the file or the column out."
            )


def check_types(
    columns: ExampleColumns, types: Mapping[str, Any], who: str, options: SourceOptions
) -> None:
    """Refuse a column whose type cannot become numbers, or lacks a field.

    Parameters
    ----------
    columns : ExampleColumns
        As resolved.
    types : mapping of str to pyarrow.DataType
        Stored columns; those not in it are not checked.
    who : str
        For messages: a path.
    options : SourceOptions
        With `align`, features must be arrays.

    Raises
    ------
    ColumnError
    """
    check_fields(columns, types, who)
    for name in columns.numeric():
        found = type_of(name, types) if columns.holding(name) in types else None
        if found is not None and not _is_usable(found):
            if is_text(found) and name == columns.class_column(options):
                continue
            hint = columns.hint_for_text(name) if is_text(found) else ""
            if hint:
                raise TextLabelError(who, name, found, hint)
            raise ColumnError(
                f"{who}: column {name!r} must hold numbers, arrays of numbers, "
                f"vectors, bytes or images, got {found}.{hint}"
            )
    for name in columns.series(options):
        found = type_of(name, types) if columns.holding(name) in types else None
        if found is not None and not is_list(found):
            raise ColumnError(
                f"{who}: column {name!r} must hold arrays of time steps, got {found}. "
                "Leave out align for what is no time series."
            )


def check_fields(columns: ExampleColumns, types: Mapping[str, Any], who: str) -> None:
    """Refuse a name that reaches into a column that has no such field.

    Raises
    ------
    ColumnError
    """
    for name, column in columns.nested.items():
        if column in types and type_of(name, types) is None:
            raise ColumnError(
                f"{who}: column {name!r} must exist, it does not: {column!r} is "
                f"{types[column]}."
            )


def _is_usable(arrow_type: Any) -> bool:
    if pa.types.is_dictionary(arrow_type):
        return _is_usable(arrow_type.value_type)
    return (
        is_number(innermost(arrow_type))
        or is_vector(innermost(arrow_type))
        or is_binary(arrow_type)
        or is_image_struct(arrow_type)
    )


def _default(option: str, column: str, available: Sequence[str], who: str) -> str:
    if column in available:
        return column
    raise OptionError(
        f"{who}: {option} must name a column, got None, and there is no column "
        f"{column!r}. The columns are {some(available) or 'none'}."
    )


def _refuse_for_multi(options: SourceOptions, who: str) -> None:
    for option in ("n_features", "features_mask", "labels_mask"):
        if getattr(options, option) is not None:
            raise OptionError(
                f"{who}: {option} is for one input, but features names several, got "
                f"{getattr(options, option)!r}."
            )


def _groups(
    named: Any, available: Sequence[str], who: str
) -> tuple[tuple[str, ...], ...]:
    groups = named.values() if isinstance(named, dict) else [named]
    return tuple(_expanded(group, available, who) for group in groups)


def _group(named: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (named,) if isinstance(named, str) else named or ()


def _kept(
    options: SourceOptions, available: Sequence[str], who: str
) -> tuple[str, ...]:
    """Return the further columns, without keys, which come back all the same."""
    is_all = options.keep == "all"
    names = available if is_all else _expanded(_group(options.keep), available, who)
    keys = _group(options.key)
    return tuple(name for name in names if name not in keys)


def _expanded(
    group: str | tuple[str, ...], available: Sequence[str], who: str
) -> tuple[str, ...]:
    names: list[str] = []
    for name in _group(group):
        is_pattern = name not in available and any(c in name for c in "*?")
        matching = fnmatch.filter(available, name) if is_pattern else [name]
        if not matching:
            check_exist([name], available, who)
        names += matching
    return tuple(dict.fromkeys(names))
