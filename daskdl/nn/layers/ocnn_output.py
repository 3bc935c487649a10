"""The output layer of a one-class neural network: it learns what is normal."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Gt, Le
from pydantic import BeforeValidator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter, ParameterRole
from daskdl.nn.conf.values import Count, Real, plain
from daskdl.nn.layers.affine import as_rows, from_rows
from daskdl.nn.layers.initial_params import draw_weight
from daskdl.nn.layers.input_kinds import refuse_input
from daskdl.nn.layers.one_class_loss import (
    ScoreWindow,
    one_class_gradients,
    one_class_score,
    summed_one_class_score,
)
from daskdl.nn.layers.row_activation import apply_activation
from daskdl.nn.masks import column_mask
from daskdl.nn.run import LayerPass, Run

One = Annotated[Count, Le(1)]
Share = Annotated[float, Gt(0), Le(1), BeforeValidator(plain)]


class OCNNOutput(WeightOptions, TrainingOptions, LayerConf):
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

    sets_parameters: ClassVar[bool] = True

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
    def trained(self) -> TrainingOptions:
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

    def initialize(self, run: Run, rng: np.random.Generator) -> None:
        """Set r; v was drawn with fans n_in and hidden_size, w with 1 and hidden_size.

        Where `configure_r` is False, r is drawn like them.
        """
        if self.configure_r:
            run.params["r"].fill(self.initial_r_value)
            return
        threshold = self.parameters(run.input_type)[-1]
        if threshold.role != "weight":
            draw_weight(self, run, threshold, rng)

    def begin_iteration(self, run: Run, epoch: int) -> None:
        """Take notice of a new epoch, with which `r` changes."""
        window = self.window(run)
        window.begin_iteration(epoch)
        if window.threshold is not None and not self.counts_means:
            run.params["r"].fill(window.threshold)

    def window(self, run: Run) -> ScoreWindow:
        """Return the scores that `r` follows from.

        They are not stored with a network: training that goes on from a file begins
        with none, and leaves ``r`` as it is until an epoch has filled the window.
        """
        if "window" not in run.memory:
            run.memory["window"] = ScoreWindow(self.window_size, self.nu, self.quirks)
        window: ScoreWindow = run.memory["window"]
        return window

    @property
    def counts_means(self) -> bool:
        """Whether the loss is one of means, and its gradients are not its own."""
        return "one_class_loss_of_means" in self.quirks

    @property
    def masks_output(self) -> bool:
        """False: a score is one of its example, kept or not."""
        return False

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the scores, (batch, 1): ``activation(x @ v) @ w``."""
        xp, rows = array_namespace(x), as_rows(run, x)
        function = activation_function(self.activation, self.quirks)
        preout = run.buffer("preout", (len(x), self.hidden_size), x.dtype)
        xp.matmul(rows, run.params["v"], out=preout)
        hidden = apply_activation(run, function, preout)
        scores = run.buffer("scores", (len(x), 1), x.dtype)
        xp.matmul(hidden, run.params["w"].T, out=scores)
        loss = OneClassLoss(
            self, run, function, rows, preout, hidden, scores, run.mask, x.shape
        )
        run.loss = loss
        return scores, loss.output_backward


@dataclass
class OneClassLoss:
    """The loss of one forward pass; see :class:`~daskdl.nn.run.LossPass`.

    The mean loss is ``|w|^2 / 2 + |v|^2 / 2 + mean(max(0, r - scores)) / nu - r``.

    Attributes
    ----------
    conf : OCNNOutput
    run : Run
    function : ActivationFunction
    rows : ndarray of shape (batch, n_in)
        What came in.
    preout, hidden : ndarray of shape (batch, hidden_size)
        In front of the activation, and behind it.
    scores : ndarray of shape (batch, 1)
        What came out.
    features_mask : ndarray of shape (batch, 1), or None
        The mask that arrived.
    shape : tuple of int
        Of what came in.

    References
    ----------
    Chalapathy, Menon and Chawla, *Anomaly Detection using One-Class Neural Networks*,
    2018, equation 4. Here ``r`` also follows its gradient between epochs.
    """

    conf: OCNNOutput
    run: Run
    function: ActivationFunction
    rows: FloatArray
    preout: FloatArray
    hidden: FloatArray
    scores: FloatArray
    features_mask: FloatArray | None
    shape: tuple[int, ...]

    def arrived_mask(self) -> None:
        """Return None: evaluations count all scores."""

    def output_backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the scores (batch, 1), not of the loss."""
        xp, run = array_namespace(grad_out), self.run
        run.gradients["r"].fill(0)
        xp.matmul(grad_out.T, self.hidden, out=run.gradients["w"])
        grad_preout = run.like("grad_preout", self.hidden)
        xp.multiply(grad_out, run.params["w"], out=grad_preout)
        self.function.backward(grad_preout, self.preout, self.hidden, out=grad_preout)
        xp.matmul(self.rows.T, grad_preout, out=run.gradients["v"])
        if not run.needs_grad_x:
            return None
        grad_rows = run.like("grad_rows", self.rows)
        xp.matmul(grad_preout, run.params["v"].T, out=grad_rows)
        return from_rows(run, "grad_x", grad_rows, self.shape)

    def score_examples(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Return how far each example is below `r`, (batch,): above 0 for anomalies.

        Not the loss of single examples, which has the weights in it.
        """
        self._check_labels(labels)
        below: FloatArray = (self.run.params["r"] - self.scores)[:, 0]
        return below

    def score(self, labels: FloatArray, mask: FloatArray | None = None) -> float:
        """Return the summed loss; see :meth:`LossPass.score`."""
        self._check_labels(labels)
        w, v, r = (self.run.params[name] for name in ("w", "v", "r"))
        if self.conf.counts_means:
            # In the first iteration of an epoch it is scored with the r that is set
            # behind the gradients, which are those of the old one.
            threshold = self.conf.window(self.run).threshold
            now = float(r[0]) if threshold is None else threshold
            return one_class_score(self.scores, w, v, now, nu=self.conf.nu)
        share = self._share(mask)
        return summed_one_class_score(self.scores, share, w, v, r, nu=self.conf.nu)

    def backward(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray | None:
        """Compute the gradients; see :meth:`LossPass.backward`."""
        self._check_labels(labels)
        if self.conf.counts_means:
            return self._backward_means(labels)
        params, gradients = self.run.params, self.run.gradients
        share = self._share(mask)
        below = (self.scores < params["r"]) * share
        below *= 1 / self.conf.nu
        grad_x = self.output_backward(-below)
        n = float(share.sum())
        for name in ("w", "v"):
            gradients[name] += n * params[name]
        gradients["r"][...] = below.sum() - n
        self.conf.window(self.run).put(self.scores[share[:, 0] > 0])
        return grad_x

    def _backward_means(self, labels: FloatArray) -> FloatArray | None:
        """Compute gradients of a mean; in the input those are ones below `r`."""
        run = self.run
        # Slopes first: so a softmax has none.
        slopes, ones = run.like("slopes", self.hidden), run.like("ones", self.hidden)
        ones.fill(1)
        self.function.backward(ones, self.preout, self.hidden, out=slopes)
        is_below = one_class_gradients(
            self.rows,
            self.hidden,
            slopes,
            self.scores,
            run.params,
            nu=self.conf.nu,
            gradients=run.gradients,
        )
        window = self.conf.window(run)
        if window.threshold is None:
            window.put(self.scores)
        else:
            run.params["r"].fill(window.threshold)
        if not run.needs_grad_x:
            return None
        grad_rows = run.like("grad_rows", self.rows)
        array_namespace(labels).copyto(grad_rows, is_below)
        return from_rows(run, "grad_x", grad_rows, self.shape)

    def _share(self, mask: FloatArray | None) -> FloatArray:
        """Return how much each example counts, (batch, 1)."""
        mask = self.features_mask if mask is None else mask
        if mask is not None:
            return column_mask(mask, len(self.scores), self.run.who)
        ones = self.run.like("share", self.scores)
        ones.fill(1)
        return ones

    def _check_labels(self, labels: FloatArray) -> None:
        expected = self.scores.shape
        if labels.shape != expected:
            raise ShapeError(
                f"{self.run.who}: labels must have shape {expected}, got "
                f"{labels.shape}."
            )
