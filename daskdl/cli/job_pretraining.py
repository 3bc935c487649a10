"""The part of a job that trains layers without labels, in front of the training."""

from typing import Annotated, Any

from pydantic import Field

from daskdl.cli.job_values import Texts
from daskdl.cli.progress import View
from daskdl.data.sources.partition import Source
from daskdl.nn.conf.values import Conf, Count
from daskdl.nn.file_formats import writer_of
from daskdl.nn.fitting.checkpoint_directory import read_newest
from daskdl.nn.network import Network

__all__ = ["PretrainingOptions", "check_layers", "is_amid_pretraining", "pretrain"]


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
    network.pretraining.chosen("training.pretrain", options.layers)


def is_amid_pretraining(directory: str) -> bool:
    """Tell whether a run stood in its pretraining at its last checkpoint.

    Parameters
    ----------
    directory : str
        Path or URL, with at least one.

    Raises
    ------
    FormatError
        If no checkpoint is whole.
    """
    reader = writer_of("run", "checkpoint.safetensors", None)
    _, (_, values, _) = read_newest("run", directory, reader.load_run)
    return values.get("pretraining") is not None


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
        Told what is read.
    **how
        Other arguments of ``pretrain``.
    """
    view.note(f"pretraining on {data.name}")
    front.pretrain(data, epochs=options.epochs, layers=options.layers, **how)
