"""Training of single layers on features alone, one after the other."""

from functools import cached_property
from typing import Any, TypeVar

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.random import IterationStream, stream
from daskdl.checks import check_count, some
from daskdl.errors import DataError, OptionError
from daskdl.nn.batches import Batch, Given, as_arrays, check_readable
from daskdl.nn.conf.topology import Node
from daskdl.nn.divergence import check_score, numbers_may_overflow
from daskdl.nn.layers.pretrained import PretrainedLayer
from daskdl.nn.layers.stage import Stage
from daskdl.nn.normalizing import NormalizerChoice
from daskdl.nn.passes import passes_over
from daskdl.nn.structure import Conf, stretches
from daskdl.nn.time_steps import TimeSteps
from daskdl.nn.update_plan import UpdatePlan

P = TypeVar("P", bound="Pretraining[Any]")


class Pretraining(TimeSteps[Conf]):
    """A network whose autoencoders can be trained before the rest.

    The layers in front of one work in inference mode and stay as they are. Updaters of
    pretraining have a state and a count of iterations of their own for each layer,
    which are not saved with the network.
    """

    def pretrain(
        self: P,
        data: Given,
        *,
        epochs: int = 1,
        batch_size: int | None = None,
        normalizer: NormalizerChoice = "own",
    ) -> P:
        """Pretrain all layers that can be, each for all epochs before the next.

        Parameters
        ----------
        data, epochs, batch_size, normalizer
            As for :meth:`pretrain_layer`.

        Returns
        -------
        Network
            Itself.

        Raises
        ------
        OptionError
            If no layer can be pretrained, or there are several and `data` can be read
            once only.
        DataError
            If there is no minibatch at all.
        """
        who = f"{type(self).__name__}.pretrain"
        names = self._pretrainable()
        if not names:
            raise OptionError(
                f"{who}: the network must have a layer that can be pretrained, got "
                "none. These are AutoEncoder and VariationalAutoencoder."
            )
        check_readable(who, data, len(names) * epochs)
        for name in names:
            self.pretrain_layer(
                name,
                data,
                epochs=epochs,
                batch_size=batch_size,
                normalizer=normalizer,
            )
        return self

    def pretrain_layer(
        self: P,
        layer: int | str,
        data: Given,
        *,
        epochs: int = 1,
        batch_size: int | None = None,
        normalizer: NormalizerChoice = "own",
    ) -> P:
        """Train one layer on what reaches it of the features.

        Parameters
        ----------
        layer : int or str
            Index in a sequence, or name.
        data : DataSet, MultiDataSet, array of features, or iterable of data sets
            Each is one minibatch, unless `batch_size` is given. Labels and masks are
            not looked at.
        epochs : int
            Passes over the data; an iterator lasts for one only.
        batch_size : int, optional
            Cut each object into minibatches of this size; the last may be short.
        normalizer : Normalizer, None or "own"
            None for data that are normalized already.

        Returns
        -------
        Network
            Itself, trained; :attr:`score` is that of the last minibatch.

        Raises
        ------
        OptionError
            If there is no such layer, it cannot be pretrained, or `data` can be read
            once only and `epochs` is more than 1.
        DataError
            If there is no minibatch at all, or a number that is not finite.
        DivergedError
            When a score is no number.
        """
        who = f"{type(self).__name__}.pretrain_layer"
        check_count(who, "epochs", epochs)
        check_readable(who, data, epochs)
        node, stage = self._found(who, layer)
        run = self._run_of(node)
        batches = passes_over(who, data, batch_size, self._look_at_features)
        for _ in range(epochs):
            for batch in batches():
                with self._border.using(normalizer), numbers_may_overflow():
                    self._pretrain_minibatch(node, stage, run, batch)
            run.epoch += 1
        return self

    def _look_at_features(self, who: str, batch: Batch) -> None:
        given = as_arrays(who, batch)
        self._border.admission.check_masks(who, given)
        arrays = self._border.unlabelled(given.features, numbers=False)
        self._border.admission.check_numbers(who, arrays, None)

    def _pretrain_minibatch(
        self, node: Node, stage: Stage, run: "_Run", batch: Batch
    ) -> None:
        who = type(self).__name__
        arrays = self._border.unlabelled(as_arrays(who, batch).features, numbers=False)
        if not arrays.num_examples:
            raise DataError(f"{who}: a minibatch must hold an example, got none.")
        entered, masks = self._border.features(arrays)
        self._forward(entered, masks, training=False, rng=None)
        numbers = stream(self.conf.seed, "pretraining", node.key, run.iteration)
        rng = IterationStream(numbers, run.iteration, run.epoch)
        n_examples = arrays.num_examples
        loss = stage.pretrain(rng=rng, batch_size=n_examples)
        if self.conf.mini_batch:
            run.plan.average(self._gradients, n_examples)
            loss /= n_examples
        now = {"iteration": run.iteration, "epoch": run.epoch}
        self.score = loss + run.plan.regularization_score(self._params, **now)
        check_score(who, self.score, run.iteration)
        run.plan.update(
            self._gradients,
            self._params,
            run.updater_state,
            workspace=self._workspace,
            **now,
        )
        for slot in run.slots:
            part = slice(slot.offset, slot.stop)
            self._params[part] -= self._gradients[part]
        run.iteration += 1
        run.plan.constrain(self._params)

    @cached_property
    def _pretraining(self) -> "dict[str, _Run]":
        """What pretraining of the layers has come to, by their keys."""
        return {}

    def _run_of(self, node: Node) -> "_Run":
        if node.key not in self._pretraining:
            plan = UpdatePlan(
                self.layout, stretches(self.layout, [node]), pretraining=True
            )
            self._pretraining[node.key] = _Run(plan, self, node)
        return self._pretraining[node.key]

    def _pretrainable(self) -> list[str]:
        return [
            node.name
            for node, part in self._parts
            if isinstance(part, Stage) and isinstance(part.layer, PretrainedLayer)
        ]

    def _found(self, who: str, layer: int | str) -> tuple[Node, Stage]:
        names = self._pretrainable()
        for index, (node, part) in enumerate(self._parts):
            if layer in (node.name, index) and isinstance(part, Stage):
                if node.name in names:
                    return node, part
                break
        raise OptionError(
            f"{who}: layer must be one that can be pretrained "
            f"({some(names) or 'there is none'}), got {layer!r}."
        )


class _Run:
    """What pretraining of a layer has come to: updater state and counts."""

    def __init__(self, plan: UpdatePlan, network: Pretraining[Any], node: Node) -> None:
        self.plan = plan
        xp = array_namespace(network.params)
        self.updater_state: FloatArray = xp.zeros(plan.state_size, network.dtype)
        self.slots = [
            network.layout[f"{node.key}_{item.name}"] for item in node.parameters
        ]
        self.iteration = 0
        self.epoch = 0
        plan.initialize_state(self.updater_state)
