"""The exchange of updates between workers, as training sees it."""

from typing import Any, Protocol


class Exchange(Protocol):
    """Shares updates with other workers, and averages between iterations.

    A network that trains alone has none.
    """

    def updated(self, network: Any) -> None:
        """Share an update, that of ``network.gradients``, which was subtracted."""

    def iteration_done(self, network: Any, examples: int) -> None:
        """Do the exchange's work between two iterations, such as averaging."""
