"""The vertex that is a preprocessor."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.preprocessor import AnyPreprocessor
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.preprocessors.preprocessor import check_input, run_of
from daskdl.nn.run import Arrays, Masks, Run, VertexPass, VertexRun


class PreprocessorVertex(VertexConf):
    """Apply a preprocessor to the only input.

    Parameters
    ----------
    preprocessor : preprocessor
        How.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["preprocessor"] = "preprocessor"
    preprocessor: AnyPreprocessor

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the output type of the preprocessor."""
        arriving = inside_type(self.only(input_types))
        return inside_type(self.preprocessor.output_type(arriving))

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Reshape the input, (rows, ...), and its gradient back."""
        (x,) = inputs
        inner = self._inner(run)
        check_input(inner, x)
        output, backward = self.preprocessor.forward(inner, x)
        return output, lambda grad_out: [backward(grad_out)]

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> FloatArray | None:
        """Return the mask in the new shape.

        See :meth:`PreprocessorConf.feed_forward_mask`.
        """
        (mask,) = masks
        if mask is None:
            return None
        return self.preprocessor.feed_forward_mask(self._inner(run), mask)

    def _inner(self, run: VertexRun) -> Run:
        (input_type,) = run.input_types
        inner = run_of(self.preprocessor, input_type, run.name, run.workspace)
        inner.batch_size = run.batch_size
        return inner
