"""Training of single layers on features alone, one after the other."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.random import IterationStream, stream
from daskdl.checks import check_count, some
from daskdl.errors import DataError, OptionError
from daskdl.nn.batches import Batch, Given, as_arrays, check_readable
from daskdl.nn.conf.topology import Node
from daskdl.nn.data_converter import DataConverter
from daskdl.nn.divergence import check_score, numbers_may_overflow
from daskdl.nn.layers.layer import Layer
from daskdl.nn.normalizing import NormalizerChoice
from daskdl.nn.passes import is_in_memory, passes_over
from daskdl.nn.program import Program
from daskdl.nn.reconstruction_rules import reconstruction_rules
from daskdl.nn.update_plan import UpdatePlan
from daskdl.nn.vectors import layer_spans

if TYPE_CHECKING:
    from daskdl.nn.step import StepNetwork


class Pretraining:
    """What pretraining of a network's autoencoders has come to.

    The layers in front of one work in inference mode and stay as they are. Updaters of
    pretraining have a state and a count of iterations of their own for each layer,
    which are not saved with the network.

    Parameters
    ----------
    network : StepNetwork
        Whose vectors are trained, and which gets the score.
    program, converter
        Its own.
    """

    def __init__(
        self, network: "StepNetwork[Any]", program: Program, converter: DataConverter
    ) -> None:
        self._who = type(network).__name__
        self._network = network
        self._program = program
        self._converter = converter
        self._by_key: dict[str, _OfLayer] = {}

    def train_all(
        self,
        data: Given,
        *,
        epochs: int,
        batch_size: int | None,
        normalizer: NormalizerChoice,
    ) -> None:
        """Do what :meth:`daskdl.nn.network.Network.pretrain` says."""
        who = f"{self._who}.pretrain"
        names = self._pretrainable()
        if not names:
            raise OptionError(
                f"{who}: the network must have a layer that can be pretrained, got "
                "none. These are AutoEncoder and VariationalAutoencoder."
            )
        check_readable(who, data, len(names) * epochs)
        with self._network.turns.training(who):
            for name in names:
                self.train(
                    name,
                    data,
                    epochs=epochs,
                    batch_size=batch_size,
                    normalizer=normalizer,
                )

    def train(
        self,
        layer: int | str,
        data: Given,
        *,
        epochs: int,
        batch_size: int | None,
        normalizer: NormalizerChoice,
    ) -> None:
        """Do what :meth:`daskdl.nn.network.Network.pretrain_layer` says."""
        who = f"{self._who}.pretrain_layer"
        check_count(who, "epochs", epochs)
        check_readable(who, data, epochs)
        node, found = self._found(who, layer)
        if node.key not in self._by_key:
            self._by_key[node.key] = _OfLayer(self._network, node)
        of_layer = self._by_key[node.key]
        batches = passes_over(who, data, batch_size, self._look_at)
        with self._network.turns.training(who):
            if of_layer.rules and is_in_memory(data):
                self._check_all(node, found, of_layer, batches(), normalizer)
            for _ in range(epochs):
                for batch in batches():
                    with self._network.normalizing(normalizer), numbers_may_overflow():
                        self._train_minibatch(node, found, of_layer, batch)
                of_layer.epoch += 1

    def _look_at(self, who: str, batch: Batch) -> None:
        given = as_arrays(who, batch)
        self._converter.checks.check_masks(who, given)
        arrays = self._converter.unlabelled(given.features, numbers=False)
        self._converter.checks.check_numbers(who, arrays, None)

    def _check_all(
        self,
        node: Node,
        layer: Layer,
        of_layer: "_OfLayer",
        batches: Iterable[Batch],
        normalizer: NormalizerChoice,
    ) -> None:
        """Refuse what the layer cannot restore, before it learns of any."""
        with self._network.normalizing(normalizer), numbers_may_overflow():
            for number, batch in enumerate(batches):
                self._let_arrive(batch)
                of_layer.check(f"{layer.who}: minibatch {number}", layer, len(batch))

    def _let_arrive(self, batch: Batch) -> int:
        """Let the layers in front do their part; return the number of examples."""
        arrays = self._converter.unlabelled(
            as_arrays(self._who, batch).features, numbers=False
        )
        if not arrays.num_examples:
            raise DataError(f"{self._who}: a minibatch must hold an example, got none.")
        features = self._converter.features(arrays)
        self._program.forward(*features, training=False, rng=None)
        return arrays.num_examples

    def _train_minibatch(
        self, node: Node, layer: Layer, of_layer: "_OfLayer", batch: Batch
    ) -> None:
        network, who = self._network, self._who
        n_examples = self._let_arrive(batch)
        of_layer.check(layer.who, layer, n_examples)
        now = of_layer.iteration, of_layer.epoch
        numbers = stream(network.conf.seed, "pretraining", node.key, now[0])
        rng = IterationStream(numbers, *now)
        loss = layer.pretrain(rng=rng, batch_size=n_examples)
        if network.conf.mini_batch:
            of_layer.plan.average(network.gradients, n_examples)
            loss /= n_examples
        network.score = loss + of_layer.plan.regularization_score(
            network.params, iteration=now[0], epoch=now[1]
        )
        check_score(who, network.score, now[0])
        of_layer.step(network)

    def _pretrainable(self) -> list[str]:
        return [
            node.name
            for node, part in self._program.parts
            if isinstance(part, Layer) and part.conf.is_pretrainable
        ]

    def _found(self, who: str, layer: int | str) -> tuple[Node, Layer]:
        names = self._pretrainable()
        for index, (node, part) in enumerate(self._program.parts):
            if layer in (node.name, index) and isinstance(part, Layer):
                if node.name in names:
                    return node, part
                break
        raise OptionError(
            f"{who}: layer must be one that can be pretrained "
            f"({some(names) or 'there is none'}), got {layer!r}."
        )


class _OfLayer:
    """What pretraining of a layer has come to: updater state and counts."""

    def __init__(self, network: "StepNetwork[Any]", node: Node) -> None:
        self.plan = UpdatePlan(
            network.layout, layer_spans(network.layout, [node]), pretraining=True
        )
        xp = array_namespace(network.params)
        self._state: FloatArray = xp.zeros(self.plan.state_size, network.dtype)
        self._slots = [
            network.layout[f"{node.key}_{item.name}"] for item in node.parameters
        ]
        self.rules = reconstruction_rules(node.conf)
        self.iteration = 0
        self.epoch = 0
        self.plan.initialize_state(self._state)

    def check(self, who: str, layer: Layer, batch_size: int) -> None:
        """Refuse what reached the layer in the last forward pass if it cannot be."""
        if not self.rules:
            return
        # Neither dropped nor noisy.
        x = layer.enter(
            layer.arrived, training=False, mask=None, rng=None, batch_size=batch_size
        )
        for rule in self.rules:
            rule.check(who, x)

    def step(self, network: "StepNetwork[Any]") -> None:
        """Subtract the update that the network's gradients make of this layer."""
        gradients, params = network.gradients, network.params
        self.plan.update(
            gradients,
            params,
            self._state,
            iteration=self.iteration,
            epoch=self.epoch,
            workspace=network.workspace,
        )
        for slot in self._slots:
            part = slice(slot.offset, slot.stop)
            params[part] -= gradients[part]
        self.iteration += 1
        self.plan.constrain(params)
