"""What one pass over examples adds up, in this process or on many workers.

A tally travels to where the examples are, counts a network's answers to them, and comes
back to be merged with others. Who makes the pass knows nothing of what is counted.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.data.dataset import DataSet
from daskdl.data.sources.source import SourceOptions
from daskdl.evaluation.evaluable import Evaluable
from daskdl.nn.batches import Batch
from daskdl.nn.fitting.data_kinds import batches_of, is_stored
from daskdl.nn.fitting.preparation import given_options
from daskdl.nn.normalizing import NormalizerChoice

if TYPE_CHECKING:
    from daskdl.nn.network import Network

__all__ = ["ScoreTally", "Tally", "tally_here"]

T = TypeVar("T", bound="Tally")


class Tally(ABC):
    """The base class of tallies. They are picklable, and begin empty."""

    #: Whether examples must have labels.
    needs_labels = True

    @abstractmethod
    def add(self, network: "Network[Any]", batch: Batch) -> None:
        """Count a minibatch.

        Parameters
        ----------
        network : Network
            In inference mode; not changed.
        batch : DataSet or MultiDataSet
            As it is stored: the network applies its normalizer.
        """

    @abstractmethod
    def merge(self: T, other: T) -> None:
        """Add what another one of the same kind has counted."""

    def new_instance(self: T) -> T:
        """Return another one that is empty, as this one still is."""
        return copy.deepcopy(self)


class ScoreTally(Tally):
    """Losses and evaluations, of one forward pass.

    Parameters
    ----------
    evaluations : sequence of evaluations
        Empty ones, which are not changed.
    output : int
        Number of the output that is evaluated.

    Attributes
    ----------
    evaluations : list
        Filled.
    loss_sum : float
        Sum of the losses of all examples, without regularization.
    examples : int
    """

    def __init__(self, evaluations: Sequence[Evaluable] = (), output: int = 0) -> None:
        self.evaluations = [one.new_instance() for one in evaluations]
        self.loss_sum = 0.0
        self.examples = 0
        self._output = output

    def add(self, network: "Network[Any]", batch: Batch) -> None:
        """Count a minibatch."""
        loss, outputs = _loss_and_outputs(network, batch)
        self.loss_sum += loss
        self.examples += len(batch)
        if not self.evaluations:
            return
        number = self._output
        mask = _labels_mask(batch, number)
        if mask is None:
            mask = network.mask_to_count(number)
        labels = network.labels_to_count(batch)[number]
        for evaluation in self.evaluations:
            evaluation.eval(labels, outputs[number], mask)

    def merge(self, other: "ScoreTally") -> None:
        """Add what another one has counted."""
        self.loss_sum += other.loss_sum
        self.examples += other.examples
        for mine, theirs in zip(self.evaluations, other.evaluations, strict=True):
            mine.merge(theirs)


def _loss_and_outputs(
    network: "Network[Any]", batch: Batch
) -> tuple[float, list[NDArray[Any]]]:
    """Return the sum of the losses of a minibatch, and the outputs."""
    if "fmeasure" not in network.output_losses:
        scores, outputs = network.score_and_output(batch)
        return float(scores.sum(dtype=np.float64)), outputs
    # It has no losses of examples, only one of the minibatch.
    loss = network.compute_score(batch) - network.regularization_score()
    masks = batch.features_mask if isinstance(batch, DataSet) else batch.features_masks
    found = network.output(batch.features, features_mask=masks)
    return loss * len(batch), found if isinstance(found, list) else [found]


def _labels_mask(batch: Batch, number: int) -> Any:
    if isinstance(batch, DataSet):
        return batch.labels_mask
    return batch.labels_masks[number] if batch.labels_masks else None


def tally_here(
    network: "Network[Any]",
    data: Any,
    empty: T,
    *,
    batch_size: int | None = None,
    normalizer: NormalizerChoice = "own",
    options: SourceOptions | None = None,
    **source_options: Any,
) -> T:
    """Return a tally of one pass over data in this process.

    Parameters
    ----------
    network : Network
    data, batch_size, normalizer, options, **source_options
        As :meth:`daskdl.nn.network.Network.evaluate` takes them.
    empty : Tally
        Not changed.
    """
    who = f"{type(network).__name__}.evaluate"
    if not empty.needs_labels and (options or source_options or is_stored(data)):
        given = given_options(who, options, source_options)
        options, source_options = replace(given, require_labels=False), {}
    filled = empty.new_instance()
    batches = batches_of(who, network, data, batch_size, options, source_options)
    with network.keeping_threads():
        for batch in batches:
            with network.normalizing(normalizer):
                filled.add(network, batch)
    return filled
