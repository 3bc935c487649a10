"""The preprocessor that applies several others, one after the other."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.preprocessor import AnyPreprocessor, PreprocessorConf
from daskdl.nn.preprocessors.preprocessor import check_input
from daskdl.nn.run import Reshaped, Run


class Composable(PreprocessorConf):
    """Apply several preprocessors, one after the other.

    Parameters
    ----------
    preprocessors : tuple of preprocessors
        In the order of the forward pass.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["composable"] = "composable"
    preprocessors: Annotated[tuple[AnyPreprocessor, ...], Field(min_length=1)]

    def output_type(self, input_type: InputType) -> InputType:
        """Return the output type of the last preprocessor."""
        for preprocessor in self.preprocessors:
            input_type = preprocessor.output_type(inside_type(input_type))
        return input_type

    def forward(self, run: Run, x: FloatArray) -> Reshaped:
        """Return the output of the last one for `x`, of any shape the first takes."""
        backs = []
        for part, its_run in self._parts(run):
            check_input(its_run, x)
            x, back = part.forward(its_run, x)
            backs.append(back)

        def backward(grad_out: FloatArray) -> FloatArray:
            for back in reversed(backs):
                grad_out = back(grad_out)
            return grad_out

        return x, backward

    def feed_forward_mask(self, run: Run, mask: FloatArray) -> FloatArray | None:
        """Return the mask of the last one, for one (rows, time) or (rows, 1)."""
        for part, its_run in self._parts(run):
            kept = part.feed_forward_mask(its_run, mask)
            if kept is None:
                return None
            mask = kept
        return mask

    def _parts(self, run: Run) -> Iterator[tuple[PreprocessorConf, Run]]:
        """Yield the preprocessors, each with a run of its own."""
        arriving = _arriving(self.preprocessors, run.input_type)
        for index, part in enumerate(self.preprocessors):
            name = f"{run.name}.{index}"
            who = f"{type(part).__name__} {name!r}"
            yield part, replace(run, input_type=arriving[index], who=who, name=name)


# Each pass asks; types are values that take a while to make.
@lru_cache(maxsize=64)
def _arriving(
    parts: tuple[PreprocessorConf, ...], input_type: InputType
) -> list[InputType]:
    """Return the input types of several preprocessors in a row."""
    arriving = [input_type]
    for part in parts:
        arriving.append(inside_type(part.output_type(arriving[-1])))
    return arriving
