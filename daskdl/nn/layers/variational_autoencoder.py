"""The layer that can first learn a distribution of hidden causes of its input."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from annotated_types import MinLen

from daskdl.arrays.namespace import FloatArray, array_namespace, to_device
from daskdl.kernels.dense import dense_backward, dense_forward
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation, draws_random_numbers
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.reconstructions import (
    AnyReconstruction,
    GaussianReconstructionDistribution,
)
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.input_kinds import rows_in
from daskdl.nn.layers.row_activation import apply_activation
from daskdl.nn.reconstructions import reconstruction
from daskdl.nn.run import Backward, Run

_Sizes = Annotated[tuple[Count, ...], MinLen(1)]
# A dense layer inside: its name and its activation.
_Part: TypeAlias = tuple[str, AnyActivation | None]
# Takes a gradient, `add` and `needs_grad_x`: returns that in the input, or None.
_Back: TypeAlias = Callable[..., Any]


class VariationalAutoencoder(WeightOptions, TrainingOptions, LayerConf):
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

    def initialize(self, run: Run, rng: np.random.Generator) -> None:
        """Begin with biases of 0 where a dialect says so."""
        if "biases_begin_at_zero" in self.quirks:
            for name, parameter in run.params.items():
                if name.endswith("b"):
                    parameter.fill(0)

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Return the mean of the hidden causes of `x`, of shape (batch, n_in).

        Masks only pass by. The gradients of pretraining only are 0.
        """
        encoded, encoder_backward = self._encoded(run, x)
        mean, mean_backward = _dense_rows(run, "pZXMean", encoded, self.pzx_activation)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            for name, gradient in run.gradients.items():
                if _is_pretraining(name):
                    gradient.fill(0)
            grad = mean_backward(grad_out)
            grad_x: FloatArray | None = encoder_backward(
                grad, needs_grad_x=run.needs_grad_x
            )
            return grad_x

        return mean, backward

    def pretrain(self, run: Run, x: FloatArray, rng: np.random.Generator) -> float:
        """Compute gradients of the negative bound of `x`, of shape (batch, n_in).

        See :meth:`LayerConf.pretrain`.
        """
        xp = array_namespace(x)
        distribution = reconstruction(self.reconstruction_distribution)
        encoded, encoder_backward = self._encoded(run, x)
        (mean, mean_backward), (log_variance, log_variance_backward) = (
            _dense_rows(run, part, encoded, self.pzx_activation)
            for part in ("pZXMean", "pZXLogStd2")
        )
        variance = xp.exp(log_variance)
        deviation = xp.sqrt(variance)
        score = 0.5 * float(xp.sum(mean**2 + variance - log_variance - 1))
        # The divergence's gradient; each sample adds its share of the reconstruction's.
        grad_mean = mean.copy()
        grad_log_variance = 0.5 * (variance - 1)
        share = 1 / self.num_samples
        for index in range(self.num_samples):
            drawn = rng.standard_normal(mean.shape).astype(x.dtype, copy=False)
            noise = deviation * to_device(drawn, like=x)
            restored, decoder_backward = self._decoded(run, mean + noise)
            score += share * float(distribution.score_rows(x, restored).sum())
            grad = distribution.gradient(x, restored)
            grad *= share
            grad = decoder_backward(grad, add=index > 0)
            grad_mean += grad
            grad_log_variance += 0.5 * grad * noise
        grad_encoded = mean_backward(grad_mean)
        grad_encoded += log_variance_backward(grad_log_variance)
        encoder_backward(grad_encoded, needs_grad_x=False)
        return score

    def reconstruct(self, run: Run, x: FloatArray) -> FloatArray:
        """Return what `x`, (batch, n_in), is expected to be at its mean hidden causes.

        See :meth:`LayerConf.reconstruct`. DL4J's ``generateAtMeanGivenZ``.
        """
        encoded, _ = self._encoded(run, x)
        mean, _ = _dense_rows(run, "pZXMean", encoded, self.pzx_activation)
        restored, _ = self._decoded(run, mean)
        return reconstruction(self.reconstruction_distribution).mean(restored)

    def log_probability(
        self, run: Run, x: FloatArray, rng: np.random.Generator, num_samples: int
    ) -> FloatArray:
        """Estimate the logarithm of the reconstruction probability of each row.

        Parameters
        ----------
        run : Run
        x : ndarray of shape (batch, n_in)
        rng : numpy.random.Generator
            All rows have the same draws, so that others beside them change nothing.
        num_samples : int
            How often hidden causes are drawn.

        Returns
        -------
        ndarray of shape (batch,)
            The mean of the logarithms over the draws; newly allocated.

        References
        ----------
        An and Cho, *Variational Autoencoder based Anomaly Detection using
        Reconstruction Probability*, 2015, algorithm 4; DL4J,
        ``reconstructionLogProbability``.
        """
        xp = array_namespace(x)
        distribution = reconstruction(self.reconstruction_distribution)
        encoded, _ = self._encoded(run, x)
        mean, log_variance = (
            _dense_rows(run, part, encoded, self.pzx_activation)[0]
            for part in ("pZXMean", "pZXLogStd2")
        )
        deviation = xp.exp(0.5 * log_variance)
        total: FloatArray = xp.zeros(len(x), x.dtype)
        for _ in range(num_samples):
            drawn = rng.standard_normal(self.n_out).astype(x.dtype, copy=False)
            causes = mean + deviation * to_device(drawn, like=x)
            restored, _ = self._decoded(run, causes)
            total -= distribution.score_rows(x, restored)
        total /= num_samples
        return total

    def _encoded(self, run: Run, x: FloatArray) -> tuple[FloatArray, _Back]:
        n_parts = len(self.encoder_layer_sizes)
        return _chained(run, x, [(f"e{i}", self.activation) for i in range(n_parts)])

    def _decoded(self, run: Run, z: FloatArray) -> tuple[FloatArray, _Back]:
        n_parts = len(self.decoder_layer_sizes)
        parts = [(f"d{i}", self.activation) for i in range(n_parts)]
        return _chained(run, z, [*parts, ("pXZ", "identity")])


def _dense(name: str, n_in: int, n_out: int) -> tuple[Parameter, Parameter]:
    is_pretraining = _is_pretraining(name)
    return (
        Parameter(f"{name}W", (n_in, n_out), is_pretraining=is_pretraining),
        Parameter(f"{name}b", (n_out,), "bias", is_pretraining=is_pretraining),
    )


def _is_pretraining(name: str) -> bool:
    """Whether a parameter changes only in pretraining: neither encoder nor mean."""
    return not name.startswith(("e", "pZXMean"))


def _chained(
    run: Run, x: FloatArray, parts: Sequence[_Part]
) -> tuple[FloatArray, _Back]:
    """Return the output of dense layers in a row, and the function for its gradient."""
    ways_back = []
    for name, activation in parts:
        x, way_back = _dense_rows(run, name, x, activation)
        ways_back.append(way_back)
    first, *others = ways_back

    def backward(
        grad: FloatArray, *, add: bool = False, needs_grad_x: bool = True
    ) -> FloatArray | None:
        for way_back in reversed(others):
            grad = way_back(grad, add=add)
        grad_x: FloatArray | None = first(grad, add=add, needs_grad_x=needs_grad_x)
        return grad_x

    return x, backward


def _dense_rows(
    run: Run, part: str, x: FloatArray, activation: AnyActivation | None
) -> tuple[FloatArray, _Back]:
    """Return ``activation(x @ W + b)`` with the parameters of a part, and the way back.

    That can add to what the gradients of the parameters are.
    """
    function = activation_function(activation, run.quirks)
    weight, bias = run.params[f"{part}W"], run.params[f"{part}b"]
    preout = run.buffer(f"{part} preout", (len(x), weight.shape[1]), x.dtype)
    dense_forward(x, weight, bias, out=preout)
    output = apply_activation(run, function, preout, f"{part} output")

    def backward(
        grad_out: FloatArray, *, add: bool = False, needs_grad_x: bool = True
    ) -> FloatArray | None:
        grad_preout = run.like(f"{part} grad_preout", grad_out)
        function.backward(grad_out, preout, output, out=grad_preout)
        gradients = [run.gradients[f"{part}{ending}"] for ending in "Wb"]
        shares = gradients
        if add:
            names = (f"{part} share of weights", f"{part} share of biases")
            shares = [run.like(*pair) for pair in zip(names, gradients, strict=True)]
        grad_x = run.like(f"{part} grad_x", x) if needs_grad_x else None
        dense_backward(
            grad_preout,
            x,
            weight,
            grad_weight=shares[0],
            grad_bias=shares[1],
            grad_x=grad_x,
        )
        if add:
            for gradient, share in zip(gradients, shares, strict=True):
                gradient += share
        return grad_x

    return output, backward
