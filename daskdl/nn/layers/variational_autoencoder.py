"""The layer that can first learn a distribution of hidden causes of its input."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from daskdl.arrays.namespace import FloatArray, array_namespace, to_device
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.activations import AnyActivation, draws_random_numbers
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType
from daskdl.nn.conf.layer import WeightLayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.reconstructions import (
    AnyReconstruction,
    GaussianReconstructionDistribution,
)
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.dense_part import DensePart
from daskdl.nn.layers.entering import rows_in
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.pretrained import PretrainedLayer
from daskdl.nn.reconstructions import reconstruction

_Sizes = Annotated[tuple[Count, ...], Field(min_length=1)]


class VariationalAutoencoder(WeightLayerConf):
    """A chain of dense layers that can be pretrained as a variational autoencoder.

    As a layer it gives the mean of the hidden causes, without any sampling.

    Parameters
    ----------
    n_out : int
        Number of hidden causes.
    encoder_layer_sizes, decoder_layer_sizes : tuple of int
        Sizes of the dense layers in front of the hidden causes and behind them.
    activation : activation, optional
        Of these dense layers.
    pzx_activation : activation
        Of mean and logarithm of the variance of the hidden causes.
    reconstruction_distribution : reconstruction distribution
        What the decoder's output says of the input.
    num_samples : int
        How often hidden causes are drawn for an example in an iteration.

    References
    ----------
    Kingma and Welling, *Auto-Encoding Variational Bayes*, 2013, appendix B.
    """

    takes_network_dropout: ClassVar[bool] = False

    type: Literal["variational_autoencoder"] = "variational_autoencoder"
    encoder_layer_sizes: _Sizes = (100,)
    decoder_layer_sizes: _Sizes = (100,)
    pzx_activation: AnyActivation = "identity"
    reconstruction_distribution: AnyReconstruction = GaussianReconstructionDistribution(
        activation="tanh"
    )
    num_samples: Count = 1

    @property
    def draws_random_numbers(self) -> bool:
        """True if training needs random numbers."""
        return super().draws_random_numbers or draws_random_numbers(self.pzx_activation)

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of `n_out`; refuse all but rows."""
        self._n_reconstructed(rows_in(self, input_type))
        return FeedForward(size=self.n_out)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W and b of all parts: encoder, hidden causes, decoder, output."""
        return tuple(
            parameter
            for name, n_in, n_out in self.parts(input_type)
            for parameter in _dense(name, n_in, n_out)
        )

    def parts(self, input_type: InputType) -> Iterator[tuple[str, int, int]]:
        """Yield name, inputs and outputs of each dense part, in the order of files."""
        n_in = self.inferred_n_in(input_type)
        for i, n_out in enumerate(self.encoder_layer_sizes):
            yield f"e{i}", n_in, n_out
            n_in = n_out
        yield "pZXMean", n_in, self.n_out
        yield "pZXLogStd2", n_in, self.n_out
        n_in = self.n_out
        for i, n_out in enumerate(self.decoder_layer_sizes):
            yield f"d{i}", n_in, n_out
            n_in = n_out
        yield "pXZ", n_in, self._n_reconstructed(input_type)

    def _n_reconstructed(self, input_type: InputType) -> int:
        try:
            return self.reconstruction_distribution.n_parameters(
                self.inferred_n_in(input_type)
            )
        except PathError as error:
            if error.path[:1] == ("n_in",):
                raise
            raise error.below("reconstruction_distribution") from None


def _dense(name: str, n_in: int, n_out: int) -> tuple[Parameter, Parameter]:
    is_pretraining = _is_pretraining(name)
    return (
        Parameter(f"{name}W", (n_in, n_out), is_pretraining=is_pretraining),
        Parameter(f"{name}b", (n_out,), "bias", is_pretraining=is_pretraining),
    )


def _is_pretraining(name: str) -> bool:
    """Whether a parameter changes only in pretraining: neither encoder nor mean."""
    return not name.startswith(("e", "pZXMean"))


@works_for(VariationalAutoencoder)
class VariationalAutoencoderLayer(PretrainedLayer[VariationalAutoencoder]):
    """The mean of the hidden causes; pretraining maximises the evidence lower bound."""

    def __init__(
        self,
        conf: VariationalAutoencoder,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        activation: AnyActivation = self._given("activation", conf.activation)
        names = [part for part, _, _ in conf.parts(input_type)]
        self._encoder, self._decoder = (
            [
                DensePart(self, part, activation, workspace)
                for part in names
                if part.startswith(beginning)
            ]
            for beginning in "ed"
        )
        self._mean, self._log_variance = (
            DensePart(self, part, conf.pzx_activation, workspace)
            for part in ("pZXMean", "pZXLogStd2")
        )
        self._restored = DensePart(self, "pXZ", "identity", workspace)
        self._reconstruction = reconstruction(conf.reconstruction_distribution)

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw all weights with the sizes of their part as fans.

        Every bias is `bias_init`.
        """
        bias = self._given("bias_init", self.conf.bias_init)
        if "biases_begin_at_zero" in self.conf.quirks:
            bias = 0.0
        for name, parameter in self.params.items():
            if name.endswith("b"):
                parameter.fill(bias)
                continue
            n_in, n_out = parameter.shape
            self._draw(name, n_in, n_out, rng)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, n_out).

        See :meth:`Layer.forward`. Masks only pass by.
        """
        self._check_input(x)
        rng = rng if training else None
        return self._mean.forward(self._encoded(x, rng), rng)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; those of pretraining only are 0.

        See :meth:`Layer.backward`.
        """
        for name, gradient in self.gradients.items():
            if _is_pretraining(name):
                gradient.fill(0)
        grad = self._mean.backward(grad_out)
        return self._encoder_backward(grad, needs_grad_x=self.needs_grad_x)

    def pretrain(self, x: FloatArray, *, rng: np.random.Generator) -> float:
        """Compute gradients of the negative bound.

        See :meth:`PretrainedLayer.pretrain`.
        """
        xp = array_namespace(x)
        self._check_input(x)
        encoded = self._encoded(x, rng)
        mean = self._mean.forward(encoded, rng)
        log_variance = self._log_variance.forward(encoded, rng)
        variance = xp.exp(log_variance)
        deviation = xp.sqrt(variance)
        score = 0.5 * float(xp.sum(mean**2 + variance - log_variance - 1))
        # The divergence's gradient; each sample adds its share of the reconstruction's.
        grad_mean = mean.copy()
        grad_log_variance = 0.5 * (variance - 1)
        share = 1 / self.conf.num_samples
        for index in range(self.conf.num_samples):
            drawn = rng.standard_normal(mean.shape).astype(x.dtype, copy=False)
            noise = deviation * to_device(drawn, like=x)
            restored = self._decoded(mean + noise, rng)
            score += share * float(self._reconstruction.score_rows(x, restored).sum())
            grad = self._reconstruction.gradient(x, restored)
            grad *= share
            for part in (self._restored, *reversed(self._decoder)):
                grad = part.backward(grad, add=index > 0)
            grad_mean += grad
            grad_log_variance += 0.5 * grad * noise
        grad_encoded = self._mean.backward(grad_mean)
        grad_encoded += self._log_variance.backward(grad_log_variance)
        self._encoder_backward(grad_encoded, needs_grad_x=False)
        return score

    def _encoded(self, x: FloatArray, rng: np.random.Generator | None) -> FloatArray:
        for part in self._encoder:
            x = part.forward(x, rng)
        return x

    def _decoded(self, z: FloatArray, rng: np.random.Generator) -> FloatArray:
        for part in self._decoder:
            z = part.forward(z, rng)
        return self._restored.forward(z, rng)

    def _encoder_backward(
        self, grad: FloatArray, *, needs_grad_x: bool
    ) -> FloatArray | None:
        first, *others = self._encoder
        for part in reversed(others):
            grad = part.backward(grad)
        if needs_grad_x:
            return first.backward(grad)
        first.backward_parameters(grad)
        return None
