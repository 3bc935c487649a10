"""The long short-term memory layer with peepholes."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.recurrent import GatedConf, RecurrentConf, lstm_pass
from daskdl.nn.run import LayerPass, Run

N_PEEPHOLES = 3


class GravesLSTM(GatedConf, RecurrentConf, WeightOptions, TrainingOptions, LayerConf):
    """Long short-term memory with peepholes: the gates see the cell.

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

    References
    ----------
    Graves, *Supervised Sequence Labelling with Recurrent Neural Networks*, 2012,
    section 4.6. DL4J, ``GravesLSTM``.
    """

    # Some dialects read the state of time steps here, which only the network itself
    # moves on from segment to segment, and not for layers in wrappers.
    forgets_in_wrappers: ClassVar[bool] = True
    can_be_cut: ClassVar[bool] = True

    type: Literal["graves_lstm"] = "graves_lstm"

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (n_in, 4 n_out), RW (n_out, 4 n_out + 3) and b (4 n_out,).

        The last columns of RW are the peepholes of forget, output and input gate.
        """
        return self.lstm_parameters(input_type, n_peepholes=N_PEEPHOLES)

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the output, (batch, time, n_out); see :func:`lstm_pass`."""
        return lstm_pass(self, run, x, masks_gradient=True)
