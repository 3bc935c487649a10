"""Training in this process, bit for bit as a cluster of one worker."""

import os
from collections.abc import Iterable
from typing import Any, TypeVar

from daskdl.data.sources.source import SourceOptions
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.given_in_one import data_in_one
from daskdl.nn.network import Network
from daskdl.nn.normalizing import NormalizerChoice

N = TypeVar("N", bound=Network[Any])


@data_in_one
def fit(
    network: N,
    data: Any,
    *,
    epochs: int = 1,
    batch_size: int | None = None,
    shuffle: bool = False,
    normalizer: NormalizerChoice = "own",
    listeners: Listener | Iterable[Listener] | None = None,
    resume: str | os.PathLike[str] | None = None,
    options: SourceOptions | None = None,
    **source_options: Any,
) -> N:
    """Train `network` on `data` without a cluster.

    Parameters
    ----------
    network : Network
        Trained in place and returned.
    data, epochs, batch_size, shuffle, normalizer, listeners, resume
    options, **source_options
        See :meth:`daskdl.nn.network.Network.fit`.
    """
    return network.fit(
        data,
        epochs=epochs,
        batch_size=batch_size,
        shuffle=shuffle,
        normalizer=normalizer,
        listeners=listeners,
        resume=resume,
        options=options,
        **source_options,
    )
