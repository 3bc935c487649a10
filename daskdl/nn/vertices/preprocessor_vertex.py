"""The vertex that is a preprocessor."""

from collections.abc import Sequence
from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.layer import AnyPreprocessor
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.preprocessors.preprocessor import Preprocessor
from daskdl.nn.preprocessors.table import build_preprocessor
from daskdl.nn.run import Arrays, Masks, VertexPass, VertexRun


class PreprocessorVertex(VertexConf):
    """Reshape what arrives.

    Parameters
    ----------
    preprocessor : preprocessor
        How.
    """

    type: Literal["preprocessor"] = "preprocessor"
    preprocessor: AnyPreprocessor

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return what comes out of the preprocessor."""
        arriving = inside_type(self.only(input_types))
        return inside_type(self.preprocessor.output_type(arriving))

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Reshape the input, (rows, ...), and its gradient back."""
        (x,) = inputs
        worker = self._worker(run)
        output = worker.forward(x, batch_size=run.batch_size)
        return output, lambda grad_out: [worker.backward(grad_out)]

    def feed_forward_mask(self, run: VertexRun, masks: Masks) -> FloatArray | None:
        """Return the mask in the new shape.

        See :meth:`Preprocessor.feed_forward_mask`.
        """
        return self._worker(run).feed_forward_mask(masks[0], batch_size=run.batch_size)

    def _worker(self, run: VertexRun) -> Preprocessor:
        (input_type,) = run.input_types
        return build_preprocessor(
            self.preprocessor, input_type, run.name, run.workspace
        )
