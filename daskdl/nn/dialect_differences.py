"""A network in another dialect, and how its results differ there."""

from typing import TypeVar

from daskdl.dialects import Quirk, dialect
from daskdl.errors import OptionError
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
    resolved,
)

C = TypeVar("C", MultiLayerConfiguration, ComputationGraphConfiguration)


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


def in_dialect(conf: C, name: str) -> C:
    """Return a configuration in another dialect.

    Parameters
    ----------
    conf : MultiLayerConfiguration or ComputationGraphConfiguration
        Output layers that the other dialect refuses turn its `validate_output_layer`
        off: they are there.
    name : str
        The other dialect.

    Raises
    ------
    OptionError
        If there is no such dialect, or the network is none in it.
    """
    try:
        return conf.replaced(dialect=name)
    except OptionError:
        return conf.replaced(dialect=name, validate_output_layer=False)
