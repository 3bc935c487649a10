"""Tables whose numbers already lie as examples want them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from daskdl_bridge.readers.buffers import as_arrow

__all__ = ["NumberTable"]


@dataclass(frozen=True, eq=False)
class NumberTable:
    """Numbers in rows, and columns of text; has what is asked of a `pyarrow.Table`.

    Parameters
    ----------
    num_rows : int
    schema : pyarrow.Schema
        Of all columns; numbers are float64.
    groups : mapping of tuple of str to ndarray of shape (rows, columns), float
        Columns that stand side by side. NaN stands for null. Those of float32 are what
        float64 is cast to.
    texts : mapping of str to pyarrow.ChunkedArray
    has_nulls : bool
        Whether a number is null; all others are finite.
    """

    num_rows: int
    schema: Any
    groups: Mapping[tuple[str, ...], NDArray[Any]]
    texts: Mapping[str, Any]
    has_nulls: bool

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        names: list[str] = self.schema.names
        return names

    def column(self, name: str) -> Any:
        """Return a column as a pyarrow.ChunkedArray."""
        if name in self.texts:
            return self.texts[name]
        names = next(names for names in self.groups if name in names)
        return pa.chunked_array(
            [self._as_column(self.groups[names], names.index(name))]
        )

    def finite_rows(
        self, names: Sequence[str], dtype: DTypeLike
    ) -> NDArray[Any] | None:
        """Return columns side by side; None where they are not, or one has a null."""
        rows = None if self.has_nulls else self.groups.get(tuple(names))
        return None if rows is None or rows.dtype != dtype else rows

    def _as_column(self, rows: NDArray[Any], index: int) -> Any:
        values = np.ascontiguousarray(rows[:, index], np.float64)
        if not self.has_nulls:
            return as_arrow(values)
        is_valid = np.packbits(~np.isnan(values), bitorder="little")
        buffers = [pa.py_buffer(is_valid), pa.py_buffer(values)]
        return pa.Array.from_buffers(pa.float64(), len(values), buffers)
