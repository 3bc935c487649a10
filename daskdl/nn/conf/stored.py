"""Configurations of files that were written before their output layers were refused.

What could once be trained must be read, whatever is refused of a new configuration.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from daskdl.errors import OptionError
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)

C = TypeVar("C", MultiLayerConfiguration, ComputationGraphConfiguration)

_OPTION = "validate_output_layer"


def stored_configuration(kind: type[C], data: Any) -> C:
    """Return the configuration that a file holds.

    Parameters
    ----------
    kind : type
        What it is.
    data : mapping
        As ``to_dict`` returned it. Where output layers would be refused today, its
        `validate_output_layer` is False in what is returned.

    Raises
    ------
    OptionError
        If anything else is wrong.
    """
    try:
        return kind.from_dict(data)
    except OptionError:
        if not isinstance(data, Mapping) or data.get(_OPTION, True) is not True:
            raise
        return kind.from_dict({**data, _OPTION: False})
