"""Values of Params: brought to their type when they are set, or refused by name."""

import math
from collections.abc import Callable
from typing import Any

from daskdl.checks import check_count, check_whole
from daskdl.cluster.masters.options import training_master
from daskdl.errors import OptionError
from daskdl.nn.conf.network import configuration_from_yaml
from daskdl.option_types import check_option_types

__all__ = [
    "column_names",
    "count",
    "directory",
    "factors",
    "master",
    "network_text",
    "options_of_master",
    "seed",
]

# Params do not know their owner when they convert.
_WHO = "daskdl.spark"


def count(name: str) -> Callable[[Any], int]:
    """Return a converter to whole numbers greater than 0."""
    return lambda value: check_count(_WHO, name, _whole(value))


def seed(value: Any) -> int:
    """Return a whole number, 0 or greater."""
    return check_whole(_WHO, "seed", _whole(value))


def _whole(value: Any) -> Any:
    # As pyspark's own converter takes them.
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


def column_names(value: Any) -> list[str]:
    """Return names of columns, at least one, each once."""
    _check_type("featuresCols", value, list[str])
    names = list(value)
    if not names or len(set(names)) < len(names):
        raise OptionError(
            f"{_WHO}: featuresCols must name columns, each once, got {names!r}."
        )
    return names


def factors(value: Any) -> list[float]:
    """Return finite factors that are not negative, at least one."""
    numbers = value.tolist() if hasattr(value, "tolist") else value
    _check_type("classWeights", numbers, list[float])
    if not numbers or not all(math.isfinite(one) and one >= 0 for one in numbers):
        raise OptionError(
            f"{_WHO}: classWeights must be finite numbers >= 0, one a class, got "
            f"{numbers!r}."
        )
    return [float(one) for one in numbers]


def master(value: Any) -> str:
    """Return the name of a training master, in any spelling."""
    _check_type("trainingMaster", value, str)
    try:
        training_master(value, {})
    except OptionError as error:
        raise OptionError(
            f"{_WHO}: trainingMaster must be the name of a training master: {error}"
        ) from error
    return str(value)


def options_of_master(value: Any) -> dict[str, Any]:
    """Return the options of a training master by name.

    Which of them there are depends on the master, and is told by ``fit``.
    """
    given = dict(value) if hasattr(value, "items") else value
    _check_type("masterOptions", given, dict[str, Any])
    return dict(given)


def directory(value: Any) -> str:
    """Return a path or URL that is not empty."""
    _check_type("exportDirectory", value, str)
    if not value:
        raise OptionError(
            f"{_WHO}: exportDirectory must be a path or a URL, got {value!r}."
        )
    return str(value)


def network_text(value: Any) -> str:
    """Return the YAML of a configuration, which is text in a Param."""
    if hasattr(value, "to_yaml"):
        return str(value.to_yaml())
    if not isinstance(value, str):
        raise OptionError(
            f"{_WHO}: network must be the configuration of a network, or its YAML or "
            f"JSON, got a {type(value).__name__}."
        )
    configuration_from_yaml(value, "network")
    return value


def _check_type(name: str, value: Any, hint: Any) -> None:
    check_option_types(_WHO, {name: value}, {name: hint})
