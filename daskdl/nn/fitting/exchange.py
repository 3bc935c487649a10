"""The exchange of updates between workers, as training sees it."""

from typing import Any, Protocol


class Exchange(Protocol):
    """Shares updates with other workers, and averages between iterations.

    A network that trains alone has none.

    Attributes
    ----------
    adds_up_gradients : bool
        Whether gradients are added up with those of others before each update.
    """

    adds_up_gradients: bool

    def gradients(self, network: Any, examples: int) -> int:
        """Add others' sums over examples to ``network.gradients``.

        Parameters
        ----------
        network : Network
            Its gradients, (n_params,), are sums over its examples.
        examples : int
            How many; 0 if it has none.

        Returns
        -------
        total : int
            Examples of all; 0 if none has any.
        """

    def updated(self, network: Any) -> None:
        """Share an update, that of ``network.gradients``, which was subtracted."""

    def iteration_done(self, network: Any, examples: int) -> None:
        """Do the exchange's work between two iterations, such as averaging."""
