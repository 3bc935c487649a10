"""The layer of two long short-term memories with peepholes, one from each end."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.graves_lstm import N_PEEPHOLES
from daskdl.nn.layers.recurrent import GatedConf, Lstm, RecurrentConf
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import LayerPass, Run


class GravesBidirectionalLSTM(
    GatedConf, RecurrentConf, WeightOptions, TrainingOptions, LayerConf
):
    """Two LSTMs with peepholes, from the first step and from the last; their sum.

    Parameters
    ----------
    activation : activation, default "tanh"
        Of block input and cell output; not taken from the network.
    gate_activation : activation, default "sigmoid"
        Of the three gates.
    forget_gate_bias_init : float, default 1.0
        Initial bias of the forget gate; the other biases begin at 0.
    weight_init_recurrent : weight init, optional
        How RWF and RWB are drawn; None as the others.
    """

    takes_network_dropout: ClassVar[bool] = False
    ignores_weight_noise: ClassVar[bool] = True
    can_be_cut: ClassVar[bool] = True

    type: Literal["graves_bidirectional_lstm"] = "graves_bidirectional_lstm"

    @property
    def reads_whole_series(self) -> bool:
        """True: one of the two begins with the last step."""
        return True

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return WF, RWF, bF, WB, RWB and bB: each like those of GravesLSTM."""
        return (
            *self.lstm_parameters(input_type, "F", n_peepholes=N_PEEPHOLES),
            *self.lstm_parameters(input_type, "B", n_peepholes=N_PEEPHOLES),
        )

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the sum of both, (batch, time, n_out), `x` (batch, time, n_in).

        Steps that the mask drops come out as 0, and leave the states as they are.
        """
        refuse_carrying(run.who, run.carries_state)
        mask, mask_backwards = run.mask, _reversed(run.mask)
        check_step_mask(mask, x, run.who)
        output = run.buffer("output", (*x.shape[:2], self.n_out), x.dtype)
        other = run.like("output backwards", output)
        onwards = Lstm(self, run, "F", masks_gradient=True)
        backwards = Lstm(self, run, "B", masks_gradient=True)
        onwards.forward(x, out=output, mask=mask)
        backwards.forward(x[:, ::-1], out=other[:, ::-1], mask=mask_backwards)
        output += other

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_x = grad_other = grad_turned = None
            if run.needs_grad_x:
                grad_x = run.buffer("grad_x", x.shape, grad_out.dtype)
                grad_other = run.like("grad_x backwards", grad_x)
                grad_turned = grad_other[:, ::-1]
            onwards.backward(grad_out, grad_x=grad_x, mask=mask)
            backwards.backward(
                grad_out[:, ::-1], grad_x=grad_turned, mask=mask_backwards
            )
            if grad_x is not None and grad_other is not None:
                array_namespace(grad_x).add(grad_x, grad_other, out=grad_x)
            return grad_x

        return output, backward


def refuse_carrying(who: str, carries_state: bool) -> None:
    """Refuse stretches of series: the way back begins with the last step of all.

    Raises
    ------
    OptionError
        If state is to be carried over.
    """
    if carries_state:
        raise OptionError(
            f"{who}: must get whole series because it reads them from both ends, got a "
            "stretch of them. Use backprop_type 'standard', and output() in place of "
            "rnn_time_step()."
        )


def _reversed(mask: FloatArray | None) -> FloatArray | None:
    return None if mask is None else mask[:, ::-1]
