"""Which output of a network is evaluated: by its name, or its number."""

from typing import Any

from daskdl.checks import check_index, check_one_of, check_type
from daskdl.errors import OptionError
from daskdl.nn.conf.network import ComputationGraphConfiguration
from daskdl.nn.network import Network

__all__ = ["output_number"]


def output_number(who: str, network: Network[Any], output: str | int | None) -> int:
    """Return the number of an output.

    Parameters
    ----------
    who : str
        For messages.
    network : Network
    output : str, int or None
        A name of a graph's outputs, or a number from 0; None is the first.

    Raises
    ------
    OptionError
        If there is none of that name or number.
    """
    if output is None:
        return 0
    check_type(who, "output", output, str, int)
    if not isinstance(output, str):
        return check_index(who, "output", output, len(network.outputs))
    if not isinstance(network.conf, ComputationGraphConfiguration):
        raise OptionError(
            f"{who}: output must be a number of a network whose outputs have no names, "
            f"got {output!r}."
        )
    names = list(network.conf.outputs)
    return names.index(check_one_of(who, "output", output, names))
