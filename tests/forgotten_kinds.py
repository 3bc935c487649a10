"""Kinds that are registered in a block, and taken out again behind it."""

from collections.abc import Iterator
from contextlib import contextmanager

from daskdl.nn import registration


@contextmanager
def forgotten_kinds() -> Iterator[None]:
    """Take out what is registered in the block: who comes later may use the names.

    What the package itself enters when one of its modules is first imported stays.
    """
    registered = registration._registered
    before = dict(registered)
    yield
    for family, name in registered.keys() - before.keys():
        table = registration._FAMILIES[family].kinds
        table._models.pop(table.tag(name), None)
        del registered[family, name]
