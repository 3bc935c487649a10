"""Warnings of the quirks by which DL4J will compute a network otherwise."""

import warnings
from typing import Any

from daskdl.dialects import DL4J
from daskdl.errors import DialectWarning
from daskdl.nn.dialect_differences import differences
from daskdl.nn.step import StepNetwork


def warn_of_differences(network: StepNetwork[Any]) -> None:
    """Warn with the list of the quirks by which DL4J will differ, if there are any.

    What shows only with certain data is no reason to warn, since nearly every network
    has a loss that might get a mask.
    """
    found = differences(network.conf, DL4J)
    listed = "\n".join(f"- {quirk}" for quirk in found if not quirk.data)
    if not listed:
        return
    kinds = sorted({quirk.data for quirk in found} - {""})
    if kinds:
        listed += f"\n- and more, with {', '.join(kinds)}"
    warnings.warn(
        f"DL4J will compute otherwise than this network, of dialect "
        f"{network.conf.dialect!r}:\n{listed}\nTo compute as DL4J does, here too, save "
        f"what network.with_dialect({DL4J!r}) returns.",
        DialectWarning,
        stacklevel=4,
    )
