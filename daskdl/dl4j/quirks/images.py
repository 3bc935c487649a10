"""What DL4J's layers of images and windows compute otherwise."""

from daskdl.dialects import Quirk

QUIRKS: tuple[Quirk, ...] = ()
