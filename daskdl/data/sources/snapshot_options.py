"""Options that name the snapshot of a table."""

__all__ = ["SNAPSHOT_OPTIONS"]

SNAPSHOT_OPTIONS = ("version", "snapshot_id", "timestamp")
"""One of them at most is given; what each means, the formats of tables decide."""
