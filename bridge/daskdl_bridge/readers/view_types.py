"""Columns of the view types of Arrow, as the plain types that hold the same values.

delta-rs writes texts and bytes so, and other libraries hold them so in memory. Few
functions of Arrow take views, and nothing that comes behind knows of them.
"""

from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["plain_column", "plain_schema", "plain_table", "plain_type"]

# Compared as numbers: files may have thousands of columns, and few have any of these.
_PLAIN = {pa.string_view().id: pa.string(), pa.binary_view().id: pa.binary()}
_LIST = {
    pa.list_view(pa.null()).id: (pa.list_, pa.ListArray),
    pa.large_list_view(pa.null()).id: (pa.large_list, pa.LargeListArray),
}
_LISTS = {
    **_LIST,
    pa.list_(pa.null()).id: (pa.list_, pa.ListArray),
    pa.large_list(pa.null()).id: (pa.large_list, pa.LargeListArray),
}
_STRUCT = pa.struct([]).id


def plain_type(kind: Any) -> Any:
    """Return a type without views, unless a map or another has those of lists.

    Parameters
    ----------
    kind : pyarrow.DataType

    Returns
    -------
    pyarrow.DataType
        ``string``, ``binary``, ``list`` and ``large_list`` for their views, also inside
        of nested and dictionary types; `kind` itself if it holds none.
    """
    if kind.id in _PLAIN:
        return _PLAIN[kind.id]
    if not _holds_views(kind):
        return kind
    if pa.types.is_dictionary(kind):
        values = plain_type(kind.value_type)
        return pa.dictionary(kind.index_type, values, ordered=kind.ordered)
    if kind.id in _LISTS:
        make, _ = _LISTS[kind.id]
        return make(_plain_field(kind.value_field))
    if kind.id == _STRUCT:
        return pa.struct([_plain_field(one) for one in kind])
    if _holds_views(kind, _LIST):
        return kind
    if pa.types.is_map(kind):
        key, item = _plain_field(kind.key_field), _plain_field(kind.item_field)
        return pa.map_(key, item, keys_sorted=kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    return kind


def plain_schema(schema: Any) -> Any:
    """Return a pyarrow.Schema of plain types; itself if it has no others."""
    if not any(map(_is_changed, schema.types)):
        return schema
    return pa.schema(map(_plain_field, schema), schema.metadata)


def plain_table(table: Any) -> Any:
    """Return a pyarrow.Table with columns of plain types; itself if it has no others.

    Raises
    ------
    pyarrow.ArrowInvalid
        If a chunk of a column has more bytes than a plain one can have.
    """
    for index, field in enumerate(table.schema):
        if _is_changed(field.type):
            column = plain_column(table.column(index))
            table = table.set_column(index, _plain_field(field), column)
    return table


def plain_column(column: Any) -> Any:
    """Return an array or chunked array of a plain type; see `plain_table`."""
    if not _is_changed(column.type):
        return column
    if isinstance(column, pa.ChunkedArray):
        chunks = [_plain_array(chunk) for chunk in column.chunks]
        return pa.chunked_array(chunks, plain_type(column.type))
    return _plain_array(column)


def _is_changed(kind: Any) -> bool:
    return _holds_views(kind) and plain_type(kind) != kind


def _holds_views(kind: Any, views: Any = (*_PLAIN, *_LIST)) -> bool:
    if kind.id in views:
        return True
    if pa.types.is_dictionary(kind):
        return _holds_views(kind.value_type, views)
    return any(_holds_views(kind.field(i).type, views) for i in range(kind.num_fields))


def _plain_field(field: Any) -> Any:
    return field.with_type(plain_type(field.type))


def _plain_array(array: Any) -> Any:
    kind = plain_type(array.type)
    if not _holds_views(array.type, _LIST) or kind == array.type:
        return array.cast(kind)
    # Arrow casts views of lists as if each began where the one before it ends: others
    # lose values, and Arrow 18 even crashes.
    if array.type.id == _STRUCT:
        fields = [_plain_array(array.field(i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(
            fields, fields=list(kind), mask=array.is_null()
        )
    lengths = array.value_lengths().fill_null(0)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    _, list_array = _LISTS[array.type.id]
    width = pa.int32() if list_array is pa.ListArray else pa.int64()
    return list_array.from_arrays(
        pa.array(offsets, width),
        _plain_array(array.flatten()),
        type=kind,
        mask=array.is_null(),
    )
