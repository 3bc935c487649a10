"""Differences between a network's results in its own dialect and in another."""

from daskdl.dialects import Quirk, dialect
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
    resolved,
)


def differences(
    conf: MultiLayerConfiguration | ComputationGraphConfiguration, name: str
) -> list[Quirk]:
    """Return the quirks that one of two dialects has, and that concern a network.

    Parameters
    ----------
    conf : MultiLayerConfiguration or ComputationGraphConfiguration
        In its own dialect.
    name : str
        The other dialect.

    Raises
    ------
    OptionError
        If there is no such dialect.
    """
    own, other = dialect(conf.dialect), dialect(name)
    either = {quirk.name: quirk for quirk in (*own.table, *other.table)}
    told = resolved(conf)
    return [
        quirk
        for name, quirk in either.items()
        if (name in own.quirks) != (name in other.quirks) and quirk.concerns(told)
    ]
