"""What DL4J's recurrent layers compute otherwise."""

from daskdl.dialects import Quirk

QUIRKS: tuple[Quirk, ...] = ()
