"""What a variational autoencoder takes its reconstruction for. Values only.

The arithmetic is in :mod:`daskdl.nn.reconstructions`. Names and formulas are those of
``org.deeplearning4j.nn.conf.layers.variational``.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.losses import AnyLoss, label_columns
from daskdl.nn.conf.values import Conf, Count, tagged


class GaussianReconstructionDistribution(Conf):
    """Each number is normal: the decoder gives mean and logarithm of the variance.

    Parameters
    ----------
    activation : activation
        Of both; it should not bound them more than the data are bounded.
    """

    type: Literal["gaussian"] = "gaussian"
    activation: AnyActivation = "identity"

    def n_parameters(self, n_in: int) -> int:
        """Return how many numbers the decoder gives for `n_in` of the data."""
        return 2 * n_in


class BernoulliReconstructionDistribution(Conf):
    """Each number is 0 or 1: the decoder gives the probability of 1.

    Parameters
    ----------
    activation : activation
        Should give numbers from 0 to 1.
    """

    type: Literal["bernoulli"] = "bernoulli"
    activation: AnyActivation = "sigmoid"

    def n_parameters(self, n_in: int) -> int:
        """Return how many numbers the decoder gives for `n_in` of the data."""
        return n_in


class ExponentialReconstructionDistribution(Conf):
    """Each number is exponential: the decoder gives the logarithm of the rate.

    Parameters
    ----------
    activation : activation
        Of the logarithm.
    """

    type: Literal["exponential"] = "exponential"
    activation: AnyActivation = "identity"

    def n_parameters(self, n_in: int) -> int:
        """Return how many numbers the decoder gives for `n_in` of the data."""
        return n_in


class LossFunctionWrapper(Conf):
    """No distribution: a loss compares the reconstruction with the data.

    Parameters
    ----------
    activation : activation
        Of the reconstruction.
    loss : loss
        By name or with options; one label for each number.
    """

    type: Literal["loss_wrapper"] = "loss_wrapper"
    activation: AnyActivation = "identity"
    loss: AnyLoss = "mse"

    def n_parameters(self, n_in: int) -> int:
        """Return how many numbers the decoder gives for `n_in` of the data.

        Raises
        ------
        OptionError
            If the loss takes other labels than the data.
        """
        if label_columns(self.loss, n_in) != n_in:
            raise PathError(f"must compare {n_in} numbers with as many.", "loss")
        return n_in


class CompositeReconstructionDistribution(Conf):
    """Some numbers have this distribution, the next ones that.

    Parameters
    ----------
    sizes : tuple of int
        How many numbers of the data belong to each distribution.
    distributions : tuple of reconstruction distributions
        As many as there are sizes.
    """

    type: Literal["composite"] = "composite"
    sizes: Annotated[tuple[Count, ...], Field(min_length=1)]
    distributions: "tuple[AnyReconstruction, ...]"

    @model_validator(mode="after")
    def _check_lengths(self) -> "CompositeReconstructionDistribution":
        if len(self.sizes) != len(self.distributions):
            raise PathError(
                f"must be as many as sizes ({len(self.sizes)}), got "
                f"{len(self.distributions)}.",
                "distributions",
            )
        return self

    def n_parameters(self, n_in: int) -> int:
        """Return how many numbers the decoder gives for `n_in` of the data.

        Raises
        ------
        OptionError
            If `n_in` is not the sum of the sizes.
        """
        if n_in != sum(self.sizes):
            raise PathError(
                f"must add up to {n_in}, the numbers of the data, got {self.sizes}.",
                "sizes",
            )
        pairs = zip(self.distributions, self.sizes, strict=True)
        return sum(part.n_parameters(size) for part, size in pairs)


Reconstruction: TypeAlias = (
    GaussianReconstructionDistribution
    | BernoulliReconstructionDistribution
    | ExponentialReconstructionDistribution
    | LossFunctionWrapper
    | CompositeReconstructionDistribution
)
AnyReconstruction: TypeAlias = Annotated[
    Reconstruction,
    Field(discriminator="type"),
    BeforeValidator(tagged(Reconstruction)),
]
CompositeReconstructionDistribution.model_rebuild()
