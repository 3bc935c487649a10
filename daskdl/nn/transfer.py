"""Transfer learning: a new network that begins with the parameters of a trained one.

References
----------
DL4J, ``org.deeplearning4j.nn.transferlearning.TransferLearning``.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from daskdl.checks import did_you_mean
from daskdl.errors import OptionError
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.layer import LayerConf, WeightLayerConf
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.layers.frozen import Frozen
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl.nn.network import Network

N = TypeVar("N", bound=Network[Any])
T = TypeVar("T", bound="TransferLearning[Any]")
Part = LayerConf | VertexConf

# What a network says of its training, and not for its layers.
_OF_THE_NETWORK = (
    "seed",
    "mini_batch",
    "optimization_algo",
    "max_num_line_search_iterations",
    "backprop_type",
    "tbptt_fwd_length",
    "tbptt_back_length",
)


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
        self._drawn_anew: set[str] = set()
        self._parts = self._initial_parts()

    def fine_tune(self: T, **options: Any) -> T:
        """Set options of the whole network; its layers take them over.

        DL4J's FineTuneConfiguration: an option that is given here wins over what the
        layers say of it. Layers that are frozen keep theirs.

        Parameters
        ----------
        **options
            As of a configuration: ``updater``, ``l2``, ``dropout``, ``seed``, ...

        Raises
        ------
        OptionError
            If there is no such option.
        """
        for option in options:
            if option not in NetworkConf.model_fields or option in ("dtype", "dl4j"):
                raise OptionError(
                    f"TransferLearning.fine_tune: must be options of a network, got "
                    f"{option!r}.{did_you_mean(option, NetworkConf.model_fields)}"
                )
        self._options.update(options)
        return self

    def set_feature_extractor(self: T, *names: str | int) -> T:
        """Freeze layers, and all in front of them: only what follows is trained.

        Parameters
        ----------
        *names : str or int
            Of layers or vertices; in a sequence also their numbers.
        """
        for name in names:
            self._frozen |= self._up_to(self._known(name))
        return self

    def n_out_replace(
        self: T,
        name: str | int,
        n_out: int,
        *,
        weight_init: Any = None,
        next_weight_init: Any = None,
    ) -> T:
        """Give a layer another number of outputs; it and those behind it begin anew.

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
        key = self._known(name)
        layer = self._parts[key]
        if not isinstance(layer, WeightLayerConf):
            raise OptionError(
                f"TransferLearning.n_out_replace: must name a layer with n_out, got "
                f"{key!r}, which is {type(layer).__name__}."
            )
        drawn = {} if weight_init is None else {"weight_init": weight_init}
        self._parts[key] = layer.replaced(n_out=n_out, **drawn)
        self._drawn_anew.add(key)
        for behind in self._weights_behind(key):
            following = self._parts[behind]
            drawn = {}
            if next_weight_init is not None:
                drawn["weight_init"] = next_weight_init
            self._parts[behind] = following.replaced(
                n_in=None,
                preprocessor=_with_channels(following, layer.n_out, n_out),
                **drawn,
            )
            self._drawn_anew.add(behind)
        return self

    def build(self) -> N:
        """Return the new network: parameters of layers that stayed are copied.

        The updaters begin anew, and so do the counters.
        """
        conf = self._configuration(
            {key: self._finished(key, part) for key, part in self._parts.items()}
        )
        network = type(self._network)(conf)
        old = self._network.param_table()
        new = network.param_table()
        of_layer: dict[str, list[str]] = {}
        for node in network.nodes:
            of_layer[node.name] = [f"{node.key}_{p.name}" for p in node.parameters]
        for name, keys in of_layer.items():
            stayed = name not in self._drawn_anew and all(
                key in old and old[key].shape == new[key].shape for key in keys
            )
            for key in keys if stayed else ():
                new[key][...] = old[key]
        network.normalizer = self._network.normalizer
        return network

    @abstractmethod
    def _initial_parts(self) -> dict[str, Any]:
        """Return layers and vertices by their names."""

    @abstractmethod
    def _configuration(self, parts: Mapping[str, Part]) -> Any:
        """Return the configuration of the new network."""

    @abstractmethod
    def _up_to(self, name: str) -> set[str]:
        """Return a layer and all in front of it."""

    @abstractmethod
    def _readers(self, name: str) -> Iterable[str]:
        """Return what reads a layer."""

    def _known(self, name: str | int) -> str:
        keys = list(self._parts)
        if isinstance(name, int) and not isinstance(name, bool):
            if not -len(keys) <= name < len(keys):
                raise OptionError(
                    f"TransferLearning: must number one of {len(keys)} layers, got "
                    f"{name}."
                )
            return keys[name]
        if name not in self._parts:
            raise OptionError(
                f"TransferLearning: must name one of {', '.join(keys)}, got {name!r}."
                f"{did_you_mean(name, keys)}"
            )
        return name

    def _weights_behind(self, name: str) -> list[str]:
        """Return the next layers with weights behind a layer, on every path."""
        found = []
        for reader in self._readers(name):
            if isinstance(self._parts[reader], WeightLayerConf):
                found.append(reader)
            else:
                found += self._weights_behind(reader)
        return found

    def _finished(self, key: str, part: Part) -> Part:
        if not isinstance(part, LayerConf):
            return part
        if key in self._frozen:
            return _frozen(part)
        changes = {
            option: None if _is_open(part, option) else value
            for option, value in self._options.items()
            if option in type(part).model_fields and option not in _OF_THE_NETWORK
        }
        return part.replaced(**changes) if changes else part


class MultiLayerTransferLearning(TransferLearning[MultiLayerNetwork]):
    """Changes to a trained sequence of layers."""

    def remove_output_layer(self) -> "MultiLayerTransferLearning":
        """Leave the last layer out."""
        return self.remove_layers_from_output(1)

    def remove_layers_from_output(self, n: int) -> "MultiLayerTransferLearning":
        """Leave the last `n` layers out."""
        if not 1 <= n < len(self._parts):
            raise OptionError(
                f"TransferLearning.remove_layers_from_output: must leave one of "
                f"{len(self._parts)} layers, got {n}."
            )
        for key in list(self._parts)[-n:]:
            del self._parts[key]
        return self

    def add_layer(self, layer: LayerConf) -> "MultiLayerTransferLearning":
        """Put a layer behind the last one; its weights are drawn."""
        name = layer.name or f"layer{len(self._parts)}"
        self._parts[name] = layer
        self._drawn_anew.add(name)
        return self

    def _initial_parts(self) -> dict[str, Any]:
        names = [node.name for node in self._network.nodes]
        return dict(zip(names, self._network.conf.layers, strict=True))

    def _configuration(self, parts: Mapping[str, Part]) -> Any:
        conf = self._network.conf
        return conf.replaced(layers=tuple(parts.values()), **self._options)

    def _up_to(self, name: str) -> set[str]:
        keys = list(self._parts)
        return set(keys[: keys.index(name) + 1])

    def _readers(self, name: str) -> Iterable[str]:
        keys = list(self._parts)
        return keys[keys.index(name) + 1 :][:1]


class GraphTransferLearning(TransferLearning[ComputationGraph]):
    """Changes to a trained graph."""

    def __init__(self, network: ComputationGraph) -> None:
        super().__init__(network)
        self._outputs = list(network.conf.outputs)

    def remove_vertex_and_connections(self, name: str) -> "GraphTransferLearning":
        """Leave a layer or vertex out, and all that only it feeds."""
        gone = [self._known(name)]
        while gone:
            key = gone.pop()
            for reader in self._readers(key):
                part = self._parts[reader]
                left = tuple(source for source in part.inputs if source != key)
                self._parts[reader] = part.replaced(inputs=left)
                if not left:
                    gone.append(reader)
            self._parts.pop(key, None)
            self._outputs = [output for output in self._outputs if output != key]
        return self

    def add(self, name: str, part: Part, *inputs: str) -> "GraphTransferLearning":
        """Add a layer or vertex that reads `inputs`; its weights are drawn."""
        self._parts[name] = part.replaced(inputs=inputs) if inputs else part
        self._drawn_anew.add(name)
        return self

    def set_outputs(self, *names: str) -> "GraphTransferLearning":
        """Say which layers are outputs, in the order of the labels."""
        self._outputs = [self._known(name) for name in names]
        return self

    def _initial_parts(self) -> dict[str, Any]:
        return dict(self._network.conf.vertices)

    def _configuration(self, parts: Mapping[str, Part]) -> Any:
        return self._network.conf.replaced(
            vertices=dict(parts), outputs=tuple(self._outputs), **self._options
        )

    def _up_to(self, name: str) -> set[str]:
        found, waiting = set(), [name]
        while waiting:
            key = waiting.pop()
            if key in self._parts and key not in found:
                found.add(key)
                waiting += self._parts[key].inputs
        return found

    def _readers(self, name: str) -> Iterable[str]:
        return [key for key, part in self._parts.items() if name in part.inputs]


def transfer_learning(
    network: Network[Any],
) -> MultiLayerTransferLearning | GraphTransferLearning:
    """Return what changes a trained network of either kind.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        Not changed.

    Examples
    --------
    >>> import daskdl
    >>> old = daskdl.MultiLayerNetwork(
    ...     daskdl.MultiLayerConfiguration(
    ...         input=daskdl.FeedForward(size=4),
    ...         layers=[daskdl.Dense(n_out=8), daskdl.Output(n_out=3)],
    ...     )
    ... )
    >>> new = (
    ...     transfer_learning(old)
    ...     .fine_tune(updater="adam")
    ...     .set_feature_extractor(0)
    ...     .n_out_replace(1, 5)
    ...     .build()
    ... )
    >>> [type(layer).__name__ for layer in new.conf.layers]
    ['Frozen', 'Output']
    """
    if isinstance(network, MultiLayerNetwork):
        return MultiLayerTransferLearning(network)
    if isinstance(network, ComputationGraph):
        return GraphTransferLearning(network)
    raise OptionError(
        "transfer_learning: network must be a MultiLayerNetwork or a ComputationGraph, "
        f"got {type(network).__name__}."
    )


def _frozen(layer: LayerConf) -> LayerConf:
    if isinstance(layer, Frozen) or layer.is_output:
        return layer
    inside = layer.replaced(name=None, inputs=())
    return Frozen(layer=inside, name=layer.name, inputs=layer.inputs)


def _is_open(layer: LayerConf, option: str) -> bool:
    """Whether None leaves an option of the layer to the network."""
    return type(layer).model_fields[option].default is None


def _with_channels(layer: LayerConf, old: int, new: int) -> Any:
    """Return the preprocessor of a layer for another number of channels."""
    preprocessor = layer.preprocessor
    if getattr(preprocessor, "channels", None) == old and preprocessor is not None:
        return preprocessor.replaced(channels=new)
    return preprocessor
