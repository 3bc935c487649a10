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
        network : Network or LayerPretraining
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


def take_step(
    trained: Any, n_examples: int, exchange: Exchange | None, *, held: Any = None
) -> None:
    """Update parameters by gradients that are there, together with others if any are.

    Parameters
    ----------
    trained : Network or LayerPretraining
        Its gradients, (n_params,), are sums over examples.
    n_examples : int
        How many.
    exchange : Exchange or None
    held
        As ``learn`` takes it.
    """
    if exchange is not None and exchange.adds_up_gradients:
        n_examples = exchange.gradients(trained, n_examples)
    trained.learn(n_examples, held=held)
    if exchange is not None:
        exchange.updated(trained)
    trained.finish_iteration()
