"""Train in this process: what a cluster of one worker must give bit for bit."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from daskdl.checks import check_count
from daskdl.data.plan import Minibatch
from daskdl.data.reader import MinibatchReader
from daskdl.data.sources.source import SourceOptions
from daskdl.kernels.jit import numba_is_used
from daskdl.nn.divergence import check_finite
from daskdl.nn.network import Network
from daskdl.nn.normalizing import NormalizerChoice, chosen
from daskdl.training.compiling import start_compiling
from daskdl.training.preparation import prepare
from daskdl.training.trainer import Minibatch as Batch
from daskdl.training.trainer import Trainer


def fit(
    network: Network[Any],
    data: Any,
    options: SourceOptions | None = None,
    *,
    epochs: int = 1,
    batch_size: int | None = None,
    shuffle: bool = False,
    normalizer: NormalizerChoice = "own",
    pre_processor: Any = None,
) -> Network[Any]:
    """Train `network` on `data` without a cluster.

    Parameters
    ----------
    network : Network
        Trained in place and returned.
    data, options
        A path, DataSets, or a Dask or xarray collection; see
        :func:`daskdl.data.sources.source.open_source`.
    epochs : int
        Passes over the data.
    batch_size : int, optional
        Examples of a minibatch; not needed for data that are minibatches already.
    shuffle : bool
        Whether each epoch visits the minibatches in another order, which the network's
        seed decides.
    normalizer : Normalizer, None or "own"
        One that is given becomes the network's own, and is fitted first unless it is
        already. None for data that are normalized already.
    pre_processor : preprocessor or normalizer, or several in order, optional
        What examples go through first, as with DL4J's ``setPreProcessor``; takes the
        place of that of `options`.

    Raises
    ------
    OptionError, DataError, ShapeError
        Before anything is trained, when options, data and network do not go together.
    DivergedError
        When a score, or a parameter in the end, is no number.
    """
    check_count("fit", "epochs", epochs)
    if pre_processor is not None:
        options = replace(options or SourceOptions(), pre_processor=pre_processor)
    if batch_size is not None and isinstance(data, str) and numba_is_used():
        # Stored data are read through first, and the disk leaves time to compile.
        start_compiling(network, batch_size)
    used = chosen("fit", network.normalizer, normalizer)
    prepared = prepare(network, data, options, batch_size=batch_size, normalizer=used)
    if used is not None:
        network.normalizer = used
    partitions = dict(enumerate(prepared.source.partitions))
    reader = MinibatchReader(partitions)
    trainer = Trainer(network)
    for epoch in range(network.epoch_count, network.epoch_count + epochs):
        (order,) = prepared.epoch(epoch, 1, shuffled=shuffle, seed=network.conf.seed)
        with network.normalizing(used):
            trainer.fit_epoch(_read(reader, order, epoch))
    check_finite("fit", network)
    return network


def _read(
    reader: MinibatchReader, order: list[Minibatch], epoch: int
) -> Iterator[Batch]:
    for minibatch in order:
        yield reader.read(minibatch, epoch)
