"""Which layers of a pretraining are left to learn, and from where."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.run_checkpoint import Resumed

if TYPE_CHECKING:
    from daskdl.nn.pretraining import LayerPretraining

__all__ = ["layers_left"]


def layers_left(
    who: str,
    layers: "Sequence[LayerPretraining]",
    epochs: int,
    resumed: Resumed | None,
    fit_of: Callable[[int], Fit],
) -> "Iterator[tuple[int, LayerPretraining, Resumed | None]]":
    """Yield the layers that are to learn, one after the other.

    Listeners hear of a run that is complete, and of the layer at which a run stood that
    has learnt all.

    Parameters
    ----------
    who : str
        For messages.
    layers : sequence of LayerPretraining
        Of the whole run.
    epochs : int
        Of each.
    resumed : Resumed or None
        The checkpoint that the run goes on from, which the network has taken over.
    fit_of : function of (int)
        Returns what listeners are told of the layer with that number.

    Yields
    ------
    number : int
        Of the layer, from 0.
    layer : LayerPretraining
    resumed : Resumed or None
        The checkpoint, if the layer is amid its epochs there.
    """
    first = 0
    if resumed is not None and resumed.state.pretraining is not None:
        first = resumed.state.pretraining.number
        layers[first].network.last_fit = resumed.state.report
        if resumed.is_complete(who, epochs):
            resumed.tell_complete(fit_of(first))
            return
        if resumed.state.has_ended(epochs):
            resumed.tell_ended(fit_of(first))
            first, resumed = first + 1, None
    for number in range(first, len(layers)):
        yield number, layers[number], resumed
        resumed = None
