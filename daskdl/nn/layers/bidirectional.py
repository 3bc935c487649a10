"""The wrapper that runs a recurrent layer from both ends of the series."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.input_type import InputType, Recurrent, features_of, with_features
from daskdl.nn.conf.layer import Inside, LayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import AnySpelling
from daskdl.nn.layers.graves_bidirectional_lstm import refuse_carrying
from daskdl.nn.layers.input_kinds import series_in
from daskdl.nn.layers.wrapper import WrapperConf, through
from daskdl.nn.run import LayerPass, Run

_Mode = Literal["concat", "add", "mul", "average"]


class Bidirectional(WrapperConf, LayerConf):
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

    can_be_cut: ClassVar[bool] = True

    type: Literal["bidirectional"] = "bidirectional"
    mode: Annotated[_Mode, AnySpelling()] = "concat"

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

    def layers_inside(self, input_type: InputType) -> tuple[Inside, ...]:
        """Return the layer that runs onwards, and the one that runs backwards."""
        arriving = self.inner_type(input_type)
        return (
            Inside("layer", self.layer, arriving, "f"),
            Inside("backwards", self.layer, arriving, "b"),
        )

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute both outputs and join them: (batch, time, n), or (batch, n).

        The second layer gets series (batch, time, n_in), and masks, that are turned
        around as a whole: padding comes first there, where it leaves the state at 0.
        """
        refuse_carrying(run.who, run.carries_state)
        in_time = _in_time if isinstance(run.output_type, Recurrent) else _as_it_is
        turned = contiguous(run, "x turned", x[:, ::-1])
        mask = run.mask
        if mask is not None:
            mask = contiguous(run, "mask turned", mask[:, ::-1])
        onwards, back = through(run, x)
        backwards, back_turned = through(run, turned, inner=run.inner[1], mask=mask)
        backwards = in_time(backwards)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grads = self._parted(run, grad_out, onwards, backwards)
            grad_x = back(grads[0])
            grad_turned = in_time(grads[1])
            if grad_turned is not grads[1]:
                grad_turned = contiguous(run, "grad turned", grad_turned)
            grad_other = back_turned(grad_turned)
            if grad_x is None or grad_other is None:
                return None
            total = run.lent_like("grad_x", grad_x)
            array_namespace(grad_x).add(grad_x, grad_other[:, ::-1], out=total)
            return total

        return self._joined(run, onwards, backwards), backward

    def _joined(
        self, run: Run, onwards: FloatArray, backwards: FloatArray
    ) -> FloatArray:
        """Return the output of both: `backwards` is in the order of time again."""
        xp = array_namespace(onwards)
        if self.mode == "concat":
            n = onwards.shape[-1]
            output = run.lent("output", (*onwards.shape[:-1], 2 * n), onwards.dtype)
            output[..., :n] = onwards
            output[..., n:] = backwards
            return output
        output = run.lent_like("output", onwards)
        if self.mode == "mul":
            xp.multiply(onwards, backwards, out=output)
            return output
        xp.add(onwards, backwards, out=output)
        if self.mode == "average":
            output *= 0.5
        return output

    def _parted(
        self,
        run: Run,
        grad_out: FloatArray,
        onwards: FloatArray,
        backwards: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the gradient in each output; both are in the order of time."""
        xp = array_namespace(grad_out)
        if self.mode == "concat":
            n = grad_out.shape[-1] // 2
            return (
                contiguous(run, "grad f", grad_out[..., :n]),
                contiguous(run, "grad b", grad_out[..., n:]),
            )
        if self.mode == "add":
            return grad_out, grad_out
        first = run.like("grad f", grad_out)
        if self.mode == "average":
            xp.multiply(grad_out, 0.5, out=first)
            return first, first
        second = run.like("grad b", grad_out)
        xp.multiply(grad_out, backwards, out=first)
        xp.multiply(grad_out, onwards, out=second)
        return first, second


def contiguous(run: Run, what: str, array: FloatArray) -> FloatArray:
    """Return a copy that layers can take as rows, of the shape of `array`."""
    copy = run.lent_like(what, array)
    copy[...] = array
    return copy


def _in_time(series: FloatArray) -> FloatArray:
    """View what runs backwards in the order of time."""
    return series[:, ::-1]


def _as_it_is(rows: FloatArray) -> FloatArray:
    return rows
