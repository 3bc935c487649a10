"""The vertex that is a preprocessor."""

from collections.abc import Sequence
from typing import Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.layer import AnyPreprocessor
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.preprocessors.table import build_preprocessor
from daskdl.nn.vertices.vertex import Vertex


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


class PreprocessorAtVertex(Vertex[PreprocessorVertex]):
    """A preprocessor in a graph."""

    def __init__(
        self,
        conf: PreprocessorVertex,
        input_types: Sequence[InputType],
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_types, name, workspace)
        self._preprocessor = build_preprocessor(
            conf.preprocessor, self.input_types[0], name, workspace
        )

    def forward(
        self,
        inputs: Sequence[FloatArray],
        *,
        masks: Sequence[FloatArray | None],
        network_input: FloatArray | None = None,
        network_mask: FloatArray | None = None,
        batch_size: int = 0,
    ) -> FloatArray:
        """Reshape the input; see :meth:`Vertex.forward`."""
        (x,) = inputs
        self._batch_size = batch_size or len(x)
        return self._preprocessor.forward(x, batch_size=self._batch_size)

    def backward(self, grad_out: FloatArray) -> list[FloatArray]:
        """Reshape the gradient back; see :meth:`Vertex.backward`."""
        return [self._preprocessor.backward(grad_out)]

    def feed_forward_mask(
        self,
        masks: Sequence[FloatArray | None],
        *,
        network_mask: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the mask in the new shape.

        See :meth:`Preprocessor.feed_forward_mask`.
        """
        return self._preprocessor.feed_forward_mask(
            masks[0], batch_size=self._batch_size
        )
