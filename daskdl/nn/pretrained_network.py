"""Layer-wise pretraining of a network in one process: its methods."""

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from daskdl.data.sources.source import SourceOptions
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.local_pretraining import pretrain_here
from daskdl.nn.normalizing import NormalizerChoice
from daskdl.nn.pretraining import Pretraining

if TYPE_CHECKING:
    from daskdl.nn.network import Network

N = TypeVar("N", bound="PretrainedNetwork")


class PretrainedNetwork:
    """A network whose autoencoders can be trained without labels, one by one."""

    def pretrain(
        self: N,
        data: Any,
        *,
        epochs: int = 1,
        layers: int | str | Sequence[int | str] | None = None,
        batch_size: int | None = None,
        shuffle: bool = False,
        normalizer: NormalizerChoice = "own",
        listeners: Listener | Iterable[Listener] | None = None,
        resume: str | os.PathLike[str] | None = None,
        options: SourceOptions | None = None,
        **source_options: Any,
    ) -> N:
        """Pretrain all layers that can be, each for all epochs before the next.

        Parameters
        ----------
        layers : int, str or several of them, optional
            Those alone, in this order, each by its index in a sequence or its name.
        data, epochs, batch_size, shuffle, normalizer, listeners, resume
        options, **source_options
            As for :meth:`pretrain_layer`.

        Returns
        -------
        Network
            Itself.

        Raises
        ------
        OptionError
            If no layer can be pretrained, or there are several and `data` can be read
            once only.
        DataError
            If there is no minibatch at all.
        """
        who = f"{type(self).__name__}.pretrain"
        pretrain_here(
            who,
            self.pretraining.chosen(who, layers),
            data,
            epochs=epochs,
            batch_size=batch_size,
            shuffle=shuffle,
            normalizer=normalizer,
            listeners=listeners,
            resume=resume,
            options=options,
            source_options=source_options,
        )
        return self

    def pretrain_layer(
        self: N,
        layer: int | str,
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
        """Train one layer on what reaches it of the features.

        Parameters
        ----------
        layer : int or str
            Index in a sequence, or name.
        data
            What :meth:`fit` takes, or an array of features, which is one minibatch
            unless `batch_size` is given. Labels and masks are not looked at.
        epochs : int
            Passes over the data; an iterator lasts for one only.
        batch_size : int, optional
            Cut into minibatches of this size; the last may be short.
        shuffle : bool
            Whether each epoch visits the minibatches in another order.
        normalizer : Normalizer, None or "own"
            As for :meth:`fit`.
        listeners : Listener or several, optional
            What hears of the pretraining: of each layer as of a fit, whose `layer` is
            its name.
        resume : path or str, optional
            A checkpoint that a :class:`~daskdl.RunCheckpoint` wrote in pretraining, or
            its directory: the run goes on from there, at the layer and the epoch where
            it stood, with the same layers, data and arguments.
        options, **source_options
            How to read `data`, as for :meth:`fit`; no column of labels is needed.

        Returns
        -------
        Network
            Itself, trained; :attr:`score` is that of the last minibatch, and
            ``last_fit`` tells what was done.

        Raises
        ------
        OptionError
            If there is no such layer, it cannot be pretrained, `data` can be read once
            only and `epochs` is more than 1, or `resume` is of another run.
        DataError
            If there is no minibatch at all, a number that is not finite, or one that
            the loss or distribution of the layer cannot restore. Data in memory are
            looked through before anything is trained.
        DivergedError
            When a score is no number.
        """
        who = f"{type(self).__name__}.pretrain_layer"
        pretrain_here(
            who,
            [self.pretraining.layer(who, layer)],
            data,
            epochs=epochs,
            batch_size=batch_size,
            shuffle=shuffle,
            normalizer=normalizer,
            listeners=listeners,
            resume=resume,
            options=options,
            source_options=source_options,
        )
        return self

    @cached_property
    def pretraining(self) -> Pretraining:
        """The layers that can be pretrained, for those that train them otherwise."""
        network = cast("Network[Any]", self)
        return Pretraining(network, network._program, network._converter)
