"""What DL4J's activations compute otherwise."""

from daskdl.dialects import Quirk

QUIRKS: tuple[Quirk, ...] = ()
