"""The front ends: a network, a training master and a cluster in one object.

They stand in for DL4J's SparkDl4jMultiLayer and SparkComputationGraph. What they take
as data is whatever a source opens: a path or paths, DataSets, Dask or xarray
collections, DataFrames and RDDs of Spark. Every method answers to DL4J's camelCase
name as well.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from distributed import Client

from daskdl.checks import check_count, check_type
from daskdl.cluster.asynchronous import serves_asynchronous_clients
from daskdl.cluster.dl4j_methods import answers_to_dl4j
from daskdl.cluster.dl4j_names import GRAPH, SEQUENCE
from daskdl.cluster.driver import Driver
from daskdl.cluster.frontend_inference import N
from daskdl.cluster.frontend_pretraining import (
    STARTING,
    ClusterPretraining,
    tell_preparing,
)
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.cluster.member_states import KeptStates, States
from daskdl.cluster.preflight import check_master
from daskdl.cluster.session_members import SESSION_ADVICE
from daskdl.data.sources.paths import listed_paths
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import OptionError
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.hearing import hearing_of
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.preparation import given_options
from daskdl.nn.fitting.run_checkpoint import Resumed, resumed_run
from daskdl.nn.fitting.run_state import RunPosition
from daskdl.nn.given_in_one import data_in_one
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.loss_evaluations import REGRESSION_LOSSES
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl.nn.network import Network
from daskdl.nn.normalizing import NormalizerChoice, chosen_normalizer


class ClusterNetwork(ClusterPretraining[N]):
    """The base of both front ends: trains, evaluates and predicts on a cluster.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster to work on. If it is asynchronous, methods that ask the cluster
        for something are awaited: ``await network.fit(...)``.
    network : network or configuration
        A network is trained in place; a configuration is initialised first.
    training_master : TrainingMaster, optional
        How the workers train together; gradient sharing with its defaults if not given.
    normalizer : Normalizer, None or "own"
        Given to the network, which applies it to all data; None takes away the one that
        it has. Fitted on the cluster by the first ``fit`` unless it is.

    Attributes
    ----------
    network : network
        As the last fit left it.
    last_fit : FitReport or None
        What the last fit did.
    last_changes : WorkerChanges
        Which workers went and came during the last evaluation or prediction.
    last_skipped : int
        Rows that it left out, with ``handle_invalid="skip"``.
    """

    @data_in_one
    def fit(
        self,
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
        """Train on the cluster.

        Parameters
        ----------
        data
            A path or paths, DataSets, a Dask or xarray collection, or a DataFrame or an
            RDD of Spark.
        epochs : int
            Passes over the data; each example is trained once in each.
        batch_size : int, optional
            Examples of one minibatch of one worker; the training master's
            `batch_size_per_worker` if not given. DataSets and minibatch files keep
            their own unless one of both is given; all other data need it.
        shuffle : bool
            Whether each epoch visits the minibatches in another order.
        normalizer : Normalizer, None or "own"
            One that is given becomes the network's own, and is fitted first unless it
            is already. None for data that are normalized already.
        listeners : Listener or several, optional
            What hears of the fit; those of `set_listeners` if not given. At a prompt
            and in a notebook a line shows how far it is, too, unless the list is empty.
        resume : path or str, optional
            A checkpoint that a :class:`~daskdl.RunCheckpoint` wrote, or its directory:
            the run goes on from there, with the same data and arguments, and the same
            training master but for its limits of time. `epochs` are those of the whole
            run. Another number of workers trains each example once, too, but not with
            the same result to the bit.
        options, **source_options
            How to read `data`: see :class:`SourceOptions`. Single options may be given
            as keywords, such as ``features="features", label="label"``, and
            ``pre_processor`` for what DL4J sets on iterators.
        workers : sequence of str or int, optional
            Addresses, or how many; all that the cluster has if not given.
        resources : dict of str to float, optional
            What a worker must offer to take part, in Dask's words: ``{"GPU": 1}`` takes
            those that were started with ``--resources GPU=1``. Each holds it until the
            fit ends.
        start_timeout_s : float, optional
            How long workers may take to come; that of the training master if not given.

        Returns
        -------
        network
            The trained network, which is also ``self.network``.

        Raises
        ------
        OptionError, DataError, ShapeError
            Before any worker trains, when options, data and network do not go together,
            or the network surely does not fit into the memory of workers.
        NetworkBusyError
            If another thread is training the network.
        WorkerLostError
            When no worker is left.
        """
        who = type(self).__name__
        check_count(who, "epochs", epochs)
        check_type(who, "shuffle", shuffle, bool)
        batch_size = self._master.batch_size(batch_size)
        listeners = self._listeners if listeners is None else listeners
        hearing: list[Listener] = hearing_of(who, listeners)
        check_master(who, self.network, self._master)
        resumed = resumed_run(who, resume, self.network, epochs)
        used = (
            chosen_normalizer(who, self.normalizer, normalizer)
            if resumed is None
            else resumed.normalizer(who, normalizer)
        )
        given = given_options(f"{who}.fit", options, source_options)
        enough_workers = self._workers_for(
            self.network, start_timeout_s, workers, resources
        )
        tell = partial(tell_preparing, hearing)
        with ExitStack() as held:
            held.enter_context(self._training(who))
            prepared = held.enter_context(
                self._prepared(
                    self.network,
                    data,
                    given,
                    enough_workers,
                    tell,
                    batch_size=batch_size,
                    normalizer=used,
                )
            )
            plan = self._plan(prepared, used, shuffle=shuffle, batch_size=batch_size)
            if resumed is not None:
                resumed.check(who, plan)
                self._take_over(resumed)
                if resumed.is_complete(who, epochs):
                    return self._completed(resumed, hearing, epochs)
            elif used is not None:
                self.normalizer = used
            # A fit that fails leaves nothing to go on with.
            kept, self._kept = self._kept, KeptStates()
            states: States = (
                kept.of(self.network) if resumed is None else resumed.state.members
            )
            tell(STARTING)
            held.enter_context(self._scheduler_must_answer(SESSION_ADVICE))
            driver = held.enter_context(
                Driver(
                    self._client,
                    self.network,
                    self._master,
                    prepared,
                    workers=workers,
                    resources=resources,
                    listeners=self._shown(hearing, self.network),
                    evaluate=self.evaluate,
                    tally=self._tally,
                    threshold=self._threshold,
                    plan=lambda: plan,
                    resumed=resumed,
                    states=states,
                )
            )
            self.last_fit = self.network.last_fit = driver.report
            start_at = RunPosition() if resumed is None else resumed.state.position
            driver.fit(epochs, shuffle=shuffle, start_at=start_at)
            self._threshold = driver.threshold
            self._kept = KeptStates.behind(self.network, driver.states.bring())
        return self.network

    def _completed(
        self, resumed: Resumed, hearing: Sequence[Listener], epochs: int
    ) -> N:
        """Return the network of a run that has nothing left to train."""
        self.last_fit = self.network.last_fit = resumed.state.report
        resumed.tell_complete(Fit(hearing, epochs, lambda: self.network))
        return self.network

    def _take_over(self, resumed: Resumed) -> None:
        resumed.take_over(self.network)
        self._threshold = resumed.state.threshold

    def fit_paths(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        **fit_options: Any,
    ) -> N:
        """Train on files: :meth:`fit` under the name that DL4J gave it.

        Parameters
        ----------
        paths : path, or several
            Files and directories.
        **fit_options
            See :meth:`fit`.

        Raises
        ------
        OptionError
            If `paths` are none.
        """
        return self.fit(listed_paths(type(self).__name__, paths), **fit_options)


@answers_to_dl4j
@serves_asynchronous_clients
class DaskMultiLayer(ClusterNetwork[MultiLayerNetwork]):
    """A :class:`MultiLayerNetwork` on a Dask cluster; DL4J's SparkDl4jMultiLayer."""

    _kind = MultiLayerNetwork
    stands_for = SEQUENCE

    @data_in_one
    def fit_labeled_point(self, data: Any, **fit_options: Any) -> MultiLayerNetwork:
        """Train on an RDD of MLlib's labeled points: :meth:`fit` with their columns.

        Parameters
        ----------
        data, **fit_options
            See :meth:`fit`; `features` and `label` are those of labeled points.
        """
        columns = {"features": "features", "label": "label"}
        return self.fit(data, **{**columns, **fit_options})

    @data_in_one
    def fit_continuous_labeled_point(
        self, data: Any, **fit_options: Any
    ) -> MultiLayerNetwork:
        """Train on labeled points whose labels are numbers, no classes.

        Parameters
        ----------
        data, **fit_options
            See :meth:`fit_labeled_point`.

        Raises
        ------
        OptionError
            If the loss of the network is not between numbers.
        """
        (loss,) = self.network.output_losses
        if loss not in REGRESSION_LOSSES:
            raise OptionError(
                f"{type(self).__name__}.fit_continuous_labeled_point: the loss must be "
                f"between numbers, such as 'mse', got {loss!r}. For labels that are "
                "classes call fit_labeled_point."
            )
        return self.fit_labeled_point(data, **fit_options)

    def predict(self, features: Any) -> Any:
        """Return what the network puts out, computed in this process.

        Parameters
        ----------
        features : ndarray of shape (n_in,) or (rows, n_in), or Spark's vector or matrix

        Returns
        -------
        ndarray of shape (n_out,) or (rows, n_out)
        """
        to_array = getattr(features, "toArray", None)
        rows = np.asarray(features if to_array is None else to_array())
        if rows.ndim == 1:
            outputs: Any = self.network.output(rows[np.newaxis])
            return outputs[0]
        return self.network.output(rows)


@answers_to_dl4j
@serves_asynchronous_clients
class DaskComputationGraph(ClusterNetwork[ComputationGraph]):
    """A :class:`ComputationGraph` on a Dask cluster; DL4J's SparkComputationGraph."""

    _kind = ComputationGraph
    stands_for = GRAPH

    def fit_multi_data_set(self, data: Any, **fit_options: Any) -> ComputationGraph:
        """Train on data of several inputs: :meth:`fit` under DL4J's other name.

        Parameters
        ----------
        data, **fit_options
            See :meth:`fit`.
        """
        return self.fit(data, **fit_options)


def front_end(
    client: Client,
    network: Network[Any],
    training_master: TrainingMaster | None = None,
    *,
    normalizer: NormalizerChoice = "own",
) -> DaskMultiLayer | DaskComputationGraph:
    """Return the front end that fits the kind of `network`."""
    if isinstance(network, MultiLayerNetwork):
        return DaskMultiLayer(client, network, training_master, normalizer=normalizer)
    if isinstance(network, ComputationGraph):
        return DaskComputationGraph(
            client, network, training_master, normalizer=normalizer
        )
    raise OptionError(
        "front_end: network must be a MultiLayerNetwork or a ComputationGraph, got "
        f"{type(network).__name__}."
    )
