"""Pretraining in this process: the loop of a fit, with one layer as what it trains."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from daskdl.checks import check_count
from daskdl.nn.batches import check_readable
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.layers_left import layers_left
from daskdl.nn.fitting.local import prepared, train
from daskdl.nn.fitting.run_checkpoint import resumed_run
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
    resume: str | os.PathLike[str] | None,
    **how: Any,
) -> None:
    """Pretrain layers of a network, each for all epochs before the next.

    Parameters
    ----------
    who : str
        Named in errors.
    layers : sequence of LayerPretraining
        At least one, all of one network.
    data, epochs, resume
        As ``Network.pretrain`` takes them.
    **how
        The other arguments of :func:`daskdl.nn.fitting.local.prepared`.
    """
    check_count(who, "epochs", epochs)
    check_readable(who, data, len(layers) * epochs)
    network = layers[0].network
    with network.turns.training(who), network.keeping_threads():
        resumed = resumed_run(who, resume, network, epochs, of_layers=True)
        task = prepared(
            layers[0],
            data,
            epochs=epochs,
            passes=len(layers) * epochs,
            who=who,
            resumed=resumed,
            layers=tuple(layer.name for layer in layers),
            **how,
        )

        def fit_of(number: int) -> Fit:
            fit = Fit(
                task.fit.listeners,
                epochs,
                lambda: network,
                layer=layers[number].name,
                layer_number=number,
            )
            fit.plan = task.fit.plan
            return fit

        left = layers_left(who, layers, epochs, resumed, fit_of)
        for number, layer, goes_on in left:
            if is_in_memory(data):
                with network.normalizing(task.normalizer):
                    layer.check_restorable(task.begin(0, RunPosition()))
            train(layer, replace(task, fit=fit_of(number), resumed=goes_on))
