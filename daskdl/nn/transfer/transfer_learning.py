"""Transfer learning: a new network that begins with the parameters of a trained one.

Here is what sequences of layers and graphs share.

References
----------
DL4J, ``org.deeplearning4j.nn.transferlearning.TransferLearning``.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from daskdl.arrays.namespace import to_device
from daskdl.checks import did_you_mean, some
from daskdl.errors import OptionError
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.network import Network
from daskdl.nn.transfer.changed_layers import (
    Part,
    fine_tuned,
    frozen,
    is_frozen,
    keeps_features,
    n_out_of,
    with_n_out,
    with_open_input,
    with_own_activation,
    with_weight_init,
)

N = TypeVar("N", bound=Network[Any])
T = TypeVar("T", bound="TransferLearning[Any]")

# What a loaded network says, and no change of training.
_NOT_TUNED = ("dtype", "dl4j")


class TransferLearning(ABC, Generic[N]):
    """Changes to a trained network; :meth:`build` makes a new one, the old one stays.

    Use :class:`MultiLayerTransferLearning` or :class:`GraphTransferLearning`, or
    :func:`transfer_learning`, which chooses.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        The trained one.
    """

    def __init__(self, network: N) -> None:
        self._network = network
        self._options: dict[str, Any] = {}
        self._frozen: set[str] = set()
        self._added: set[str] = set()
        # Layers whose parameters begin anew, and how they are drawn.
        self._drawn: dict[str, Any] = {}
        self._parts = self._initial_parts()

    def fine_tune(self: T, **options: Any) -> T:
        """Set options of the whole network; its layers take them over.

        Fine-tuning: an option that is given here wins over what the
        layers say of it. Frozen layers keep theirs, and so do layers that are added.

        Parameters
        ----------
        **options
            As of a configuration: ``updater``, ``l2``, ``dropout``, ``seed``, ... As
            there, `activation` does not reach recurrent and output layers.

        Raises
        ------
        OptionError
            If there is no such option.
        """
        for option in options:
            if option not in NetworkConf.model_fields or option in _NOT_TUNED:
                raise OptionError(
                    f"TransferLearning.fine_tune: must get options of a network, got "
                    f"{option!r}.{did_you_mean(option, NetworkConf.model_fields)}"
                )
        self._options.update(options)
        return self

    def set_feature_extractor(self: T, *names: str | int) -> T:
        """Freeze layers, and all in front of them; those behind are trained.

        Parameters
        ----------
        *names : str or int
            Of layers or vertices; in a sequence also their numbers.

        Raises
        ------
        OptionError
            If there is no such layer; in :meth:`build`, if an output layer would be
            frozen, or one whose parameters begin anew.
        """
        for name in names:
            self._frozen |= self._up_to(self._known(name, "set_feature_extractor"))
        return self

    def n_out_replace(
        self: T,
        name: str | int,
        n_out: int,
        *,
        weight_init: Any = None,
        next_weight_init: Any = None,
    ) -> T:
        """Change the outputs of a layer; its weights and its readers' begin anew.

        Behind it are the next layers with weights, on every path. Normalization in
        between, whose parameters are one for each feature, begins anew as well.

        Parameters
        ----------
        name : str or int
            Of the layer.
        n_out : int
            Outputs, units or channels.
        weight_init, next_weight_init : weight init, optional
            How the weights of the layer, and of those behind it, are drawn; None as
            they say themselves.

        Raises
        ------
        OptionError
            If the layer has no such number.
        """
        who = "TransferLearning.n_out_replace"
        key = self._known(name, "n_out_replace")
        old_n = n_out_of(self._parts[key])
        self._parts[key] = with_n_out(self._parts[key], n_out, who)
        self._drawn[key] = weight_init
        for behind in self._behind(key):
            part = with_open_input(self._parts[behind], old_n, n_out)
            self._parts[behind] = part
            if not keeps_features(part):
                self._drawn[behind] = next_weight_init
        return self

    def build(self) -> N:
        """Return the new network: parameters of layers that stayed are copied.

        The normalizer goes on with a copy: that of features as long as the same inputs
        go in, that of labels and the names of classes as long as the same outputs come
        out. The updaters begin anew, and so do the counters.

        Raises
        ------
        OptionError
            If what came out of the changes is no network that can be.
        """
        nodes = {node.name: node.conf for node in self._network.nodes}
        parts = {
            key: self._finished(key, part, nodes.get(key))
            for key, part in self._parts.items()
        }
        network = type(self._network)(self._configuration(parts))
        old, new = self._network.param_table(), network.param_table()
        for node in network.nodes:
            keys = [f"{node.key}_{item.name}" for item in node.parameters]
            stayed = node.name not in self._drawn and all(
                key in old and old[key].shape == new[key].shape for key in keys
            )
            for key in keys if stayed else ():
                new[key][...] = to_device(old[key], new[key])
        self._carry_over(network)
        return network

    def _carry_over(self, network: N) -> None:
        """Copy the normalizer and class names that still fit to the new network."""
        old = self._network
        normalizer = copy.deepcopy(old.normalizer)
        same_outputs = [
            before.name == now.name
            and before.output_type == now.output_type
            and now.name not in self._added
            for before, now in zip(old.output_nodes, network.output_nodes, strict=False)
        ]
        inputs = [[spec.type for spec in each.inputs] for each in (old, network)]
        if normalizer is not None and inputs[0] == inputs[1]:
            all_same = old.n_outputs == network.n_outputs and all(same_outputs)
            kept = normalizer if all_same else normalizer.without_labels()
            network.restore_normalizer(kept)
        if same_outputs[0]:
            network.class_names = old.class_names

    @abstractmethod
    def _initial_parts(self) -> dict[str, Part]:
        """Return layers and vertices by their names."""

    @abstractmethod
    def _configuration(self, parts: Mapping[str, Part]) -> Any:
        """Return the configuration of the new network."""

    @abstractmethod
    def _up_to(self, name: str) -> set[str]:
        """Return a layer and all layers in front of it."""

    @abstractmethod
    def _readers(self, name: str) -> Iterable[str]:
        """Return the layers and vertices that read a layer."""

    def _add(self, name: str, part: Part, what: str) -> None:
        if name in self._parts:
            raise OptionError(
                f"TransferLearning.{what}: must have a new name, got {name!r}. Remove "
                "the old one first."
            )
        self._parts[name] = part
        self._added.add(name)
        self._drawn[name] = None

    def _forget(self, name: str) -> None:
        """Leave out a layer or vertex, and its changes."""
        del self._parts[name]
        self._added.discard(name)
        self._frozen.discard(name)
        self._drawn.pop(name, None)

    def _tuned(self) -> dict[str, Any]:
        """Return the options of the new network that differ from the old one's."""
        dropped = {"dropout": None, "keep_probability": 1.0}
        if dropped.keys().isdisjoint(self._options):
            return self._options
        return {**dropped, **self._options}

    def _known(self, name: str | int, what: str) -> str:
        keys = list(self._parts)
        if isinstance(name, int) and not isinstance(name, bool):
            if not -len(keys) <= name < len(keys):
                raise OptionError(
                    f"TransferLearning.{what}: must number one of {len(keys)} layers, "
                    f"got {name}."
                )
            return keys[name]
        if name not in self._parts:
            raise OptionError(
                f"TransferLearning.{what}: must name one of {some(keys)}, got "
                f"{name!r}.{did_you_mean(name, keys)}"
            )
        return name

    def _behind(self, name: str) -> Iterator[str]:
        """Yield the readers of a layer, up to the next layers with weights."""
        for reader in self._readers(name):
            yield reader
            if keeps_features(self._parts[reader]):
                yield from self._behind(reader)

    def _finished(self, key: str, part: Part, filled: Part | None) -> Part:
        """Return a layer or vertex as the new network has it.

        Parameters
        ----------
        key : str
            Its name.
        part : LayerConf or VertexConf
            With the changes to itself.
        filled : LayerConf or VertexConf, optional
            As the old network has it, with nothing left open.
        """
        if key not in self._frozen and not is_frozen(part):
            is_new = key in self._added
            tuned = part if is_new else fine_tuned(part, self._options)
            weight_init = self._drawn.get(key)
            return (
                tuned if weight_init is None else with_weight_init(tuned, weight_init)
            )
        if filled is not None and "activation" in self._options:
            part = with_own_activation(part, filled)
        if key in self._frozen:
            part = frozen(part, "TransferLearning.set_feature_extractor")
        if is_frozen(part) and key in self._drawn and key not in self._added:
            raise OptionError(
                f"TransferLearning: must not freeze {key!r}, whose parameters begin "
                "anew."
            )
        return part
