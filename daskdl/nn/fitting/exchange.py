"""The exchange of updates between workers, as training sees it."""

from typing import Any, Protocol

from daskdl.arrays.namespace import FloatArray


class Exchange(Protocol):
    """Shares updates with other workers, and averages between iterations.

    A network that trains alone has none: its updates are subtracted from its
    parameters.
    """

    def apply(self, network: Any, update: FloatArray) -> None:
        """Take an update of shape (n_params,) into the parameters, and share it."""

    def iteration_done(self, network: Any, examples: int) -> None:
        """Do the exchange's work between two iterations, such as averaging."""
