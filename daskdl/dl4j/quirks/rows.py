"""What DL4J's layers of rows, normalization and autoencoders compute otherwise."""

from daskdl.dialects import Quirk

QUIRKS: tuple[Quirk, ...] = ()
