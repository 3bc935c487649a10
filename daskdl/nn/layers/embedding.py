"""The layer that looks up one vector an example."""

from typing import Literal

from daskdl.nn.conf.input_type import FeedForward, InputType
from daskdl.nn.conf.layer import refuse_input
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.lookup import LookupConf, LookupLayer


class Embedding(LookupConf):
    """Look up a row of the weights: the feature of an example is its number.

    That is a dense layer on one-hot rows, without their product. Features have shape
    (batch, 1).

    Parameters
    ----------
    n_in : int
        Number of rows; must be given.
    has_bias : bool
        Whether a bias is added.
    """

    type: Literal["embedding"] = "embedding"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of `n_out`; refuse all but one number an example."""
        if not isinstance(input_type, FeedForward) or input_type.size not in (1, None):
            hint = "Use EmbeddingSequence for several of them."
            raise refuse_input(self, "one number an example", input_type, hint)
        self.inferred_n_in(input_type)
        return FeedForward(size=self.n_out)


@works_for(Embedding)
class EmbeddingLayer(LookupLayer[Embedding]):
    """``activation(W[x] + b)`` of one number an example."""
