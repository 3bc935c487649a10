"""The layer that looks up a vector at each step of a sequence of numbers."""

from typing import Literal

from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent, SeriesFormat
from daskdl.nn.conf.layer import refuse_input
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.lookup import LookupConf, LookupLayer


class EmbeddingSequence(LookupConf):
    """Look up a row of the weights at each step: its number is the only feature.

    Features are rows of numbers (batch, time), or series of one feature.

    Parameters
    ----------
    n_in : int
        Number of rows; must be given.
    has_bias : bool
        Whether a bias is added.
    infer_input_length : bool
        Whether sequences may have any length.
    input_length : int
        Their length, if it is not inferred.
    output_format : {"NCW", "NWC"}
        Data format of what comes out, should it leave the network.
    """

    type: Literal["embedding_sequence"] = "embedding_sequence"
    infer_input_length: bool = True
    input_length: Count = 1
    output_format: SeriesFormat = "NCW"

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return series of `n_out`; refuse all but sequences of numbers."""
        if isinstance(input_type, FeedForward):
            steps = input_type.size
        elif isinstance(input_type, Recurrent) and input_type.size == 1:
            steps = input_type.time_steps
        else:
            raise refuse_input(self, "rows or series of single numbers", input_type)
        if not self.infer_input_length:
            if steps not in (None, self.input_length):
                raise PathError(
                    f"must be {steps}, the length of what the layer gets, got "
                    f"{self.input_length}.",
                    "input_length",
                )
            steps = self.input_length
        self.inferred_n_in(input_type)
        return Recurrent(
            size=self.n_out, time_steps=steps, data_format=self.output_format
        )


@works_for(EmbeddingSequence)
class EmbeddingSequenceLayer(LookupLayer[EmbeddingSequence]):
    """``activation(W[x] + b)`` at each step."""
