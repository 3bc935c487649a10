"""The wrapper that runs a recurrent layer from both ends of the series."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType, Recurrent, features_of, with_features
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import canonical
from daskdl.nn.layers.entering import series_in
from daskdl.nn.layers.graves_bidirectional_lstm import refuse_carrying
from daskdl.nn.layers.layer import Layer, works_for
from daskdl.nn.layers.stage import Stage
from daskdl.nn.layers.wrapper import WrapperConf, WrapperLayer

_Mode = Literal["concat", "add", "mul", "average"]


class Bidirectional(WrapperConf):
    """Run a recurrent layer onwards and another of the same kind backwards in time.

    Parameters
    ----------
    layer : layer
        What both are: a recurrent layer, or one wrapped in LastTimeStep or MaskZero.
    mode : {"concat", "add", "mul", "average"}
        How their outputs become one; ``concat`` puts that from the first step on first.

    References
    ----------
    Schuster and Paliwal, *Bidirectional Recurrent Neural Networks*, 1997; DL4J,
    ``Bidirectional``.
    """

    type: Literal["bidirectional"] = "bidirectional"
    mode: Annotated[_Mode, BeforeValidator(canonical(_Mode))] = "concat"

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out of the wrapped layer, twice as wide if joined."""
        series_in(self, input_type)
        output_type = self.wrapped_output(input_type)
        if self.mode != "concat":
            return output_type
        return with_features(output_type, 2 * features_of(output_type))

    @property
    def reads_whole_series(self) -> bool:
        """True: one of the two begins with the last step."""
        return True

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return the parameters of both: f and b in front of the names."""
        once = super().parameters(input_type)
        return tuple(
            replace(item, name=prefix + item.name) for prefix in "fb" for item in once
        )

    def file_order(self, input_type: InputType) -> tuple[str, ...]:
        """Return the order of the wrapped layer, twice."""
        once = super().file_order(input_type)
        return tuple(prefix + name for prefix in "fb" for name in once)


@works_for(Bidirectional)
class BidirectionalLayer(WrapperLayer[Bidirectional]):
    """A recurrent layer, and one like it that gets the series from behind.

    The other one gets series, and masks, that are turned around as a whole: padding
    comes first there, where it leaves the state at 0.

    Attributes
    ----------
    inner, inner_backwards : Layer
        The wrapped layer and the one that runs backwards.
    """

    def __init__(
        self,
        conf: Bidirectional,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._stage_backwards = Stage(
            conf.layer, conf.inner_type(input_type), f"{name}.backwards", workspace
        )
        self.inner_backwards: Layer[Any] = self._stage_backwards.layer
        self._is_series = isinstance(self.output_type, Recurrent)

    def walk(self) -> Iterator[Layer[Any]]:
        """Yield the wrapper, and the layers inside it."""
        yield from super().walk()
        yield from self.inner_backwards.walk()

    def bind(
        self, params: dict[str, FloatArray], gradients: dict[str, FloatArray]
    ) -> None:
        """Hand each of the two the views of its parameters; see :meth:`Layer.bind`."""
        super().bind(params, gradients)
        self.inner.bind(_of("f", params), _of("f", gradients))
        self.inner_backwards.bind(_of("b", params), _of("b", gradients))

    def initialize(self, rng: np.random.Generator) -> None:
        """Let both draw their initial values, one after the other."""
        self.inner.initialize(rng)
        self.inner_backwards.initialize(rng)

    def use_mask(self) -> None:
        """Let both use a mask that they only pass on by themselves."""
        self.inner.use_mask()
        self.inner_backwards.use_mask()

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute both outputs and join them; see :meth:`Layer.forward`."""
        self._check_input(x)
        refuse_carrying(self.who, self.carries_state)
        onwards = self._inner_forward(x, training=training, mask=mask, rng=rng)
        turned = self._turned("x turned", x)
        backwards, _ = self._stage_backwards.forward(
            turned,
            training=training,
            mask=None if mask is None else self._turned("mask turned", mask),
            rng=rng,
            batch_size=len(x),
        )
        self._outputs = (onwards, backwards)
        return self._joined(onwards, self._in_time(backwards))

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of both; see :meth:`Layer.backward`."""
        grad_onwards, grad_backwards = self._parted(grad_out)
        grad_x = self._inner_backward(grad_onwards)
        self.inner_backwards.needs_grad_x = self.needs_grad_x
        if self._is_series:
            grad_backwards = self._turned("grad turned", grad_backwards)
        grad_other = self._stage_backwards.backward(grad_backwards)
        if grad_x is None or grad_other is None:
            return None
        total = self._like("grad_x", grad_x)
        array_namespace(grad_x).add(grad_x, grad_other[:, ::-1], out=total)
        return total

    def _joined(self, onwards: FloatArray, backwards: FloatArray) -> FloatArray:
        """Return the output of both: `backwards` is in the order of time again."""
        xp = array_namespace(onwards)
        if self.conf.mode == "concat":
            n = onwards.shape[-1]
            shape = (*onwards.shape[:-1], 2 * n)
            output: FloatArray = self._buffer("output", shape, onwards.dtype)
            output[..., :n] = onwards
            output[..., n:] = backwards
            return output
        output = self._like("output", onwards)
        if self.conf.mode == "mul":
            xp.multiply(onwards, backwards, out=output)
            return output
        xp.add(onwards, backwards, out=output)
        if self.conf.mode == "average":
            output *= 0.5
        return output

    def _parted(self, grad_out: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient in each output; both are in the order of time."""
        xp = array_namespace(grad_out)
        if self.conf.mode == "concat":
            n = grad_out.shape[-1] // 2
            onwards, backwards = grad_out[..., :n], grad_out[..., n:]
            return self._contiguous("grad f", onwards), self._contiguous(
                "grad b", backwards
            )
        if self.conf.mode == "add":
            return grad_out, grad_out
        first = self._like("grad f", grad_out)
        if self.conf.mode == "average":
            xp.multiply(grad_out, 0.5, out=first)
            return first, first
        second = self._like("grad b", grad_out)
        xp.multiply(grad_out, self._in_time(self._outputs[1]), out=first)
        xp.multiply(grad_out, self._outputs[0], out=second)
        return first, second

    def _in_time(self, backwards: FloatArray) -> FloatArray:
        """View the output of the layer that runs backwards in the order of time."""
        return backwards[:, ::-1] if self._is_series else backwards

    def _turned(self, what: str, series: FloatArray) -> FloatArray:
        return self._contiguous(what, series[:, ::-1])

    def _contiguous(self, what: str, array: FloatArray) -> FloatArray:
        """Return a copy that layers can take as rows."""
        copy = self._like(what, array)
        copy[...] = array
        return copy


def _of(prefix: str, arrays: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the arrays of one of the two, by the names that it knows."""
    return {
        name[1:]: array for name, array in arrays.items() if name.startswith(prefix)
    }
