"""What a network is made of: layers, flat vectors, what goes in and what comes out."""

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

import numpy as np

from daskdl.arrays.device import network_namespace
from daskdl.arrays.flat import ParamLayout, Slot
from daskdl.arrays.namespace import FloatArray, to_device, to_host
from daskdl.arrays.random import stream
from daskdl.arrays.workspace import Workspace
from daskdl.checks import check_type
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.admission import Admitting
from daskdl.nn.batches import Port
from daskdl.nn.border import Border
from daskdl.nn.conf.input_type import InputType, features_of
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.conf.topology import Node, learning_nodes
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.evaluations import n_classes_of
from daskdl.nn.footprint import check_footprint, n_params_of
from daskdl.nn.fusion import join_parts
from daskdl.nn.layers.layer import OutputLayer
from daskdl.nn.layers.stage import Stage
from daskdl.nn.lengths import output_steps
from daskdl.nn.losses.label_rules import label_rule
from daskdl.nn.normalizing import (
    NormalizerChoice,
    changed_classes,
    check_class_names,
    check_classes_kept,
    check_normalizer,
)
from daskdl.nn.param_roles import LayerStretch, plan_parameters
from daskdl.nn.state_carrying import carry_state
from daskdl.nn.update_plan import UpdatePlan
from daskdl.nn.vertices.table import build_vertex
from daskdl.nn.vertices.vertex import Vertex

Conf = TypeVar("Conf", MultiLayerConfiguration, ComputationGraphConfiguration)
S = TypeVar("S", bound="NetworkStructure[Any]")


class NetworkStructure(ABC, Generic[Conf]):
    """Layers, parameters, gradients and updater state of a network.

    The three vectors are one-dimensional and contiguous. They are written through and
    never replaced: layers hold views of them.

    Parameters
    ----------
    conf : MultiLayerConfiguration or ComputationGraphConfiguration
        What the network is.
    params : array_like of shape (n_params,), optional
        Copied. If left out, initial weights are drawn from the configuration's seed.
    updater_state : array_like of shape (n_state,), optional
        Copied. If left out, updaters begin anew.

    Attributes
    ----------
    layout : ParamLayout
        Where each parameter lies: ``0_W``, ``0_b``, ... or ``<vertex>_W``.
    iteration_count, epoch_count : int
        Minibatches and passes over the data that were trained.
    score : float
        Of the last minibatch, before its update; NaN before the first.

    Raises
    ------
    ShapeError
        If `params` or `updater_state` have the wrong number of elements.

    Notes
    -----
    Not for several threads at once. The same configuration, data and NumPy give the
    same parameters, bit for bit.
    """

    def __init__(
        self, conf: Conf, params: Any = None, *, updater_state: Any = None
    ) -> None:
        kinds = (MultiLayerConfiguration, ComputationGraphConfiguration)
        check_type(type(self).__name__, "conf", conf, *kinds)
        self.conf: Conf = conf
        self.iteration_count = 0
        self.epoch_count = 0
        self.score = float("nan")
        self._class_names: tuple[str, ...] | None = None
        self._nodes = conf.nodes()
        # Layers take memory too: before they are made, what is known by now.
        self._check_footprint(2 * n_params_of(self._nodes))
        namespace = network_namespace()
        self._workspace = Workspace(namespace)
        self._parts = [(node, self._part(node)) for node in self._nodes]
        self._layers = [
            layer
            for _, part in self._parts
            if isinstance(part, Stage)
            for layer in part.layer.walk()
        ]
        join_parts(self._parts, [node.name for node in self._output_nodes()])
        self._learning = learning_nodes(self._nodes)
        for node, part in self._parts:
            if isinstance(part, Stage):
                part.layer.needs_grad_x = not self._learning.isdisjoint(node.inputs)
        self.layout = ParamLayout.of(
            {
                f"{node.key}_{item.name}": item.shape
                for node in self._nodes
                for item in node.parameters
            }
        )
        self._plan = UpdatePlan(self.layout, stretches(self.layout, self._nodes))
        sizes = (self.layout.size, self.layout.size, self._plan.state_size)
        self._check_footprint(sum(sizes))
        vectors: list[FloatArray] = [namespace.zeros(n, self.dtype) for n in sizes]
        self._params, self._gradients, self._updater_state = vectors
        self._bind()
        self._border = Border(
            type(self).__name__,
            self.inputs,
            self.outputs,
            self.labels,
            self.dtype,
            namespace=namespace,
            steps=output_steps(conf),
        )
        self._is_initialized = False
        if params is None:
            self.init()
        else:
            self._copy_in("params", self._params, params)
            self._is_initialized = True
        self._plan.initialize_state(self._updater_state)
        if updater_state is not None:
            self._copy_in("updater_state", self._updater_state, updater_state)

    def _check_footprint(self, n_numbers: int) -> None:
        who = type(self).__name__
        check_footprint(who, self._nodes, n_numbers, self.dtype.itemsize)

    @property
    def normalizer(self) -> Normalizer | None:
        """What all data go through that come in, and predictions back; None for none.

        Give the network data as they are: it normalizes them itself, in training and in
        inference. If labels were normalized, too, outputs come in their units. Saved
        and loaded with the network.
        """
        return self._border.normalizer

    @normalizer.setter
    def normalizer(self, normalizer: Normalizer | None) -> None:
        who = type(self).__name__
        checked = check_normalizer(who, normalizer)
        check_classes_kept(who, checked, self.labels)
        self._border.normalizer = checked

    def restore_normalizer(
        self, normalizer: Normalizer | None, *, read_from: str | None = None
    ) -> None:
        """Put back a normalizer that a network had before.

        Unlike one that is set anew, it may change labels that tell classes, since older
        and foreign files hold such: the network predicts as ever. To train it goes on
        being refused.

        Parameters
        ----------
        normalizer : Normalizer or None
        read_from : str, optional
            A file, for the warning that it holds such a normalizer.
        """
        who = type(self).__name__
        self._border.normalizer = check_normalizer(who, normalizer)
        changed = changed_classes(normalizer, self.labels)
        if read_from is not None and changed:
            warnings.warn(
                f"{read_from}: its {type(normalizer).__name__} changes {changed}, "
                "which are classes or probabilities, so outputs are neither. Give the "
                "network a normalizer without fit_label before training.",
                stacklevel=2,
            )

    def normalizing(self, normalizer: NormalizerChoice) -> AbstractContextManager[None]:
        """Use another normalizer, or none, until the end of a ``with`` block."""
        return self._border.using(normalizer)

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """What the classes of the first output are called, in the order of its numbers.

        Evaluations print them. Saved and loaded with the network; None if nobody said.
        """
        return self._class_names

    @class_names.setter
    def class_names(self, names: Sequence[str] | None) -> None:
        if names is not None:
            n_out = self.output_layer_n_out[0]
            names = check_class_names(type(self).__name__, names, n_out)
        self._class_names = names

    def admitting(self, normalizer: Normalizer | None) -> Admitting:
        """Return the function that forms data as layers know them, or refuses them.

        Parameters
        ----------
        normalizer : Normalizer or None
            What the data will go through.
        """
        return Admitting(self._border.admission, normalizer)

    @property
    def params(self) -> FloatArray:
        """All parameters, shape (n_params,). Write into it: ``params[...] = x``."""
        return self._params

    @property
    def gradients(self) -> FloatArray:
        """All gradients, or after :meth:`compute_update` the update; (n_params,)."""
        return self._gradients

    @property
    def updater_state(self) -> FloatArray:
        """The state of all updaters, shape (n_state,)."""
        return self._updater_state

    @property
    def nodes(self) -> Sequence[Node]:
        """Layers and vertices in the order in which they are computed."""
        return self._nodes

    @property
    def output_nodes(self) -> Sequence[Node]:
        """What the outputs come from, in the order of the labels."""
        return self._output_nodes()

    @property
    def plan(self) -> UpdatePlan:
        """How gradients become updates, and where the updaters' state lies."""
        return self._plan

    @property
    def running_slots(self) -> tuple[Slot, ...]:
        """Where running statistics lie in :attr:`params`."""
        return self._plan.running

    @property
    def n_params(self) -> int:
        """Number of parameters."""
        return self.layout.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of parameters and activations."""
        dtype: np.dtype[Any] = np.dtype(self.conf.dtype)
        return dtype

    @property
    @abstractmethod
    def inputs(self) -> list[Port]:
        """What goes in, in the order of the features."""

    @property
    def outputs(self) -> list[Port]:
        """What comes out, in the order of the labels."""
        return [
            Port(self._who_is(node), node.output_type) for node in self._output_nodes()
        ]

    @property
    def labels(self) -> list[Port]:
        """What the labels of each output are."""
        each = zip(self._output_nodes(), self.output_losses, strict=True)
        return [
            Port(
                self._who_is(node),
                node.labels_type,
                classes=n_classes_of(loss, node.output_type),
                rule=label_rule(loss, node.output_type.shape[-1]),
            )
            for node, loss in each
        ]

    @property
    def input_types(self) -> list[InputType]:
        """What an example is, input by input."""
        return [port.type for port in self.inputs]

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self._output_nodes())

    @property
    def output_layer_n_out(self) -> list[int]:
        """Number of features or channels of each output."""
        return [features_of(node.output_type) for node in self._output_nodes()]

    @property
    def output_losses(self) -> list[str]:
        """Name of the loss of each output; empty where there is none."""
        losses = [getattr(node.conf, "loss", "") for node in self._output_nodes()]
        return [getattr(loss, "type", loss) for loss in losses]

    @property
    def output_activations(self) -> list[str]:
        """Name of the activation of each output; empty where there is none."""
        found = [getattr(node.conf, "activation", "") for node in self._output_nodes()]
        return [getattr(activation, "type", activation) for activation in found]

    def param_table(self) -> dict[str, FloatArray]:
        """Return all parameters by name, as views of the flat vector.

        Each has the shape of its slot in the layout, such as (n_in, n_out).
        """
        return self.layout.views(self._params)

    def init(self: S) -> S:
        """Draw the initial weights, unless that is done or they were given."""
        if not self._is_initialized:
            for node, part in self._parts:
                learner = part.layer if isinstance(part, Stage) else part
                learner.initialize(stream(self.conf.seed, "weights", node.key))
            self._is_initialized = True
        return self

    def clone(self: S) -> S:
        """Return an independent copy, its counters and its normalizer included."""
        return self._copied(self.conf)

    def _copied(self: S, conf: Conf) -> S:
        """Return a copy of another configuration with the same parameters and state."""
        rebuild, (kind, _, params, _, *kept) = self.__reduce__()
        clone: S = rebuild(kind, conf, params, None, *kept)
        carry_state(self._plan, self._updater_state, clone._plan, clone._updater_state)
        # One of them may be fitted anew.
        clone.restore_normalizer(copy.deepcopy(self.normalizer))
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle vectors and counters; layers and their views are built anew."""
        kept = ("iteration_count", "epoch_count", "score", "class_names")
        return _rebuild, (
            type(self),
            self.conf,
            to_host(self._params),
            to_host(self._updater_state),
            {name: getattr(self, name) for name in kept},
            self.normalizer,
        )

    @abstractmethod
    def _output_nodes(self) -> Sequence[Node]:
        """Return the outputs in the order of the labels."""

    def _part(self, node: Node) -> Stage | Vertex[Any]:
        if isinstance(node.conf, LayerConf):
            return Stage(node.conf, node.input_types[0], node.name, self._workspace)
        return build_vertex(node.conf, node.input_types, node.name, self._workspace)

    def _output_stages(self) -> list[Stage]:
        """Return the outputs, refusing those that are no layers."""
        parts = {node.name: part for node, part in self._parts}
        stages = []
        for node in self._output_nodes():
            part = parts[node.name]
            if not isinstance(part, Stage):
                raise OptionError(
                    f"{self._who_is(node)}: training and scores need an output layer "
                    "as output, got a vertex."
                )
            stages.append(part)
        return stages

    def _output_layers(self) -> list[OutputLayer[Any]]:
        return [stage.output_layer for stage in self._output_stages()]

    def _bind(self) -> None:
        params = self.layout.views(self._params)
        gradients = self.layout.views(self._gradients)
        for node, part in self._parts:
            names = [item.name for item in node.parameters]
            learner = part.layer if isinstance(part, Stage) else part
            learner.bind(
                {name: params[f"{node.key}_{name}"] for name in names},
                {name: gradients[f"{node.key}_{name}"] for name in names},
            )

    def _copy_in(self, what: str, vector: FloatArray, values: Any) -> None:
        values = to_host(values)
        if values.size != vector.size:
            raise ShapeError(
                f"{type(self).__name__}: {what} must have {vector.size} elements, "
                f"got {values.size}."
            )
        vector[...] = to_device(values.reshape(-1), vector)

    def _who_is(self, node: Node) -> str:
        kind = type(node.conf).__name__
        return f"{type(self).__name__} {node.name} ({kind})"


def _rebuild(
    kind: type[S],
    conf: Any,
    params: FloatArray,
    updater_state: FloatArray | None,
    values: dict[str, Any],
    normalizer: Normalizer | None,
) -> S:
    network = kind(conf, params, updater_state=updater_state)
    network.restore_normalizer(normalizer)
    for name, value in values.items():
        setattr(network, name, value)
    return network


def stretches(layout: ParamLayout, nodes: Sequence[Node]) -> list[LayerStretch]:
    """Return how the parameters of each layer or vertex are treated."""
    found = []
    for node in nodes:
        trained = node.conf.trained
        if node.parameters and trained is not None:
            slots = [layout[f"{node.key}_{item.name}"] for item in node.parameters]
            order = () if isinstance(node.conf, VertexConf) else node.conf.table_order
            found.append(
                plan_parameters(trained, slots, node.parameters, table_order=order)
            )
    return found
