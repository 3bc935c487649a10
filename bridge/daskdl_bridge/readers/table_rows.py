"""Some rows of a table, taken a column at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["TableRows"]


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of a table whose columns may be read only when they are asked for.

    Parameters
    ----------
    table : pyarrow.Table
        Or what has its methods, see `TableReader`.
    rows : slice, or ndarray of shape (rows,), bool
        With start and stop, or which of the rows.
    """

    table: Any
    rows: slice | NDArray[np.bool_]

    @property
    def num_rows(self) -> int:
        """Number of these rows."""
        if isinstance(self.rows, slice):
            return int(self.rows.stop - self.rows.start)
        return int(self.rows.sum())

    @property
    def schema(self) -> Any:
        """Schema of the table."""
        return self.table.schema

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of the table."""
        names: list[str] = self.table.column_names
        return names

    def column(self, name: str) -> Any:
        """Return these rows of a column."""
        column = self.table.column(name)
        if isinstance(self.rows, slice):
            return column.slice(self.rows.start, self.num_rows)
        return column.filter(pa.array(self.rows))
