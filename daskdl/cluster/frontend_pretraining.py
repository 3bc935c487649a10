"""What the front ends train without labels, and what they prepare for all training."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from daskdl.checks import check_count, check_type
from daskdl.cluster.asynchronous import wait_to_train_s
from daskdl.cluster.dashboard.listener import DashboardListener
from daskdl.cluster.driver import Driver
from daskdl.cluster.frontend_dl4j import Dl4jMethods
from daskdl.cluster.frontend_inference import AGAIN, N
from daskdl.cluster.inference import scan_on
from daskdl.cluster.member_memory import check_members_fit, fitting_workers
from daskdl.cluster.member_states import KeptStates
from daskdl.cluster.session_members import SESSION_ADVICE
from daskdl.cluster.travel import check_travels, travelling
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.sources.source import SourceOptions
from daskdl.nn.fitting.events import Preparing
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.hearing import hearing_of
from daskdl.nn.fitting.layers_left import layers_left
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.preparation import PreparedData, given_options, prepare
from daskdl.nn.fitting.run_checkpoint import resumed_run
from daskdl.nn.fitting.run_state import RunPlan, RunPosition, RunState
from daskdl.nn.fitting.trained import Trained
from daskdl.nn.given_in_one import data_in_one
from daskdl.nn.normalizing import NormalizerChoice, chosen_normalizer
from daskdl.training.registered_kinds import packed_kinds

__all__ = ["STARTING", "ClusterPretraining", "tell_preparing"]

STARTING = "starting on the workers, which compile what is new"

Tell = Callable[[str], None]


class ClusterPretraining(Dl4jMethods[N]):
    """A network on a cluster, as far as it is trained without labels."""

    @data_in_one
    def pretrain(
        self,
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
        workers: Sequence[str] | int | None = None,
        resources: Mapping[str, float] | None = None,
        start_timeout_s: float | None = None,
        **source_options: Any,
    ) -> N:
        """Pretrain all layers that can be on the cluster, one after the other.

        Each for all epochs before the next, on what reaches it of the features.

        Parameters
        ----------
        layers : int, str or several of them, optional
            Those alone, in this order, each by its index in a sequence or its name.
        data, epochs, batch_size, shuffle, normalizer, listeners, resume, workers
        resources, start_timeout_s, options, **source_options
            As for :meth:`pretrain_layer`.

        Returns
        -------
        network
            The trained network, which is also ``self.network``.

        Raises
        ------
        OptionError
            If no layer can be pretrained. All others as :meth:`pretrain_layer`.
        """
        return self._pretrain(
            "pretrain",
            layers,
            data,
            epochs=epochs,
            batch_size=batch_size,
            shuffle=shuffle,
            normalizer=normalizer,
            listeners=listeners,
            resume=resume,
            options=options,
            workers=workers,
            resources=resources,
            start_timeout_s=start_timeout_s,
            source_options=source_options,
        )

    def pretrain_layer(
        self,
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
        workers: Sequence[str] | int | None = None,
        resources: Mapping[str, float] | None = None,
        start_timeout_s: float | None = None,
        **source_options: Any,
    ) -> N:
        """Train one layer on the cluster on what reaches it of the features.

        Its updates go through the training master as those of a fit do; the layers in
        front of it work in inference mode and stay as they are. What one process does,
        :meth:`daskdl.MultiLayerNetwork.pretrain_layer`, one worker does bit for bit.

        Parameters
        ----------
        layer : int or str
            Index in a sequence, or name.
        data
            What :meth:`fit` takes. No labels are needed, and none are looked at.
        epochs : int
            Passes over the data; each example is trained once in each.
        batch_size, shuffle, normalizer, workers, resources, start_timeout_s
            As for :meth:`fit`.
        listeners : Listener or several, optional
            What hears of it, of each layer as of a fit; those of `set_listeners` if not
            given.
        resume : path or str, optional
            A checkpoint that a :class:`~daskdl.RunCheckpoint` wrote in pretraining, or
            its directory: the run goes on from there, at the layer and the epoch where
            it stood, with the same layers, data and arguments. Workers as for
            :meth:`fit`.
        options, **source_options
            How to read `data`, as for :meth:`fit`.

        Returns
        -------
        network
            The trained network, which is also ``self.network``.

        Raises
        ------
        OptionError, DataError, ShapeError
            Before any worker trains, when options, data and network do not go together.
        DataError
            When the loss or distribution of the layer cannot restore what reaches it.
        WorkerLostError
            When no worker is left.
        """
        return self._pretrain(
            "pretrain_layer",
            layer,
            data,
            epochs=epochs,
            batch_size=batch_size,
            shuffle=shuffle,
            normalizer=normalizer,
            listeners=listeners,
            resume=resume,
            options=options,
            workers=workers,
            resources=resources,
            start_timeout_s=start_timeout_s,
            source_options=source_options,
        )

    def _pretrain(
        self,
        called: str,
        chosen: int | str | Sequence[int | str] | None,
        data: Any,
        *,
        epochs: int,
        batch_size: int | None,
        shuffle: bool,
        normalizer: NormalizerChoice,
        listeners: Listener | Iterable[Listener] | None,
        resume: str | os.PathLike[str] | None,
        options: SourceOptions | None,
        workers: Sequence[str] | int | None,
        resources: Mapping[str, float] | None,
        start_timeout_s: float | None,
        source_options: dict[str, Any],
    ) -> N:
        """Pretrain chosen layers, or all; messages name the method that was called."""
        who = f"{type(self).__name__}.{called}"
        check_count(who, "epochs", epochs)
        check_type(who, "shuffle", shuffle, bool)
        layers = self.network.pretraining.chosen(who, chosen)
        listeners = self._listeners if listeners is None else listeners
        hearing: list[Listener] = hearing_of(who, listeners)
        resumed = resumed_run(who, resume, self.network, epochs, of_layers=True)
        used = (
            chosen_normalizer(who, self.normalizer, normalizer)
            if resumed is None
            else resumed.normalizer(who, normalizer)
        )
        batch_size = self._master.batch_size(batch_size)
        given = given_options(who, options, source_options)
        enough_workers = self._workers_for(
            layers[0], start_timeout_s, workers, resources
        )
        tell = partial(tell_preparing, hearing)
        with (
            self._training(who),
            self._prepared(
                layers[0],
                data,
                given,
                enough_workers,
                tell,
                batch_size=batch_size,
                normalizer=used,
            ) as prepared,
        ):
            plan = replace(
                self._plan(prepared, used, shuffle=shuffle, batch_size=batch_size),
                layers=tuple(layer.name for layer in layers),
                epochs=epochs,
            )
            if resumed is not None:
                resumed.check(who, plan)
                resumed.take_over(self.network)
            elif used is not None:
                self.normalizer = used
            # A fit does not go on with what workers had of other parameters.
            self._kept = KeptStates()
            tell(STARTING)

            def fit_of(number: int) -> Fit:
                return Fit(
                    hearing,
                    epochs,
                    lambda: self.network,
                    evaluate=self.evaluate,
                    tally=self._tally,
                    layer=layers[number].name,
                    layer_number=number,
                )

            left = layers_left(who, layers, epochs, resumed, fit_of)
            for number, layer, goes_on in left:
                at = RunState(plan=plan, position=RunPosition())
                at = at if goes_on is None else goes_on.state
                with (
                    self._scheduler_must_answer(SESSION_ADVICE),
                    Driver(
                        self._client,
                        layer,
                        self._master,
                        prepared,
                        workers=workers,
                        resources=resources,
                        listeners=self._shown(hearing, layer),
                        evaluate=self.evaluate,
                        tally=self._tally,
                        threshold=at.threshold,
                        plan=lambda: plan,
                        resumed=goes_on,
                        states=at.members,
                        layer_number=number,
                    ) as driver,
                ):
                    self.last_fit = self.network.last_fit = driver.report
                    driver.fit(epochs, shuffle=shuffle, start_at=at.position)
            self.last_fit = self.network.last_fit
        return self.network

    def _training(self, who: str) -> AbstractContextManager[None]:
        """Be the one that trains the network: two fits would each keep what it did."""
        return self.network.turns.training(who, wait_to_train_s())

    def _shown(self, hearing: Sequence[Listener], trained: Trained) -> list[Listener]:
        """Return listeners with the one that shows a fit in Dask's dashboard."""
        return [*hearing, DashboardListener(self._client, trained, self._master)]

    def _plan(
        self,
        prepared: PreparedData,
        normalizer: Normalizer | None,
        *,
        shuffle: bool,
        batch_size: int | None,
    ) -> RunPlan:
        """Return what a run on the cluster is trained by, in all its epochs."""
        return RunPlan(
            seed=self._master.seed(self.network.conf.seed),
            shuffle=shuffle,
            batch_size=batch_size,
            normalizer=None if normalizer is None else type(normalizer).__name__,
            master=self._master.in_words(),
            data=prepared.fingerprint,
        )

    def _workers_for(
        self,
        trained: Trained,
        start_timeout_s: float | None,
        workers: Sequence[str] | int | None,
        resources: Mapping[str, float] | None,
    ) -> AbstractContextManager[None]:
        """Wait for workers in a block, whose memory can hold what is trained."""
        enough_workers = self._enough_workers(start_timeout_s, workers, resources)
        check = partial(
            check_members_fit,
            self._client,
            type(self).__name__,
            trained,
            self._master,
            workers,
            resources,
        )
        return fitting_workers(enough_workers, check)

    @contextmanager
    def _prepared(
        self,
        trained: Trained,
        data: Any,
        given: SourceOptions,
        enough_workers: AbstractContextManager[None],
        tell: Tell,
        *,
        batch_size: int | None,
        normalizer: Any,
    ) -> Iterator[PreparedData]:
        """Wait for workers, and bring data to them, checked; they stay in the block."""
        with ExitStack() as held:
            with self._scheduler_must_answer(AGAIN):
                held.enter_context(enough_workers)
                kinds = packed_kinds(self.network.conf.to_dict())
                own = travelling(self._master, given, kinds)
                check_travels(self._client, type(self).__name__, own)
                there, how = held.enter_context(self._handed_over(data, given))
                tell("checking the data, of which every example is read once")
                prepared = prepare(
                    trained,
                    there,
                    how,
                    batch_size=batch_size,
                    normalizer=normalizer,
                    scan=scan_on(self._client),
                )
            yield prepared


def tell_preparing(listeners: Iterable[Listener], doing: str) -> None:
    """Tell listeners what is done in front of a fit."""
    for listener in listeners:
        listener.on_event(Preparing(doing=doing))
