"""What DL4J will compute otherwise than a network does here."""

import warnings
from typing import Any

from daskdl.dialects import DL4J
from daskdl.errors import DialectWarning
from daskdl.nn.dialect_change import differences
from daskdl.nn.step import StepNetwork


def warn_of_differences(network: StepNetwork[Any]) -> None:
    """Warn with the list of what DL4J will compute otherwise, if there is anything."""
    found = differences(network.conf, DL4J)
    if not found:
        return
    listed = "\n".join(f"- {quirk}" for quirk in found)
    warnings.warn(
        f"DL4J will compute otherwise than this network, of dialect "
        f"{network.conf.dialect!r}:\n{listed}\nTo compute as DL4J does, here too, save "
        f"what network.with_dialect({DL4J!r}) returns.",
        DialectWarning,
        stacklevel=4,
    )
