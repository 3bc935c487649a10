"""The layers and vertices of a network at work: one pass there, one back."""

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TypeAlias

import numpy as np

from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.namespace import FloatArray, array_namespace, to_host
from daskdl.arrays.random import stream
from daskdl.arrays.team import Cut
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.topology import Node, learning_nodes
from daskdl.nn.fusion import join_parts
from daskdl.nn.layers.layer import Layer
from daskdl.nn.masks import masked
from daskdl.nn.run import Run
from daskdl.nn.vertices.vertex import Vertex

Part: TypeAlias = Layer | Vertex
Mask: TypeAlias = FloatArray | None

_Flow: TypeAlias = tuple[FloatArray, Mask, int]
"""What comes out of a part: value, mask, and of how many examples."""


class Program:
    """What a network computes: its layers and vertices, in order.

    Parameters
    ----------
    who : str
        What messages call the network.
    nodes : sequence of Node
        In the order in which they are computed.
    inputs, outputs : sequence of str
        Names of the network's inputs, and of the nodes that are outputs.
    workspace : Workspace
        Lends all arrays.

    Attributes
    ----------
    parts : list of (Node, Layer or Vertex)
        In the order of `nodes`.
    runs : list of Run
        Of all layers, those inside wrappers too.
    """

    def __init__(
        self,
        who: str,
        nodes: Sequence[Node],
        inputs: Sequence[str],
        outputs: Sequence[str],
        workspace: Workspace,
    ) -> None:
        self._who = who
        self._inputs = inputs
        self._outputs = outputs
        self._workspace = workspace
        self.parts = [(node, _part(node, workspace)) for node in nodes]
        self.runs: list[Run] = [
            layer.run
            for _, part in self.parts
            if isinstance(part, Layer)
            for layer in part.walk()
        ]
        join_parts(self.parts, outputs)
        self._learning = learning_nodes(nodes)
        self._read_last = _read_last(nodes, {*inputs, *outputs})
        for node, part in self.parts:
            if isinstance(part, Layer):
                part.run.needs_grad_x = not self._learning.isdisjoint(node.inputs)

    def bind(
        self, layout: ParamLayout, params: FloatArray, gradients: FloatArray
    ) -> None:
        """Let every part read and write its share of the flat vectors.

        Parameters
        ----------
        layout : ParamLayout
        params, gradients : ndarray of shape (n_params,)
        """
        values, slopes = layout.views(params), layout.views(gradients)
        for node, part in self.parts:
            names = {item.name: f"{node.key}_{item.name}" for item in node.parameters}
            part.bind(
                {name: values[slot] for name, slot in names.items()},
                {name: slopes[slot] for name, slot in names.items()},
            )

    def initialize(self, seed: int) -> None:
        """Draw the initial weights."""
        for node, part in self.parts:
            part.initialize(stream(seed, "weights", node.key))

    @contextmanager
    def taking_part(self, cut: Cut | None) -> Generator[None, None, None]:
        """Compute a part of a minibatch, or all of it, until a ``with`` block ends."""
        for run in self.runs:
            run.cut = cut
        try:
            yield
        finally:
            for run in self.runs:
                run.cut = None

    @cached_property
    def output_parts(self) -> list[Part]:
        """What the outputs come from, in the order of the labels."""
        by_name = {node.name: part for node, part in self.parts}
        return [by_name[name] for name in self._outputs]

    @cached_property
    def output_layers(self) -> list[Layer]:
        """The layers that have the losses, in the order of the labels.

        Raises
        ------
        OptionError
            If an output is a vertex, or a layer without a loss.
        """
        layers = []
        for part in self.output_parts:
            if not isinstance(part, Layer):
                raise OptionError(
                    f"{self._who} {part.name} ({type(part.conf).__name__}): training "
                    "and scores need an output layer as output, got a vertex."
                )
            if not part.conf.is_output:
                raise OptionError(
                    f"{part.who}: training and scores need an output layer at the end, "
                    "got a layer without a loss. Replace it, for example with Output "
                    "or LossLayer."
                )
            layers.append(part)
        return layers

    def masked_outputs(
        self, outputs: Sequence[FloatArray], masks: Sequence[Mask]
    ) -> list[FloatArray]:
        """Return outputs with 0 where masks of their labels drop them, as DL4J does."""
        return [
            masked(output, mask) if layer.conf.masks_output else output
            for layer, output, mask in zip(
                self.output_layers, outputs, masks, strict=True
            )
        ]

    def loss_mask(self, output: int = 0) -> Mask:
        """Return the mask that counts in the loss of an output.

        Returns
        -------
        ndarray of shape (batch,) or (batch, time), or None
            Of the last forward pass.
        """
        part = self.output_parts[output]
        loss = part.run.loss if isinstance(part, Layer) else None
        return None if loss is None else loss.arrived_mask()

    def check_losses(self) -> None:
        """Refuse outputs without a loss, as :attr:`output_layers` does."""
        _ = self.output_layers

    def forward(
        self,
        features: Sequence[FloatArray],
        masks: Sequence[Mask],
        *,
        training: bool,
        rng: np.random.Generator | None,
    ) -> list[FloatArray]:
        """Compute the outputs.

        Parameters
        ----------
        features : sequence of ndarray of shape (batch, ...)
            One an input, as layers know them.
        masks : sequence of ndarray of shape (batch, time), (batch, 1), or None
        training : bool
            Whether random numbers and statistics of the minibatch are on.
        rng : numpy.random.Generator or None

        Returns
        -------
        list of ndarray of shape (rows, ...)
            One an output: buffers, valid until the next pass.

        Raises
        ------
        OptionError
            If training needs random numbers and `rng` is None, or a layer cannot work
            on data of this length or size.
        """
        self._forget_last_pass()
        flows: dict[str, _Flow] = {
            name: (array, mask, len(array))
            for name, array, mask in zip(self._inputs, features, masks, strict=True)
        }
        for (node, part), last in zip(self.parts, self._read_last, strict=True):
            if isinstance(part, Layer):
                x, mask, size = flows[node.inputs[0]]
                run = part.run
                x = part.enter(
                    x, training=training, mask=mask, rng=rng, batch_size=size
                )
                try:
                    value, part.way_back = part.compute(run, x)
                except PathError as error:
                    raise part.refusal(error) from None
                mask = part.conf.feed_forward_mask(run, run.mask)
                flows[node.name] = value, mask, size
            else:
                flows[node.name] = _through_vertex(part, node.inputs, flows)
            if not training:
                part.forget_way_back()
            for name in last:
                # What the way back reads is held by itself.
                del flows[name]
        return [flows[name][0] for name in self._outputs]

    def _forget_last_pass(self) -> None:
        """Let go of what only a backward pass would have read, or did read."""
        for _, part in self.parts:
            part.forget_pass()
        self._workspace.make_room()

    def loss(
        self,
        labels: Sequence[FloatArray],
        masks: Sequence[Mask],
        *,
        averages: bool,
    ) -> float:
        """Return the loss of the last forward pass, of all outputs.

        Parameters
        ----------
        labels : sequence of ndarray of shape (batch, ...)
            One an output.
        masks : sequence of ndarray or None
        averages : bool
            Whether it is divided by the number of examples. Each output has its own: a
            layer may make several rows of an example.

        Returns
        -------
        float
            What is computed of the parts of a minibatch adds up to that of all of it.
        """
        return sum(
            layer.loss.score(target, mask)
            / (_examples_of(layer, target) if averages or _has_mean_score(layer) else 1)
            for layer, target, mask in zip(
                self.output_layers, labels, masks, strict=True
            )
        )

    def score_examples(
        self, labels: Sequence[FloatArray], masks: Sequence[Mask]
    ) -> list[FloatArray]:
        """Return the losses of the examples in the last forward pass.

        Parameters
        ----------
        labels, masks
            As for :meth:`loss`.

        Returns
        -------
        list of ndarray of shape (batch,)
            One an output, on the host.
        """
        return [
            to_host(layer.loss.score_examples(target, mask))
            for layer, target, mask in zip(
                self.output_layers, labels, masks, strict=True
            )
        ]

    def backward(self, labels: Sequence[FloatArray], masks: Sequence[Mask]) -> None:
        """Write the summed gradients of the last forward pass.

        Parameters
        ----------
        labels : sequence of ndarray of shape (batch, ...)
            One an output.
        masks : sequence of ndarray or None
        """
        targets = dict(zip(self._outputs, zip(labels, masks, strict=True), strict=True))
        arrived: dict[str, FloatArray] = {}
        for node, part in reversed(self.parts):
            grads: Sequence[FloatArray | None]
            grad_out = arrived.pop(node.name, None)
            if isinstance(part, Layer) and node.name in targets:
                grads = self._from_loss(part, targets[node.name], grad_out)
            elif node.name not in self._learning:
                continue
            elif grad_out is None:
                _clear_gradients(part)
                continue
            else:
                grads = _back_through(part, grad_out)
            del grad_out
            part.forget_way_back()
            self._send(arrived, node.inputs, grads)
            del grads
        self._workspace.make_room()

    def _send(
        self,
        arrived: dict[str, FloatArray],
        names: Sequence[str],
        grads: Sequence[FloatArray | None],
    ) -> None:
        """Add gradients to those that arrived at what was read."""
        for name, grad in zip(names, grads, strict=True):
            if grad is not None and name in self._learning:
                self._accumulate(arrived, name, grad)

    def _from_loss(
        self,
        part: Layer,
        target: tuple[FloatArray, Mask],
        grad_out: FloatArray | None,
    ) -> list[FloatArray | None]:
        """Return the gradient of a loss, and of what reads the output beside it."""
        grad = part.backward_loss(*target)
        if grad_out is not None:
            grad = self._with_readers(part, grad, grad_out)
        return [grad]

    def _with_readers(
        self, part: Layer, grad: FloatArray | None, grad_out: FloatArray
    ) -> FloatArray | None:
        """Add what the readers of an output ask for to the gradients of its loss.

        Parameters
        ----------
        part : Layer
            The output layer, whose gradients are those of its loss.
        grad : ndarray or None
            Gradient of its loss in its input.
        grad_out : ndarray
            Gradient that its readers send back.

        Returns
        -------
        ndarray or None
            Gradient of both in its input.
        """
        gradients = part.run.gradients
        kept = {name: self._kept(part, name, gradients[name]) for name in gradients}
        kept_grad = None if grad is None else self._kept(part, "x", grad)
        grad = part.backward(grad_out)
        for name, view in gradients.items():
            view += kept[name]
        if grad is None or kept_grad is None:
            return None
        array_namespace(grad).add(grad, kept_grad, out=kept_grad)
        return kept_grad

    def _kept(self, part: Layer, what: str, array: FloatArray) -> FloatArray:
        """Return a copy of what the next backward pass overwrites."""
        key = (part.name, "kept", what)
        copy: FloatArray = self._workspace.take(key, array.shape, array.dtype)
        copy[...] = array
        return copy

    def _accumulate(
        self, arrived: dict[str, FloatArray], name: str, grad: FloatArray
    ) -> None:
        """Add a gradient to those that arrived at `name` from other readers.

        The sum has a buffer of its own: what a part returns stays as it is, because
        a vertex may hand the same array on.
        """
        if name not in arrived:
            arrived[name] = grad
            return
        total = self._workspace.lend(("sum", name), grad.shape, grad.dtype)
        array_namespace(grad).add(arrived[name], grad, out=total)
        arrived[name] = total


def _part(node: Node, workspace: Workspace) -> Part:
    if isinstance(node.conf, LayerConf):
        return Layer(node.conf, node.input_types[0], node.name, workspace)
    return Vertex(node.conf, node.input_types, node.name, workspace)


def _read_last(nodes: Sequence[Node], kept: Collection[str]) -> list[tuple[str, ...]]:
    """Return, node by node, what nobody reads from then on, but for what is kept."""
    seen, last = set(kept), []
    for node in reversed(nodes):
        names = {node.name, *node.inputs} - seen
        seen |= names
        last.append(tuple(names))
    return last[::-1]


def _back_through(part: Part, grad_out: FloatArray) -> Sequence[FloatArray | None]:
    """Return the gradients in what a layer or vertex has read."""
    if isinstance(part, Layer):
        return [part.backward(grad_out)]
    return part.backward(grad_out)


def _through_vertex(
    vertex: Vertex, names: Sequence[str], flows: Mapping[str, _Flow]
) -> _Flow:
    """Return the output, and its mask, of a vertex that reads `names`."""
    values, masks, sizes = zip(*(flows[name] for name in names), strict=True)
    reference = vertex.conf.reads_network_input
    named = (None, None, 0) if reference is None else flows[reference]
    network_input, network_mask, _ = named
    value = vertex.forward(
        values,
        masks=masks,
        network_input=network_input,
        network_mask=network_mask,
        batch_size=sizes[0],
    )
    mask = vertex.feed_forward_mask(masks, network_mask=network_mask)
    vertex.let_go_of_inputs()
    return value, mask, vertex.batch_size(sizes)


def _clear_gradients(part: Part) -> None:
    """Set the gradients of what no loss depends on to 0."""
    for view in part.run.gradients.values():
        view.fill(0)


def _examples_of(layer: Layer, labels: FloatArray) -> int:
    """Return how many labels the minibatch has, of which these may be a part."""
    cut = layer.run.cut
    return len(labels) if cut is None else cut.n_examples


def _has_mean_score(layer: Layer) -> bool:
    """Return whether a score is divided by the examples whatever `mini_batch` says."""
    conf = layer.conf
    return conf.has_mean_score and "mean_scores_of_sums" in conf.quirks
