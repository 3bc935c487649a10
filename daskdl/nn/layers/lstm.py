"""The long short-term memory layer."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.recurrent import GatedConf, RecurrentConf, lstm_pass
from daskdl.nn.run import LayerPass, Run


class LSTM(GatedConf, RecurrentConf, WeightOptions, TrainingOptions, LayerConf):
    """Long short-term memory without peepholes.

    Parameters
    ----------
    activation : activation, default "tanh"
        Of block input and cell output; not taken from the network.
    gate_activation : activation, default "sigmoid"
        Of the three gates.
    forget_gate_bias_init : float, default 1.0
        Initial bias of the forget gate; the other biases begin at 0.
    weight_init_recurrent : weight init, optional
        How RW is drawn; None as W.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["lstm"] = "lstm"

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, 4 n_out), RW (n_out, 4 n_out) and b (4 n_out,)."""
        return self.lstm_parameters(input_type)

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the output, (batch, time, n_out); see :func:`lstm_pass`."""
        return lstm_pass(self, run, x)
