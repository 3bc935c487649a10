"""What DL4J's losses compute otherwise."""

from daskdl.dialects import Quirk

QUIRKS: tuple[Quirk, ...] = ()
