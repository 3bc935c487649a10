"""The preprocessor that does what several others do, one after the other."""

from typing import Annotated, Any, Literal

from pydantic import Field

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.layer import AnyPreprocessor, PreprocessorConf
from daskdl.nn.preprocessors.preprocessor import Preprocessor


class Composable(PreprocessorConf):
    """Do what several preprocessors do, one after the other.

    Parameters
    ----------
    preprocessors : tuple of preprocessors
        In the order of the forward pass.
    """

    type: Literal["composable"] = "composable"
    preprocessors: Annotated[tuple[AnyPreprocessor, ...], Field(min_length=1)]

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out of the last one."""
        for preprocessor in self.preprocessors:
            input_type = preprocessor.output_type(inside_type(input_type))
        return input_type


class ComposablePreprocessor(Preprocessor[Composable]):
    """Several preprocessors as one."""

    def __init__(
        self, conf: Composable, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        # The table that knows the others has this one in it.
        from daskdl.nn.preprocessors.table import build_preprocessor

        super().__init__(conf, input_type, name, workspace)
        self._parts: list[Preprocessor[Any]] = []
        for index, part in enumerate(conf.preprocessors):
            built = build_preprocessor(part, input_type, f"{name}.{index}", workspace)
            self._parts.append(built)
            input_type = inside_type(built.output_type)

    def forward(self, x: FloatArray, *, batch_size: int) -> FloatArray:
        """Return what comes out of the last one; see :meth:`Preprocessor.forward`."""
        for part in self._parts:
            x = part.forward(x, batch_size=batch_size)
        return x

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient in the first input; see :meth:`Preprocessor.backward`."""
        for part in reversed(self._parts):
            grad_out = part.backward(grad_out)
        return grad_out

    def feed_forward_mask(
        self, mask: FloatArray | None, *, batch_size: int
    ) -> FloatArray | None:
        """Return the last mask; see :meth:`Preprocessor.feed_forward_mask`."""
        for part in self._parts:
            mask = part.feed_forward_mask(mask, batch_size=batch_size)
        return mask
