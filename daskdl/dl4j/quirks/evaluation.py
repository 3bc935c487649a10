"""What DL4J's evaluations compute otherwise."""

from daskdl.dialects import Quirk

QUIRKS: tuple[Quirk, ...] = ()
