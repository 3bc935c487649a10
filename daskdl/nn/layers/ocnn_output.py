"""The output layer of a one-class neural network: it learns what is normal."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import TrainedLayerConf, WeightLayerConf, refuse_input
from daskdl.nn.conf.parameters import Parameter, ParameterRole
from daskdl.nn.conf.values import Count, Real, plain
from daskdl.nn.layers.affine import as_rows, from_rows
from daskdl.nn.layers.definition import DefinedLayer
from daskdl.nn.layers.layer import OutputLayer, works_for
from daskdl.nn.layers.one_class_loss import (
    ScoreWindow,
    one_class_gradients,
    one_class_score,
    summed_one_class_score,
)
from daskdl.nn.masks import column_mask

One = Annotated[Count, Field(le=1)]
Share = Annotated[float, BeforeValidator(plain), Field(gt=0, le=1)]


class OCNNOutput(WeightLayerConf):
    """The last layer of a one-class network: one score, high for what is normal.

    Whatever scores less than ``r``, a parameter, is an anomaly. The labels are not
    looked at; there must be some, of shape (batch, 1). Their mask counts, or one that
    arrives with the input.

    Parameters
    ----------
    hidden_size : int
        Units of the hidden layer.
    nu : float in (0, 1]
        About the share of the examples that are taken for anomalies.
    window_size : int
        How many scores are kept, the last ones; ``r`` is set to the percentile ``nu``
        of those of an epoch when the next one begins.
    initial_r_value : float
        What ``r`` begins with.
    configure_r : bool
        Whether ``r`` begins with that, or is drawn like the weights.
    n_out : int
        Always 1.
    """

    type: Literal["ocnn_output"] = "ocnn_output"
    hidden_size: Count
    nu: Share = 0.04
    window_size: Count = 10_000
    initial_r_value: Real = 0.1
    configure_r: bool = True
    n_out: One = 1

    @property
    def is_output(self) -> bool:
        """True: the layer computes a loss."""
        return True

    @property
    def trained(self) -> TrainedLayerConf:
        """The layer itself, perhaps without penalties: the loss has its own."""
        if "one_class_output_ignores_penalties" not in self.quirks:
            return self
        penalties = dict.fromkeys(("l1", "l2", "weight_decay"))
        return self.model_copy(update=penalties)

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of one score; refuse time series."""
        if isinstance(input_type, Recurrent):
            hint = "Put GlobalPooling before it for one score per series."
            raise refuse_input(self, "rows or images", input_type, hint)
        self.inferred_n_in(input_type)
        return FeedForward(size=1)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return w (1, hidden_size), v (n_in, hidden_size) and r (1,)."""
        is_weight = "one_class_loss_of_means" in self.quirks
        role: ParameterRole = "weight" if is_weight else "threshold"
        return (
            Parameter("w", (1, self.hidden_size)),
            Parameter("v", (self.inferred_n_in(input_type), self.hidden_size)),
            Parameter("r", (1,), role, file_shape=()),
        )


@works_for(OCNNOutput)
class OCNNOutputLayer(DefinedLayer[OCNNOutput], OutputLayer[OCNNOutput]):
    """``output = activation(x @ v) @ w``, and a loss.

    The mean loss is ``|w|^2 / 2 + |v|^2 / 2 + mean(max(0, r - output)) / nu - r``.

    The window of scores is not stored with a network: training that goes on from a file
    begins with an empty one, and leaves ``r`` as it is until an epoch has filled it.

    References
    ----------
    Chalapathy, Menon and Chawla, *Anomaly Detection using One-Class Neural Networks*,
    2018, equation 4. Here ``r`` also follows its gradient between epochs.
    """

    masks_output = False
    sets_parameters: ClassVar[bool] = True

    def __init__(
        self, conf: OCNNOutput, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._activation = activation_function(conf.activation, conf.quirks)
        self._window = ScoreWindow(conf.window_size, conf.nu, conf.quirks)
        self._counts_means = "one_class_loss_of_means" in conf.quirks

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw v with fans n_in and hidden_size, and w with 1 and hidden_size."""
        n_in, hidden_size = self.params["v"].shape
        self._draw("w", 1, hidden_size, rng)
        self._draw("v", n_in, hidden_size, rng)
        self._draw("r", 1, 1, rng)
        if self.conf.configure_r:
            self.params["r"].fill(self.conf.initial_r_value)

    def begin_iteration(self, epoch: int) -> None:
        """Take notice of a new epoch, with which `r` changes."""
        self._window.begin_iteration(epoch)
        if self._window.threshold is not None and not self._counts_means:
            self.params["r"].fill(self._window.threshold)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the scores, (batch, 1); see :meth:`Layer.forward`."""
        self._check_input(x)
        self._x_shape, self._features_mask = x.shape, mask
        self._rows = as_rows(self.run, x)
        xp = array_namespace(x)
        shape = (len(x), self.conf.hidden_size)
        self._preout = self._buffer("preout", shape, x.dtype)
        xp.matmul(self._rows, self.params["v"], out=self._preout)
        hidden = self._preout
        if self._activation.reads_preout:
            hidden = self._like("output", hidden)
        self._hidden = self._activation.forward(
            self._preout, out=hidden, rng=rng if training else None
        )
        output: FloatArray = self._buffer("scores", (len(x), 1), x.dtype)
        xp.matmul(self._hidden, self.params["w"].T, out=output)
        self._output = output
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the scores, not of the loss.

        See :meth:`Layer.backward`.
        """
        xp = array_namespace(grad_out)
        self.gradients["r"].fill(0)
        xp.matmul(grad_out.T, self._hidden, out=self.gradients["w"])
        grad_preout = self._like("grad_preout", self._hidden)
        xp.multiply(grad_out, self.params["w"], out=grad_preout)
        self._activation.backward(
            grad_preout, self._preout, self._hidden, out=grad_preout
        )
        xp.matmul(self._rows.T, grad_preout, out=self.gradients["v"])
        if not self.needs_grad_x:
            return None
        grad_rows = self._like("grad_rows", self._rows)
        xp.matmul(grad_preout, self.params["v"].T, out=grad_rows)
        return from_rows(self.run, "grad_x", grad_rows, self._x_shape)

    def score_examples(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Return how far each example is below `r`: more than 0 for anomalies.

        See :meth:`OutputLayer.score_examples` for the shapes. Not the loss of single
        examples, which has the weights in it.
        """
        self._check_labels(labels)
        below: FloatArray = (self.params["r"] - self._output)[:, 0]
        return below

    def score(self, labels: FloatArray, mask: FloatArray | None = None) -> float:
        """Return the summed loss; see :meth:`OutputLayer.score`."""
        self._check_labels(labels)
        w, v, r = (self.params[name] for name in ("w", "v", "r"))
        if self._counts_means:
            # In the first iteration of an epoch it is scored with the r that is set
            # behind the gradients, which are those of the old one.
            threshold = self._window.threshold
            now = float(r[0]) if threshold is None else threshold
            return one_class_score(self._output, w, v, now, nu=self.conf.nu)
        share = self._share(mask)
        return summed_one_class_score(self._output, share, w, v, r, nu=self.conf.nu)

    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray | None:
        """Compute the gradients; see :meth:`OutputLayer.backward_loss`."""
        self._check_labels(labels)
        if self._counts_means:
            return self._backward_means(labels)
        share = self._share(mask)
        below = (self._output < self.params["r"]) * share
        below *= 1 / self.conf.nu
        grad_x = self.backward(-below)
        n = float(share.sum())
        for name in ("w", "v"):
            self.gradients[name] += n * self.params[name]
        self.gradients["r"][...] = below.sum() - n
        self._window.put(self._output[share[:, 0] > 0])
        return grad_x

    def _backward_means(self, labels: FloatArray) -> FloatArray | None:
        """Compute gradients of a mean; in the input those are ones below `r`."""
        xp = array_namespace(labels)
        # Slopes first: so a softmax has none.
        slopes = self._like("slopes", self._hidden)
        ones = self._like("ones", self._hidden)
        ones.fill(1)
        self._activation.backward(ones, self._preout, self._hidden, out=slopes)
        is_below = one_class_gradients(
            self._rows,
            self._hidden,
            slopes,
            self._output,
            self.params,
            nu=self.conf.nu,
            gradients=self.gradients,
        )
        if self._window.threshold is None:
            self._window.put(self._output)
        else:
            self.params["r"].fill(self._window.threshold)
        if not self.needs_grad_x:
            return None
        grad_rows = self._like("grad_rows", self._rows)
        xp.copyto(grad_rows, is_below)
        return from_rows(self.run, "grad_x", grad_rows, self._x_shape)

    def _share(self, mask: FloatArray | None) -> FloatArray:
        """Return how much each example counts, (batch, 1)."""
        mask = self._features_mask if mask is None else mask
        if mask is not None:
            return column_mask(mask, len(self._output), self.who)
        ones = self._like("share", self._output)
        ones.fill(1)
        return ones

    def _check_labels(self, labels: FloatArray) -> None:
        expected = self._output.shape
        if labels.shape != expected:
            raise ShapeError(
                f"{self.who}: labels must have shape {expected}, got {labels.shape}."
            )
