"""Training of single layers on features alone: what training sees of such a layer."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from daskdl.arrays.flat import ParamLayout, Slot
from daskdl.arrays.namespace import FloatArray, array_namespace, to_device, to_host
from daskdl.arrays.random import IterationStream, stream
from daskdl.checks import some
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.errors import DataError, OptionError
from daskdl.nn.batches import Arrays, Batch, as_arrays
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.topology import Node
from daskdl.nn.data_checks import PartitionCheck
from daskdl.nn.data_converter import DataConverter
from daskdl.nn.divergence import check_score, numbers_may_overflow
from daskdl.nn.fitting.exchange import Exchange, take_step
from daskdl.nn.layers.layer import Layer
from daskdl.nn.normalizing import NormalizerChoice
from daskdl.nn.program import Program
from daskdl.nn.reconstruction_rules import reconstruction_rules
from daskdl.nn.update_plan import UpdatePlan
from daskdl.nn.vectors import layer_spans

if TYPE_CHECKING:
    from daskdl.nn.network import Network

__all__ = ["LayerPretraining", "Pretraining"]


class Pretraining:
    """The layers of a network that can be pretrained.

    Parameters
    ----------
    network : Network
    program, converter
        Its own.
    """

    def __init__(
        self, network: "Network[Any]", program: Program, converter: DataConverter
    ) -> None:
        self._network = network
        self._program = program
        self._converter = converter
        self._by_key: dict[str, LayerPretraining] = {}

    @property
    def names(self) -> list[str]:
        """Of these layers, in the order in which they are computed."""
        return [
            node.name
            for node, part in self._program.parts
            if isinstance(part, Layer) and part.conf.is_pretrainable
        ]

    @property
    def known(self) -> "list[LayerPretraining]":
        """Those that :meth:`layer` or :meth:`chosen` have returned so far."""
        return list(self._by_key.values())

    def chosen(
        self, who: str, layers: int | str | Sequence[int | str] | None = None
    ) -> "list[LayerPretraining]":
        """Return some of them in the given order, or all of them in theirs.

        Parameters
        ----------
        who : str
            Named in errors.
        layers : int, str or several of them, optional
            Each an index in a sequence, or a name.

        Raises
        ------
        OptionError
            If there is none, or one of those cannot be pretrained.
        """
        if layers is not None:
            given: Sequence[Any] = [layers]
            if isinstance(layers, Sequence) and not isinstance(layers, str):
                given = layers
            if not given:
                raise OptionError(
                    f"{who}: layers must name one that can be pretrained "
                    f"({some(self.names) or 'there is none'}), got none. Leave it out "
                    "for all."
                )
            return [self.layer(who, layer) for layer in given]
        if not (names := self.names):
            raise OptionError(
                f"{who}: the network must have a layer that can be pretrained, got "
                "none. These are AutoEncoder and VariationalAutoencoder."
            )
        return [self.layer(who, name) for name in names]

    def layer(self, who: str, layer: int | str) -> "LayerPretraining":
        """Return one, with all that its pretraining has come to.

        Parameters
        ----------
        who : str
            Named in errors.
        layer : int or str
            Index in a sequence, or name.

        Raises
        ------
        OptionError
            If there is no such layer, or it cannot be pretrained.
        """
        names = self.names
        # What equals an index, as True and 1.0 do, is none.
        key = layer if type(layer) in (int, str) else None
        for index, (node, part) in enumerate(self._program.parts):
            if key in (node.name, index) and isinstance(part, Layer):
                if node.name in names:
                    return self._kept(node, part)
                break
        raise OptionError(
            f"{who}: layer must be one that can be pretrained "
            f"({some(names) or 'there is none'}), got {layer!r}."
        )

    def _kept(self, node: Node, part: Layer) -> "LayerPretraining":
        if node.key not in self._by_key:
            self._by_key[node.key] = LayerPretraining(
                self._network, node, part, self._program, self._converter
            )
        return self._by_key[node.key]


class LayerPretraining:
    """One layer of a network in pretraining, as training sees it.

    It is trained as a network is: it has vectors, an updater with counters, and a step,
    which takes part in an exchange. The vectors are those of the layer alone, parts of
    the network's own. The layers in front of it work in inference mode and stay as they
    are. Updater state and counters go on from call to call, and are not saved with the
    network.

    Parameters
    ----------
    network : Network
        Of which it is a part.
    node, layer, program, converter
        The network's own.

    Attributes
    ----------
    network : Network
    name : str
        Of the layer.
    layout : ParamLayout
        Where each of its parameters lies in `params`.
    plan : UpdatePlan
        How its gradients become updates.
    params, gradients : ndarray of shape (n_params,)
        Views of those of the network. Gradients are an update behind a step.
    updater_state : ndarray of shape (n_state,)
        Of its own.
    iteration_count, epoch_count : int
        What it was pretrained.
    """

    def __init__(
        self,
        network: "Network[Any]",
        node: Node,
        layer: Layer,
        program: Program,
        converter: DataConverter,
    ) -> None:
        self.network = network
        self.name = node.name
        self._node = node
        self._layer = layer
        self._program = program
        self._converter = converter
        shapes = {f"{node.key}_{item.name}": item.shape for item in node.parameters}
        self.layout = ParamLayout.of(shapes)
        spans = layer_spans(self.layout, [node])
        self.plan = UpdatePlan(self.layout, spans, pretraining=True)
        start = min((network.layout[name].offset for name in shapes), default=0)
        # Parameters of a layer lie side by side, in this order.
        part = slice(start, start + self.layout.size)
        self.params: FloatArray = network.params[part]
        self.gradients: FloatArray = network.gradients[part]
        xp = array_namespace(network.params)
        self.updater_state: FloatArray = xp.zeros(self.plan.state_size, network.dtype)
        self.begin_anew()
        self._rules = reconstruction_rules(node.conf)

    def begin_anew(self) -> None:
        """Forget what the updater and the counters have come to."""
        self.updater_state[...] = 0
        self.plan.initialize_state(self.updater_state)
        self.iteration_count = 0
        self.epoch_count = 0

    def stand_at(
        self, updater_state: FloatArray, *, iteration_count: int, epoch_count: int
    ) -> None:
        """Take over where the pretraining of this layer stood.

        Parameters
        ----------
        updater_state : ndarray of shape (n_state,)
            Copied.
        iteration_count, epoch_count : int
        """
        self.updater_state[...] = to_device(updater_state, self.updater_state)
        self.iteration_count = iteration_count
        self.epoch_count = epoch_count

    @property
    def conf(self) -> Any:
        """The configuration of the network."""
        return self.network.conf

    @property
    def running_slots(self) -> tuple[Slot, ...]:
        """Where running statistics lie in :attr:`params`."""
        return self.plan.running

    @property
    def score(self) -> float:
        """Of the last minibatch, which is the network's."""
        return self.network.score

    @score.setter
    def score(self, score: float) -> None:
        self.network.score = score

    def keeping_threads(self) -> AbstractContextManager[None]:
        """Do as the method of a network."""
        return self.network.keeping_threads()

    def normalizing(self, normalizer: NormalizerChoice) -> AbstractContextManager[None]:
        """Do as the method of a network."""
        return self.network.normalizing(normalizer)

    def check_batch(self, batch: Batch) -> None:
        """Refuse a minibatch whose features do not fit; labels are not looked at.

        Raises
        ------
        ShapeError, DataError
        """
        given = as_arrays(type(self.network).__name__, batch)
        self._converter.unlabelled(given.features, numbers=False)

    def partition_check(self, normalizer: Normalizer | None) -> "FeaturesCheck":
        """Return the function that forms features as layers know them, or refuses them.

        Parameters
        ----------
        normalizer : Normalizer or None
            What the data will go through.
        """
        return FeaturesCheck(self._converter.checks, normalizer)

    def check_restorable(self, batches: Iterable[Batch]) -> None:
        """Refuse what the layer cannot restore, before it learns of any.

        Raises
        ------
        DataError
            With minibatch, row and number.
        """
        if not self._rules:
            return
        with numbers_may_overflow():
            for number, batch in enumerate(batches):
                self._let_arrive(batch)
                self._check(f"{self._layer.who}: minibatch {number}", len(batch))

    @property
    def layer_conf(self) -> LayerConf:
        """The configuration of the layer, with nothing left open."""
        return self._layer.conf

    def reconstruct(self, batch: Batch) -> tuple[FloatArray, FloatArray]:
        """Return what reaches the layer of a minibatch, and what it restores of that.

        Parameters
        ----------
        batch : DataSet or MultiDataSet
            Of which nothing but features is looked at.

        Returns
        -------
        arrived, restored : ndarray of shape (batch, n_in)
            In main memory.
        """
        with self.network.normalizing("own"):
            x = self._arrived(self._let_arrive(batch))
            restored = to_host(self.layer_conf.reconstruct(self._layer.run, x))
            return to_host(x).reshape(restored.shape).copy(), restored

    def log_probabilities(
        self, batch: Batch, num_samples: int, *, restorable: bool = False
    ) -> FloatArray:
        """Estimate the logarithm of the reconstruction probability of each example.

        Parameters
        ----------
        batch : DataSet or MultiDataSet
            Of which nothing but features is looked at.
        num_samples : int
            How often hidden causes are drawn: always the same ones.
        restorable : bool
            Refuse what the layer cannot restore, as its training does.

        Returns
        -------
        ndarray of shape (batch,)
            In main memory.

        Raises
        ------
        DataError
            With the first number that cannot be, and its row.
        """
        conf: Any = self.layer_conf
        rng = stream(self.network.conf.seed, "reconstruction", self._node.key)
        with self.network.normalizing("own"):
            n_examples = self._let_arrive(batch)
            if restorable:
                self._check(self._layer.who, n_examples)
            x = self._arrived(n_examples)
            run = self._layer.run
            return to_host(conf.log_probability(run, x, rng, num_samples))

    def fit_minibatch(
        self, batch: Batch, *, rng_stream: int = 0, exchange: Exchange | None = None
    ) -> float:
        """Do :meth:`train_minibatch`."""
        return self.train_minibatch(batch, rng_stream=rng_stream, exchange=exchange)

    def train_minibatch(
        self, batch: Batch, *, rng_stream: int = 0, exchange: Exchange | None = None
    ) -> float:
        """Pretrain on one minibatch: gradients, update, parameters, one more iteration.

        Parameters
        ----------
        batch : DataSet or MultiDataSet
            Of which nothing but features is looked at.
        rng_stream : int
            Number of the worker: each draws its own corruption.
        exchange : Exchange, optional
            Hears of the update, where others train too.

        Returns
        -------
        score : float
            Before the update, also of the network.

        Raises
        ------
        DivergedError
            When the score is no number.
        DataError
            When the layer cannot restore what reached it.
        """
        network = self.network
        with network.normalizing("own"), numbers_may_overflow():
            n_examples = self._let_arrive(batch)
            self._check(self._layer.who, n_examples)
            loss = self._layer.pretrain(
                rng=self._numbers(rng_stream), batch_size=n_examples
            )
            if network.conf.mini_batch:
                loss /= n_examples
            self.score = score = loss + self.plan.regularization_score(
                self.params, iteration=self.iteration_count, epoch=self.epoch_count
            )
            check_score(type(network).__name__, score, self.iteration_count)
            take_step(self, n_examples, exchange)
            if exchange is not None:
                exchange.iteration_done(self, n_examples)
        return score

    def learn(self, n_examples: int, *, held: Any = None) -> None:
        """Average `gradients`, sums over examples, update and subtract in one pass."""
        self.plan.step(
            self.gradients,
            self.params,
            self.updater_state,
            n_examples=n_examples if self.network.conf.mini_batch else 1,
            iteration=self.iteration_count,
            epoch=self.epoch_count,
            workspace=self.network.workspace,
            held=held,
        )

    def finish_iteration(self) -> None:
        """Count the iteration, and hold the parameters to their constraints."""
        self.iteration_count += 1
        self.hold_constraints()

    def hold_constraints(self) -> None:
        """Make the parameters satisfy their constraints."""
        self.plan.constrain(self.params)

    def _let_arrive(self, batch: Batch) -> int:
        """Let the layers in front do their part; return the number of examples."""
        who = type(self.network).__name__
        given = as_arrays(who, batch).features
        arrays = self._converter.unlabelled(given, numbers=False)
        if not arrays.num_examples:
            raise DataError(f"{who}: a minibatch must hold an example, got none.")
        features = self._converter.features(arrays)
        self._program.forward(*features, training=False, rng=None)
        return arrays.num_examples

    def _check(self, who: str, n_examples: int) -> None:
        """Refuse what reached the layer in the last forward pass if it cannot be."""
        if not self._rules:
            return
        # Neither dropped nor noisy.
        x = self._arrived(n_examples)
        for rule in self._rules:
            rule.check(who, x)

    def _arrived(self, n_examples: int) -> FloatArray:
        return self._layer.enter(
            self._layer.arrived,
            training=False,
            mask=None,
            rng=None,
            batch_size=n_examples,
        )

    def _numbers(self, rng_stream: int) -> np.random.Generator:
        # The first member of a cluster draws what one process does.
        whose = (self._node.key, rng_stream) if rng_stream else (self._node.key,)
        at, seed = self.iteration_count, self.network.conf.seed
        numbers = stream(seed, "pretraining", *whose, at)
        return IterationStream(numbers, at, self.epoch_count)


class FeaturesCheck(PartitionCheck):
    """Check the features of data that are to be pretrained on."""

    def __call__(self, who: str, examples: MultiDataSet) -> MultiDataSet:
        """Return features in canonical form, or refuse them; labels are dropped."""
        masks = examples.features_masks
        return super().__call__(who, MultiDataSet(examples.features, [], masks))

    def check(self, who: str, arrays: Arrays) -> None:
        """Refuse numbers that are not finite, masked or not, and odd masks."""
        self.checks.check_masks(who, arrays)
        features = Arrays(arrays.features, [], [None] * len(arrays.features), [])
        self.checks.check_numbers(who, features, None)
        self.checks.check_lookups(who, features, self.normalizer)
