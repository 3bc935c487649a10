"""Options of tables, whatever stores them: what is done with their rows."""

__all__ = ["ROW_OPTIONS", "TABLE_OPTIONS"]

ROW_OPTIONS = ("handle_invalid", "keep")
"""Those of rows with columns of single values."""

TABLE_OPTIONS = ("align", *ROW_OPTIONS)
"""Those of tables whose columns may hold arrays."""
