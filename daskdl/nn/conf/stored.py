"""Configurations whose output layers are there, whatever is refused of a new one.

What could once be trained must be read, and be had in another dialect.
"""

from collections.abc import Callable, Mapping
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
    if not isinstance(data, Mapping) or data.get(_OPTION, True) is not True:
        return kind.from_dict(data)
    return keeping_outputs(lambda **options: kind.from_dict({**data, **options}))


def keeping_outputs(make: Callable[..., C], **options: Any) -> C:
    """Return a configuration that does not refuse the output layers that it has.

    Parameters
    ----------
    make : callable
        Makes it of options.
    **options
        Where output layers would be refused, `validate_output_layer` is False besides.

    Raises
    ------
    OptionError
        If anything else is wrong.
    """
    try:
        return make(**options)
    except OptionError:
        return make(**options, **{_OPTION: False})
