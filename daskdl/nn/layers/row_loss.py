"""Output layers whose loss sees rows: examples, their time steps, or pixels."""

from dataclasses import dataclass
from typing import ClassVar

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.layer import LayerGroup
from daskdl.nn.conf.losses import AnyLoss
from daskdl.nn.losses.loss import LossFunction
from daskdl.nn.losses.table import loss_function
from daskdl.nn.masks import column_mask
from daskdl.nn.run import Backward, LayerPass, Run


@dataclass
class RowLoss:
    """The loss of rows in one forward pass; see :class:`~daskdl.nn.run.LossPass`.

    Without a mask of the labels, one that arrived with the input counts.

    Attributes
    ----------
    conf : RowLossConf
    run : Run
    x : ndarray of shape (batch, ...)
        What came in.
    preout, output : ndarray of shape (rows, n_out)
        In front of the activation, and behind it.
    back : callable
        Takes the gradient in `preout` to that in `x`.
    features_mask : ndarray or None
        The mask that arrived.
    shape : tuple of int
        Of the output: (batch, ..., n_out).
    activation : ActivationFunction
        Between `preout` and `output`.
    loss : LossFunction
        The loss of a row.
    """

    conf: "RowLossConf"
    run: Run
    x: FloatArray
    preout: FloatArray
    output: FloatArray
    back: Backward
    features_mask: FloatArray | None
    shape: tuple[int, ...]
    activation: ActivationFunction
    loss: LossFunction

    def arrived_mask(self) -> FloatArray | None:
        """Return the mask where labels have none, (batch,) or (batch, time)."""
        mask = self.mask(None)
        return None if mask is None else mask.reshape(self.shape[:-1])

    def score_examples(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the losses, (batch,); see :meth:`LossPass.score_examples`."""
        rows = self.loss.score_examples(
            self.label_rows(labels),
            self.preout,
            self.activation,
            self.mask(mask),
            output=self.output,
        )
        scores: FloatArray = rows.reshape(self.shape[0], -1).sum(axis=1)
        return scores

    def score(self, labels: FloatArray, mask: FloatArray | None = None) -> float:
        """Return the summed loss; see :meth:`LossPass.score`."""
        return self.loss.score(
            self.label_rows(labels),
            self.preout,
            self.activation,
            self.mask(mask),
            output=self.output,
        )

    def backward(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray | None:
        """Compute the gradients; see :meth:`LossPass.backward`."""
        grad_preout = self.loss.gradient(
            self.label_rows(labels),
            self.preout,
            self.activation,
            self.mask(mask),
            output=self.output,
            out=self.run.like("grad_preout", self.output),
        )
        return self.back(grad_preout)

    def output_backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the output (batch, ..., n_out), not of the loss."""
        grad_preout = self.activation.backward(
            grad_out.reshape(self.output.shape),
            self.preout,
            self.output,
            out=self.run.like("grad_preout", self.output),
        )
        if self.features_mask is not None and self.conf.zeroes_masked_rows:
            rows = len(grad_preout)
            grad_preout *= column_mask(self.features_mask, rows, self.run.who)
        return self.back(grad_preout)

    def seen(self) -> FloatArray:
        """Return what callers see of the output; the loss sees it without a mask."""
        mask = self.features_mask
        if mask is None or not self.conf.zeroes_masked_rows:
            return self.output.reshape(self.shape)
        column = column_mask(mask, len(self.output), self.run.who)
        seen: FloatArray = array_namespace(column).multiply(
            self.output, column, out=self.run.like("seen", self.output)
        )
        return seen.reshape(self.shape)

    def label_rows(self, labels: FloatArray) -> FloatArray:
        """Return labels (batch, ..., n) as rows (rows, n), or refuse their shape."""
        n_columns = self.loss.label_columns(self.output.shape[-1])
        expected = (*self.shape[:-1], n_columns)
        if labels.shape != expected:
            raise ShapeError(
                f"{self.run.who}: labels must have shape {expected}, got "
                f"{labels.shape}."
            )
        return labels.reshape(-1, n_columns)

    def mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the labels, or else that which arrived, for the loss.

        The shapes are those of :meth:`RowLossConf.loss_mask`.
        """
        if mask is None and self.conf.reads_features_mask:
            mask = self.features_mask
        return None if mask is None else self.conf.loss_mask(self.run, mask, self.shape)


class RowLossConf(LayerGroup):
    """An activation of rows, and a loss behind it.

    Parameters
    ----------
    loss : loss
        By name or with options.
    """

    # Whether :meth:`preout` gives an array of its own, that may be overwritten.
    owns_preout: ClassVar[bool] = False
    # What is kept of a forward pass.
    kept: ClassVar[type[RowLoss]] = RowLoss

    loss: AnyLoss = "mcxent"

    @property
    def is_output(self) -> bool:
        """True: the layer computes a loss."""
        return True

    @property
    def zeroes_masked_rows(self) -> bool:
        """Whether a mask that arrives with the input makes rows of the output 0."""
        return True

    @property
    def reads_features_mask(self) -> bool:
        """Whether the mask that arrives counts in the loss where labels have none."""
        return True

    def preout(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Return what the activation sees.

        Parameters
        ----------
        run : Run
        x : ndarray of shape (batch, ...)
            Not changed.

        Returns
        -------
        preout : ndarray of shape (rows, n_out)
        backward : callable
            Takes its gradient, and returns that in `x`.
        """
        raise TypeError(f"{type(self).__name__} does not say what its loss sees.")

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute ``activation(preout)``, (batch, ..., n_out), and keep its loss."""
        activation = activation_function(getattr(self, "activation", None), self.quirks)
        loss = loss_function(self.loss, self.quirks)
        preout, back = self.preout(run, x)
        output = preout
        is_read = activation.reads_preout or loss.reads_preout(activation)
        if is_read or not self.owns_preout:
            output = run.like("output", preout)
        output = activation.forward(preout, out=output, rng=run.rng)
        shape = (*x.shape[: len(run.output_type.shape)], output.shape[-1])
        kept = self.kept(
            conf=self,
            run=run,
            x=x,
            preout=preout,
            output=output,
            back=back,
            features_mask=run.mask,
            shape=shape,
            activation=activation,
            loss=loss,
        )
        run.loss = kept
        return kept.seen(), kept.output_backward

    def loss_mask(
        self, run: Run, mask: FloatArray, shape: tuple[int, ...]
    ) -> FloatArray:
        """Return a mask as the loss takes it: of rows, or of single outputs.

        Parameters
        ----------
        run : Run
        mask : ndarray of shape (batch,), (batch, time) or more
            Of the labels, or that which arrived.
        shape : tuple of int
            Of the output: (batch, ..., n_out).

        Returns
        -------
        ndarray of shape (rows,), (rows, 1) or (rows, n_out)
        """
        return mask
