"""Pretraining in this process: the loop of a fit, with one layer as what it trains."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from daskdl.checks import check_count
from daskdl.nn.batches import check_readable
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.local import prepared, train
from daskdl.nn.fitting.run_state import RunPosition
from daskdl.nn.passes import is_in_memory

if TYPE_CHECKING:
    from daskdl.nn.pretraining import LayerPretraining

__all__ = ["pretrain_here"]


def pretrain_here(
    who: str,
    layers: "Sequence[LayerPretraining]",
    data: Any,
    *,
    epochs: int,
    **how: Any,
) -> None:
    """Pretrain layers of a network, each for all epochs before the next.

    Parameters
    ----------
    who : str
        Named in errors.
    layers : sequence of LayerPretraining
        At least one, all of one network.
    data, epochs
        As ``Network.pretrain`` takes them.
    **how
        The other arguments of :func:`daskdl.nn.fitting.local.prepared`.
    """
    check_count(who, "epochs", epochs)
    check_readable(who, data, len(layers) * epochs)
    network = layers[0].network
    with network.turns.training(who), network.keeping_threads():
        task = prepared(
            layers[0],
            data,
            epochs=epochs,
            passes=len(layers) * epochs,
            who=who,
            resumed=None,
            **how,
        )
        for layer in layers:
            if is_in_memory(data):
                with network.normalizing(task.normalizer):
                    layer.check_restorable(task.begin(0, RunPosition()))
            fit = Fit(task.fit.listeners, epochs, lambda: network, layer=layer.name)
            train(layer, replace(task, fit=fit))
