"""What pretraining can restore: the rules of losses and distributions for its input.

What is outside the range of a distribution has no probability: the score falls for
ever, or is NaN, which looks like a learning rate that is too high.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.reconstructions import (
    BernoulliReconstructionDistribution,
    CompositeReconstructionDistribution,
    ExponentialReconstructionDistribution,
    LossFunctionWrapper,
    Reconstruction,
)
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.layers.auto_encoder import AutoEncoder
from daskdl.nn.layers.variational_autoencoder import VariationalAutoencoder
from daskdl.nn.losses.label_rules import LabelRule, label_rule

_ADVICE = "Bring it there with a normalizer, or choose another"
_ALL = slice(None)


class ReconstructionRule(NamedTuple):
    """A rule for some columns of what a layer restores.

    Attributes
    ----------
    columns : slice
        Of the features.
    whose : str
        The loss or distribution, for messages.
    rule : LabelRule
    """

    columns: slice
    whose: str
    rule: LabelRule

    def check(self, who: str, x: FloatArray) -> None:
        """Refuse numbers that cannot be restored.

        Parameters
        ----------
        who : str
            The layer, for messages.
        x : ndarray of shape (batch, ..., n_in)
            What it is to restore.

        Raises
        ------
        DataError
            With the first such number and its row.
        """
        what = f"{who}: what it restores by {self.whose}"
        self.rule.check(what, to_host(x[..., self.columns]))


def reconstruction_rules(conf: LayerConf | VertexConf) -> list[ReconstructionRule]:
    """Return the rules for what pretraining of a layer restores; none if any will do.

    Parameters
    ----------
    conf : layer configuration
        With nothing left open.
    """
    if isinstance(conf, VariationalAutoencoder):
        return list(_of_distribution(conf.reconstruction_distribution, _ALL))
    # With that quirk its steps are the same whatever the loss is.
    if isinstance(conf, AutoEncoder) and "auto_encoder_ascends" not in conf.quirks:
        return list(_of_loss(conf.loss, _ALL))
    return []


def _of_distribution(
    conf: Reconstruction, columns: slice
) -> Iterator[ReconstructionRule]:
    if isinstance(conf, CompositeReconstructionDistribution):
        start = 0
        for part, size in zip(conf.distributions, conf.sizes, strict=True):
            yield from _of_distribution(part, slice(start, start + size))
            start += size
    elif isinstance(conf, LossFunctionWrapper):
        yield from _of_loss(conf.loss, columns)
    elif isinstance(conf, BernoulliReconstructionDistribution):
        # The cross entropy is what minus the logarithm of its probability is called.
        yield from _of_loss("xent", columns, f"distribution {conf.type!r}")
    elif isinstance(conf, ExponentialReconstructionDistribution):
        # Nothing negative, as of the numbers of events.
        yield from _of_loss("poisson", columns, f"distribution {conf.type!r}")


def _of_loss(
    loss: Any, columns: slice, whose: str = ""
) -> Iterator[ReconstructionRule]:
    name = getattr(loss, "type", loss)
    rule = label_rule(name, None)
    if rule is not None:
        whose = whose or f"loss {name!r}"
        advice = f"{_ADVICE} {whose.partition(' ')[0]}."
        named = replace(rule, loss="", advice=advice)
        yield ReconstructionRule(columns, f"the {whose}", named)
