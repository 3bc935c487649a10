"""The part of a job that trains layers without labels, in front of the training."""

from typing import Annotated, Any

from pydantic import Field

from daskdl.cli.job_values import Texts
from daskdl.cli.progress import View
from daskdl.data.sources.partition import Source
from daskdl.nn.conf.values import Conf, Count
from daskdl.nn.network import Network

__all__ = ["PretrainingOptions", "check_layers", "pretrain"]


class PretrainingOptions(Conf):
    """What is pretrained in front of the training: every layer that can be."""

    epochs: Annotated[
        Count, Field(description="Passes over the data, for each of these layers.")
    ] = 1
    layers: Annotated[
        Texts | None,
        Field(
            description="Names of layers, in the order in which they are pretrained; "
            "all that can be if not given."
        ),
    ] = None


def check_layers(network: Network[Any], options: PretrainingOptions) -> None:
    """Refuse a network without such layers, before there is a cluster.

    Raises
    ------
    OptionError
    """
    who, names = "training.pretrain", options.layers
    if names is None:
        network.pretraining.chosen(who)
        return
    for name in [names] if isinstance(names, str) else names:
        network.pretraining.layer(who, name)


def pretrain(
    front: Any, data: Source, options: PretrainingOptions, view: View, **how: Any
) -> None:
    """Pretrain the network of a front end.

    Parameters
    ----------
    front : DaskMultiLayer or DaskComputationGraph
    data : Source
        Without labels.
    options : PretrainingOptions
        Of the job's `training`.
    view : View
        Shown what goes on.
    **how
        Other arguments of ``pretrain``.
    """
    view.note(f"pretraining on {data.name}")
    how = {"epochs": options.epochs, "listeners": [view], **how}
    if options.layers is None:
        front.pretrain(data, **how)
        return
    names = options.layers
    for name in [names] if isinstance(names, str) else names:
        front.pretrain_layer(name, data, **how)
