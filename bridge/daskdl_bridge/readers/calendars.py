"""Days and instants that are stored in the calendar which Java once had.

Spark 2, and later ones that are asked for LEGACY or write ORC, store a date by its
year, month and day: those before 15 October 1582 as days of the Julian calendar.
Arrow, NumPy and Python know the Gregorian calendar only, as Spark does since version 3,
which rebases such values when it reads them. So does what is here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from daskdl.errors import ColumnError
from daskdl_bridge.readers.arrays import is_list
from daskdl_bridge.readers.buffers import as_arrow, as_numpy

__all__ = [
    "HybridCalendar",
    "avro_calendars",
    "gregorian_days",
    "gregorian_table",
    "leaf_types",
    "parquet_calendars",
]

# 15 October 1582, the first day of the Gregorian calendar, since 1970.
_FIRST_GREGORIAN_DAY = -141427
# Days from 1 March of the Julian year 0 to 1970, and of four years.
_JULIAN_DAYS, _FOUR_YEARS = 719470, 1461
# 1 January 1900: Java's TimeZone knows one offset of a zone before that.
_LAST_LOCAL_MEAN_TIME_S = -2208988800
_DAY_US, _SECOND_US = 86_400_000_000, 1_000_000

_SPARK, _ZONE = b"org.apache.spark.version", b"org.apache.spark.timeZone"
# The first version that asks before it stores times of before 1582, and the mark of
# what it stored in the old calendar all the same. Compared as texts, as Spark does.
_DATE_TIMES = (b"3.0.0", b"org.apache.spark.legacyDateTime")
_INT96 = (b"3.1.0", b"org.apache.spark.legacyINT96")


@dataclass(frozen=True)
class HybridCalendar:
    """The Julian calendar up to 4 October 1582, the Gregorian one from the next day.

    Parameters
    ----------
    zone : str, optional
        Time zone of whoever wrote instants, None if nobody knows.
    """

    zone: str | None = None


def gregorian_days(days: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the days of the same year, month and day in the Gregorian calendar.

    Parameters
    ----------
    days : ndarray of shape (rows,), integer
        Days since 1970 in the hybrid calendar.

    Returns
    -------
    ndarray of shape (rows,), int64
        29 February of a year that is no leap year any more is 1 March, as in Spark.

    Notes
    -----
    Years begin with March, so that a leap day is their last day. Each century without
    one moves the two calendars apart.
    """
    days = days.astype(np.int64)
    centuries = (4 * (days + _JULIAN_DAYS) + 3) // _FOUR_YEARS // 100
    apart = 2 - centuries + centuries // 4
    return np.where(days < _FIRST_GREGORIAN_DAY, days + apart, days)


def parquet_calendars(file: Any) -> dict[str, list[HybridCalendar | None]]:
    """Return the columns of a Parquet file that are in the hybrid calendar.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile

    Returns
    -------
    dict of str to list of (HybridCalendar or None)
        By the name of a column, an entry for each of its leaves; None for what was
        never stored in that calendar, as times without zone. Without the columns of
        nothing else.
    """
    metadata = file.metadata.metadata or {}
    date_times, int96 = (_calendar(metadata, *mark) for mark in (_DATE_TIMES, _INT96))
    if date_times is None and int96 is None:
        return {}
    physical = (
        file.schema.column(i).physical_type for i in range(len(file.schema.names))
    )
    found: dict[str, list[HybridCalendar | None]] = {}
    for field in file.schema_arrow:
        leaves = zip(leaf_types(field.type), physical, strict=False)
        found[field.name] = [
            int96 if stored == "INT96" else date_times if _is_rebased(kind) else None
            for kind, stored in leaves
        ]
    return {name: leaves for name, leaves in found.items() if any(leaves)}


def avro_calendars(
    metadata: Mapping[str, bytes], types: Mapping[str, Any]
) -> dict[str, list[HybridCalendar | None]]:
    """Do as `parquet_calendars`, for columns of an Avro file.

    Parameters
    ----------
    metadata : mapping of str to bytes
        Of the header of the file.
    types : mapping of str to pyarrow.DataType
        Of the columns.
    """
    stored = {name.encode(): value for name, value in metadata.items()}
    date_times = _calendar(stored, *_DATE_TIMES)
    if date_times is None:
        return {}
    return {
        name: [date_times if _is_rebased(leaf) else None for leaf in leaf_types(kind)]
        for name, kind in types.items()
    }


def _calendar(
    metadata: Mapping[bytes, bytes], since: bytes, mark: bytes
) -> HybridCalendar | None:
    """Return the calendar as Spark finds it out; other writers have the Gregorian."""
    version = metadata.get(_SPARK)
    if version is None or (version >= since and mark not in metadata):
        return None
    zone = metadata.get(_ZONE)
    return HybridCalendar(None if zone is None else zone.decode(errors="replace"))


def leaf_types(arrow_type: Any) -> Iterator[Any]:
    """Yield the types that a type is made of, depth first; itself if it is plain."""
    if is_list(arrow_type):
        yield from leaf_types(arrow_type.value_type)
    elif pa.types.is_map(arrow_type):
        yield from leaf_types(arrow_type.key_type)
        yield from leaf_types(arrow_type.item_type)
    elif pa.types.is_struct(arrow_type):
        for field in arrow_type:
            yield from leaf_types(field.type)
    else:
        yield arrow_type


def _is_rebased(arrow_type: Any) -> bool:
    is_instant = pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None
    return bool(pa.types.is_date32(arrow_type) or is_instant)


def gregorian_table(
    table: Any, calendars: Mapping[str, list[HybridCalendar | None]], url: str
) -> Any:
    """Return a table whose days and instants are those of the Gregorian calendar.

    Parameters
    ----------
    table : pyarrow.Table
    calendars : mapping of str to list of (HybridCalendar or None)
        As `parquet_calendars` returns them; of columns that may not be in the table.
    url : str
        For messages.

    Raises
    ------
    ColumnError
        If an instant of before the year 1900 was stored in a time zone that is unknown.
    """
    for index, name in enumerate(table.column_names):
        if name not in calendars:
            continue
        column = table.column(index)
        try:
            chunks = [_rebased(one, iter(calendars[name])) for one in column.chunks]
        except _UnknownZoneError as error:
            raise ColumnError(
                f"{url}: column {name!r} must have a known time zone to hold instants "
                f"of before 1900 in the calendar of Spark 2, got {error}. Have Spark "
                "write the file anew, its rebase modes CORRECTED."
            ) from error
        rebased = pa.chunked_array(chunks, column.type)
        table = table.set_column(index, table.schema.field(index), rebased)
    return table


class _UnknownZoneError(Exception):
    pass


def _rebased(array: Any, leaves: Iterator[HybridCalendar | None]) -> Any:
    kind = array.type
    if is_list(kind):
        values = _rebased(array.values, leaves)
        return type(array).from_arrays(_offsets(array), values, type=kind)
    if pa.types.is_map(kind):
        keys, items = _rebased(array.keys, leaves), _rebased(array.items, leaves)
        return pa.MapArray.from_arrays(_offsets(array), keys, items, type=kind)
    if pa.types.is_struct(kind):
        fields = [_rebased(array.field(i), leaves) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(
            fields, fields=list(kind), mask=array.is_null()
        )
    calendar = next(leaves)
    return array if calendar is None else _rebased_leaf(array, calendar)


def _offsets(array: Any) -> Any:
    """Return where each list begins, null where there is none."""
    is_there = pa.concat_arrays([array.is_valid(), pa.array([True])])
    return pc.if_else(is_there, array.offsets, None)


def _rebased_leaf(array: Any, calendar: HybridCalendar) -> Any:
    if pa.types.is_date32(array.type):
        return _mapped(
            array, pa.int32(), lambda days: gregorian_days(days).astype(np.int32)
        )
    instants = array.cast(pa.timestamp("us", array.type.tz))
    rebased = _mapped(instants, pa.int64(), lambda us: _gregorian_us(us, calendar.zone))
    return rebased.cast(array.type, safe=False)


def _mapped(array: Any, stored: Any, change: Any) -> Any:
    values = as_numpy(pc.fill_null(array.view(stored), 0))
    return pc.if_else(array.is_valid(), as_arrow(change(values)), None).view(array.type)


def _gregorian_us(us: NDArray[np.int64], zone: str | None) -> NDArray[np.int64]:
    """Return the instants of the same local times in the Gregorian calendar.

    Java's TimeZone took the zone's standard time for that of before 1900; what reads
    now goes by the times that the zone had.
    """
    is_old = us < _LAST_LOCAL_MEAN_TIME_S * _SECOND_US
    if not is_old.any():
        return us
    local = us[is_old] + _standard_offset_us(zone)
    days, within = np.divmod(local, _DAY_US)
    changed: NDArray[np.int64] = us.copy()
    changed[is_old] = _instants(gregorian_days(days) * _DAY_US + within, zone)
    return changed


def _standard_offset_us(zone: str | None) -> int:
    """Return the least offset of a year; some zones leave it for a month only."""
    months = np.arange("2025-01", "2026-01", dtype="M8[M]").astype("M8[us]")
    local = months.astype(np.int64)
    return int(np.min(local - _instants(local, zone)))


def _instants(local_us: NDArray[np.int64], zone: str | None) -> NDArray[np.int64]:
    if zone is None:
        raise _UnknownZoneError("a file that does not name one")
    # Java's TimeZone takes an offset without "GMT" for no zone, and that for GMT.
    name = "UTC" if zone.startswith(("+", "-")) else zone
    times = as_arrow(local_us).view(pa.timestamp("us"))
    try:
        found = pc.assume_timezone(
            times, name, ambiguous="earliest", nonexistent="latest"
        )
    except (pa.ArrowInvalid, ValueError) as error:
        raise _UnknownZoneError(repr(zone)) from error
    us: NDArray[np.int64] = as_numpy(found.view(pa.int64()))
    return us
