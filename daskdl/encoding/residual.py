"""Post-processing of the residual after a message was taken out of it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.checks import check_at_least
from daskdl.kernels.threshold import clip_difference


class ResidualPostProcessor(ABC):
    """Changes the residual after encoding."""

    def is_due(self, iteration: int) -> bool:
        """Whether :meth:`process` would do anything in this iteration."""
        return True

    @abstractmethod
    def process(self, residual: FloatArray, *, iteration: int, tau: float) -> None:
        """Change the residual in place.

        Parameters
        ----------
        residual : ndarray of shape (n,)
            What is left after encoding.
        iteration : int
            The network's iteration counter.
        tau : float
            The threshold that was just used.
        """

    def process_difference(
        self,
        params: FloatArray,
        base: FloatArray,
        *,
        iteration: int,
        tau: float,
        scratch: FloatArray,
    ) -> None:
        """Change what parameters lack of a base, as :meth:`process` does a residual.

        Parameters
        ----------
        params : ndarray of shape (n,), contiguous
            Follow the residual.
        base : ndarray of shape (n,), same dtype, contiguous
            Not changed.
        iteration, tau
            As of :meth:`process`.
        scratch : ndarray of shape (n,), same dtype
            Overwritten.
        """
        subtract = array_namespace(params).subtract
        subtract(base, params, out=scratch)
        self.process(scratch, iteration=iteration, tau=tau)
        subtract(base, scratch, out=params)


# Arguments come in the order of DL4J's constructor.
@dataclass(frozen=True)
class ResidualClippingPostProcessor(ResidualPostProcessor):
    """Clip the residual to a multiple of the threshold every few iterations.

    Old updates that the threshold holds back would otherwise be applied long after
    they were computed.

    Parameters
    ----------
    threshold_multiple : float
        The bound, in thresholds; at least 1.
    frequency : int
        Clip when the iteration is a multiple of it, but not at iteration 0.
    """

    threshold_multiple: float = 5.0
    frequency: int = 5

    def __post_init__(self) -> None:
        who = "ResidualClippingPostProcessor"
        check_at_least(who, "threshold_multiple", self.threshold_multiple, 1.0)
        check_at_least(who, "frequency", self.frequency, 1)

    def is_due(self, iteration: int) -> bool:
        """Whether the iteration is a multiple of the frequency."""
        return iteration > 0 and iteration % self.frequency == 0

    def process(self, residual: FloatArray, *, iteration: int, tau: float) -> None:
        """Clip if it is time; see :meth:`ResidualPostProcessor.process`."""
        if not self.is_due(iteration):
            return
        bound = residual.dtype.type(self.threshold_multiple * tau)
        array_namespace(residual).clip(residual, -bound, bound, out=residual)

    def process_difference(
        self,
        params: FloatArray,
        base: FloatArray,
        *,
        iteration: int,
        tau: float,
        scratch: FloatArray,
    ) -> None:
        """Clip in one pass, which writes only what was beyond the bound."""
        if self.is_due(iteration):
            clip_difference(params, base, self.threshold_multiple * tau)


@dataclass(frozen=True, kw_only=True)
class NoOpResidualPostProcessor(ResidualPostProcessor):
    """Leave the residual as it is."""

    def is_due(self, iteration: int) -> bool:
        """Whether anything is to be done: never."""
        return False

    def process(self, residual: FloatArray, *, iteration: int, tau: float) -> None:
        """Do nothing; see :meth:`ResidualPostProcessor.process`."""
