"""The description of a network in a checkpoint, checked before it is built.

A small file can describe a network that no memory holds: whoever reads one compares
:attr:`Description.shapes` with the arrays that are there, and only then asks for the
network.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from daskdl.errors import FormatError
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.conf.stored import stored_configuration
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl.nn.network import Network

__all__ = ["FORMAT", "Description", "describe"]

FORMAT = "daskdl network"
_KINDS: dict[str, tuple[type[Any], type[Any]]] = {
    "MultiLayerNetwork": (MultiLayerConfiguration, MultiLayerNetwork),
    "ComputationGraph": (ComputationGraphConfiguration, ComputationGraph),
}


def describe(network: Network[Any], version: int) -> dict[str, Any]:
    """Return plain values from which :class:`Description` makes the network anew."""
    return {
        "format": FORMAT,
        "version": version,
        "kind": type(network).__name__,
        "iteration_count": network.iteration_count,
        "epoch_count": network.epoch_count,
        # As text: JSON has no NaN, which is the score before the first minibatch.
        "score": repr(float(network.score)),
        "configuration": network.conf.to_dict(),
    }


class Description:
    """The description of a network in a file, checked before the network is built.

    Parameters
    ----------
    values : mapping
        As :func:`describe` returns it, and what else the format holds.
    who : str
        The place in the file, for messages.
    version : int
        Of the format, as this reader knows it.

    Attributes
    ----------
    conf : MultiLayerConfiguration or ComputationGraphConfiguration
        Of the network.
    shapes : dict of str to tuple of int
        Of the parameters, in the order of the flat vector.

    Raises
    ------
    FormatError
        If it describes something else, is of another version, or lacks something.
    OptionError
        If the configuration is wrong.
    """

    def __init__(self, values: Mapping[str, Any], who: str, version: int) -> None:
        self._values = values
        self._who = who
        kind, came = values.get("kind"), values.get("version")
        is_known = isinstance(kind, str) and kind in _KINDS
        if values.get("format") != FORMAT or not is_known:
            raise FormatError(
                f"{who}: must describe a {' or '.join(_KINDS)}, got format "
                f"{values.get('format')!r} and kind {kind!r}."
            )
        if type(came) is not int or came != version:
            raise FormatError(
                f"{who}: version must be {version}, got {came!r}. A newer file needs "
                "a newer daskdl."
            )
        conf_type, self._network_type = _KINDS[str(kind)]
        try:
            self.conf = stored_configuration(conf_type, values.get("configuration"))
        except RecursionError:
            raise FormatError(f"{who}: must not be nested that deep.") from None
        self.shapes: dict[str, tuple[int, ...]] = {
            f"{node.key}_{item.name}": item.shape
            for node in self.conf.nodes()
            for item in node.parameters
        }

    @property
    def n_params(self) -> int:
        """Number of parameters."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the parameters."""
        dtype: np.dtype[Any] = np.dtype(self.conf.dtype)
        return dtype

    def check(self, key: str, expected: Any) -> None:
        """Refuse the file if a value differs from that of its network.

        Raises
        ------
        FormatError
            If the value under the key is another one.
        """
        if self._values.get(key) != expected:
            raise FormatError(
                f"{self._who}: {key} must be what follows from the configuration, "
                f"{_shortened(expected)}, got {_shortened(self._values.get(key))}."
            )

    def network(self) -> Network[Any]:
        """Return the network with its counters; all parameters are 0."""
        # One zero that stands for all: the network copies it, and draws no weights.
        zeros = np.broadcast_to(np.zeros((), self.dtype), (self.n_params,))
        network: Network[Any] = self._network_type(self.conf, zeros)
        network.iteration_count = self._count("iteration_count")
        network.epoch_count = self._count("epoch_count")
        network.score = self._score()
        return network

    def _count(self, key: str) -> int:
        value = self._values.get(key)
        if type(value) is not int or not 0 <= value < 2**63:
            raise FormatError(f"{self._who}: {key} must be a count, got {value!r}.")
        return value

    def _score(self) -> float:
        value = self._values.get("score")
        try:
            return float(value if isinstance(value, str) else "")
        except ValueError:
            raise FormatError(
                f"{self._who}: score must be a number as text, got {value!r}."
            ) from None


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]} ..."
