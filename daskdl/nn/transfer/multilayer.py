"""Transfer learning of networks whose layers follow one another."""

from collections.abc import Iterable, Mapping
from typing import Any

from daskdl.checks import check_count
from daskdl.errors import OptionError
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl.nn.transfer.changed_layers import Part
from daskdl.nn.transfer.transfer_learning import TransferLearning


class MultiLayerTransferLearning(TransferLearning[MultiLayerNetwork]):
    """Changes to a trained sequence of layers."""

    def remove_output_layer(self) -> "MultiLayerTransferLearning":
        """Leave the last layer out."""
        return self.remove_layers_from_output(1)

    def remove_layers_from_output(self, n: int) -> "MultiLayerTransferLearning":
        """Leave the last `n` layers out.

        Raises
        ------
        OptionError
            If there are not more.
        """
        who = "TransferLearning.remove_layers_from_output"
        check_count(who, "n", n)
        if n >= len(self._parts):
            raise OptionError(
                f"{who}: n must leave one of {len(self._parts)} layers, got {n}."
            )
        for key in list(self._parts)[-n:]:
            self._forget(key)
        return self

    def add_layer(self, layer: LayerConf) -> "MultiLayerTransferLearning":
        """Put a layer behind the last one; its weights are drawn.

        Raises
        ------
        OptionError
            If there is one of its name.
        """
        name = layer.name or f"layer{len(self._parts)}"
        self._add(name, layer, "add_layer")
        return self

    def _initial_parts(self) -> dict[str, Part]:
        names = [node.name for node in self._network.nodes]
        return dict(zip(names, self._network.conf.layers, strict=True))

    def _configuration(self, parts: Mapping[str, Part]) -> Any:
        conf = self._network.conf
        return conf.replaced(layers=tuple(parts.values()), **self._tuned())

    def _up_to(self, name: str) -> set[str]:
        keys = list(self._parts)
        return set(keys[: keys.index(name) + 1])

    def _readers(self, name: str) -> Iterable[str]:
        keys = list(self._parts)
        return keys[keys.index(name) + 1 :][:1]
