"""What the front ends do with a trained network: evaluate, score and predict."""

import asyncio
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Generic, TypeVar

from distributed import Client

from daskdl.checks import check_count, check_positive, check_type
from daskdl.cluster.connection import check_client, scheduler_must_answer
from daskdl.cluster.dl4j_names import AVERAGING, SHARED, VOID
from daskdl.cluster.enough_workers import enough_workers
from daskdl.cluster.example_scores import ScoreTask, score_examples_of
from daskdl.cluster.inference import (
    InferenceTask,
    Predicted,
    Scored,
    Tallied,
    columns_without_rows,
    output_columns,
    predict_source,
    scored_of,
    tally_source,
)
from daskdl.cluster.known_options import KnownOptions
from daskdl.cluster.masters.options import SharedTrainingMaster, TrainingMaster
from daskdl.cluster.member_states import KeptStates
from daskdl.cluster.results import (
    are_pairs,
    as_opened,
    check_predictable,
    check_written,
    columns_of,
    dataset_of_pairs,
    is_labelled,
    key_names,
    labelled,
    pairs_of,
    scores_of,
)
from daskdl.cluster.worker_changes import WorkerChanges
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.sinks import Sink, open_sink
from daskdl.data.sources.handed_over import handed_over, with_defaults
from daskdl.data.sources.partition import Source
from daskdl.data.sources.returned import Returned, returned_for
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError, OptionError
from daskdl.evaluation.evaluable import Evaluable, evaluations_of
from daskdl.nn.build import build_network
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.fitting.class_names import check_class_names
from daskdl.nn.fitting.events import FitReport
from daskdl.nn.fitting.preparation import given_options, options_for
from daskdl.nn.given_in_one import data_in_one
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl.nn.normalizing import NormalizerChoice, chosen_normalizer, fitted_normalizer
from daskdl.nn.tallies import ScoreTally, Tally
from daskdl.option_types import with_checked_types

AGAIN = "Start it, and try again."
DEFAULT_EVALUATION_BATCH_SIZE = 64  # DL4J's DEFAULT_EVAL_SCORE_BATCH_SIZE

N = TypeVar("N", MultiLayerNetwork, ComputationGraph)


class ClusterInference(KnownOptions, Generic[N]):
    """A network on a cluster, as far as it is not trained.

    Parameters and attributes are those of
    :class:`~daskdl.cluster.frontend.ClusterNetwork`.
    """

    classes_of_dl4j = (SHARED, AVERAGING, VOID)
    _kind: type[N]

    def __init__(
        self,
        client: Client,
        network: N | MultiLayerConfiguration | ComputationGraphConfiguration,
        training_master: TrainingMaster | None = None,
        *,
        normalizer: NormalizerChoice = "own",
    ) -> None:
        who = type(self).__name__
        check_client(who, client)
        if training_master is not None:
            check_type(who, "training_master", training_master, TrainingMaster)
        built = self._built(network)
        used = chosen_normalizer(who, built.normalizer, normalizer)
        if used is not built.normalizer:
            built.normalizer = used
        self.network: N = built
        self.last_fit: FitReport | None = None
        self.last_changes = WorkerChanges()
        self.last_skipped = 0
        # Where the last fit left the threshold of gradient sharing, and what workers
        # alone had: the next one goes on.
        self._threshold = math.nan
        self._kept = KeptStates()
        self._client = client
        self._turn = asyncio.Lock()  # of asynchronous clients
        self._master = training_master or SharedTrainingMaster()

    def _built(
        self, network: N | MultiLayerConfiguration | ComputationGraphConfiguration
    ) -> N:
        """Return a network, initialised if it is a configuration."""
        built = (
            network
            if isinstance(network, MultiLayerNetwork | ComputationGraph)
            else build_network(network)
        )
        if not isinstance(built, self._kind):
            raise OptionError(
                f"{type(self).__name__}: network must be a {self._kind.__name__} or "
                f"its configuration, got {type(network).__name__}."
            )
        return built

    @property
    def normalizer(self) -> Normalizer | None:
        """The normalizer of the network."""
        return self.network.normalizer

    @normalizer.setter
    def normalizer(self, normalizer: Normalizer | None) -> None:
        self.network.normalizer = normalizer

    @data_in_one
    def score(
        self, data: Any, *, batch_size: int = DEFAULT_EVALUATION_BATCH_SIZE, **how: Any
    ) -> float:
        """Return the mean loss of an example, without regularization."""
        scored = self._scored("score", data, [], batch_size=batch_size, **how)
        return scored.loss_sum / scored.examples

    def _scored(
        self,
        called: str,
        data: Any,
        evaluations: Evaluable | Sequence[Evaluable],
        number: int = 0,
        most_copies: int | None = None,
        /,
        **how: Any,
    ) -> Scored:
        """Score, and evaluate an output; messages name the method that was called."""
        given = evaluations_of(f"{type(self).__name__}.{called}", evaluations)
        empty = ScoreTally(given, number)
        return scored_of(self._tallied(called, data, empty, most_copies, **how))

    def _tally(self, data: Any, empty: Tally, **how: Any) -> Tally:
        """Return a tally of one pass; how as for :meth:`evaluate`."""
        how = {"batch_size": DEFAULT_EVALUATION_BATCH_SIZE, **how}
        tally: Tally = self._tallied("evaluate", data, empty, **how).tally
        return tally

    def _tallied(
        self,
        called: str,
        data: Any,
        empty: Tally,
        most_copies: int | None = None,
        /,
        *,
        batch_size: int,
        normalizer: NormalizerChoice = "own",
        options: SourceOptions | None = None,
        start_timeout_s: float | None = None,
        **source_options: Any,
    ) -> Tallied:
        """Make one pass over data with labels, if the tally needs them."""
        check_count(type(self).__name__, "batch_size", batch_size)
        fitted_normalizer(type(self).__name__, self.normalizer, normalizer)
        who = f"{type(self).__name__}.{called}"
        wanted = given_options(who, options, source_options)
        if not empty.needs_labels:
            wanted = replace(wanted, require_labels=False)
        workers = self._enough_workers(start_timeout_s)
        task = InferenceTask(
            batch_size,
            normalizer=normalizer,
            most_copies=most_copies,
        )
        with (
            self._opened(data, wanted) as source,
            self._inferring(workers) as changes,
        ):
            tallied = tally_source(
                self._client, self.network, source, empty, task, changes
            )
        self.last_skipped = tallied.skipped
        if not tallied.examples:
            raise DataError(f"{source.name}: must hold an example, got none.")
        return tallied

    @data_in_one
    def score_examples(
        self,
        data: Any,
        *,
        include_regularization: bool = False,
        batch_size: int = DEFAULT_EVALUATION_BATCH_SIZE,
        normalizer: NormalizerChoice = "own",
        options: SourceOptions | None = None,
        start_timeout_s: float | None = None,
        **source_options: Any,
    ) -> Any:
        """Return the loss of each example, in inference mode.

        Parameters
        ----------
        data
            What :meth:`fit` takes, with labels.
        include_regularization : bool
            Add what regularization adds to the score, to each example.
        batch_size : int
            Examples of one forward pass; affects speed only.
        normalizer : Normalizer, None or "own"
            None for data that are normalized already.
        start_timeout_s : float, optional
            How long workers may take to come; that of the training master if not given.

        Returns
        -------
        ndarray of shape (examples,), or list of (key, float)
            In the order of the data; pairs if the examples have keys.
        """
        check_count(type(self).__name__, "batch_size", batch_size)
        fitted_normalizer(type(self).__name__, self.normalizer, normalizer)
        who = f"{type(self).__name__}.score_examples"
        wanted = given_options(who, options, source_options)
        workers = self._enough_workers(start_timeout_s)
        task = ScoreTask(
            batch_size,
            normalizer=normalizer,
            include_regularization=include_regularization,
        )
        with (
            self._opened(data, wanted) as source,
            self._inferring(workers) as changes,
        ):
            scored = score_examples_of(
                self._client, self.network, source, task, changes
            )
        self.last_skipped = sum(entry.skipped for entry in scored)
        return scores_of(scored)

    @data_in_one
    def feed_forward_with_key(
        self,
        data: Any,
        *,
        key: str | Sequence[str] | None = None,
        output: str | None = None,
        output_format: str | None = None,
        overwrite: bool = False,
        batch_size: int = DEFAULT_EVALUATION_BATCH_SIZE,
        normalizer: NormalizerChoice = "own",
        options: SourceOptions | None = None,
        start_timeout_s: float | None = None,
        **source_options: Any,
    ) -> Any:
        """Predict, and give each prediction the key of its example.

        Parameters
        ----------
        data
            ``(key, features)`` pairs, or what :meth:`fit` takes.
        key : str or several, optional
            Column of the keys, or those that make tuples of keys. Pairs and DataSets
            bring theirs, and so does a source that was opened with them; labelled data
            keep their coordinates and need none.
        output : str, optional
            Directory to write part files to. Must not exist unless `overwrite`.
        output_format : str, optional
            Of the part files: ``parquet`` (if not given), ``csv``, ``json``,
            ``sequence_file`` or ``pickle``. In Parquet Spark reads ``probability`` as a
            vector column; the last two hold pairs, as the list that is returned
            without `output`.
        batch_size : int
            Examples of one forward pass; affects speed only.
        normalizer : Normalizer, None or "own"
            None for data that are normalized already.
        start_timeout_s : float, optional
            How long workers may take to come; that of the training master if not given.

        Returns
        -------
        list of (key, ndarray), xarray.Dataset, DataFrame, RDD, or int
            The form in which `data` came: labelled data give labelled predictions, a
            DataFrame of Spark comes back with columns of predictions behind its own, an
            RDD of pairs as one, all others as pairs, in which a network with several
            outputs has a tuple of arrays, and rows that are only kept have None.
            With `output` the number of rows written, beside what ``keep`` names. What a
            network puts out is given as it is: of one sigmoid output the probability of
            the second class, which stands in ``prediction``, and no class.

        Raises
        ------
        OptionError
            When the examples have no keys, or `output_format` is none, or given without
            `output`.
        DataError
            When the format has no form for keys of their type.
        """
        check_count(type(self).__name__, "batch_size", batch_size)
        fitted_normalizer(type(self).__name__, self.normalizer, normalizer)
        if output is None and output_format is not None:
            raise OptionError(
                "feed_forward_with_key: output_format must come with output, got "
                f"{output_format!r} without. Give output, or leave it out."
            )
        given = dataset_of_pairs(data) if are_pairs(data) else data
        who = f"{type(self).__name__}.feed_forward_with_key"
        wanted = given_options(who, options, source_options)
        workers = self._enough_workers(start_timeout_s)
        if key is not None:
            wanted = replace(wanted, key=columns_of(key))
        wanted = replace(as_opened(data, wanted), require_labels=False)
        check_written("feed_forward_with_key", wanted.keep, output)
        returned = None if output is not None else self._returned(given, wanted)
        if returned is not None:
            source = self._open(returned.data, returned.options)
            task = InferenceTask(batch_size, key_names(returned.key), normalizer)
            sink = open_sink(returned.output, storage_options=wanted.storage_options)
            self._write(source, sink, task, workers)
            return returned.bring(output_columns(self.network))
        task = InferenceTask(batch_size, key_names(wanted.key), normalizer)
        with self._opened(given, wanted) as source:
            check_predictable("feed_forward_with_key", source, wanted, output, data)
            if output is not None:
                sink = open_sink(
                    output,
                    format=output_format or "parquet",
                    overwrite=overwrite,
                    storage_options=wanted.storage_options,
                )
                return self._write(source, sink, task, workers)
            predicted = self._predict(source, None, task, workers)
        if is_labelled(data):
            return labelled(data, predicted, wanted)
        return pairs_of(predicted)

    @with_checked_types
    def save(
        self,
        path_or_url: str | os.PathLike[str],
        *,
        format: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """Save the network together with its normalizer; see :meth:`Network.save`."""
        self.network.save(path_or_url, format=format, overwrite=overwrite)

    def _predict(
        self,
        source: Source,
        sink: Sink | None,
        task: InferenceTask,
        workers: AbstractContextManager[None],
    ) -> list[Predicted]:
        with self._inferring(workers) as changes:
            predicted = predict_source(
                self._client, self.network, source, sink, task, changes
            )
        self.last_skipped = sum(entry.skipped for entry in predicted)
        return predicted

    @contextmanager
    def _inferring(
        self, workers: AbstractContextManager[None]
    ) -> Iterator[WorkerChanges]:
        """Wait for workers, and note who goes and comes in the block."""
        self.last_changes, self.last_skipped = WorkerChanges(), 0
        with self._scheduler_must_answer(AGAIN), workers:
            yield self.last_changes

    def _enough_workers(
        self,
        start_timeout_s: float | None,
        wanted: Sequence[str] | int | None = None,
        resources: Mapping[str, float] | None = None,
    ) -> AbstractContextManager[None]:
        """Check how long workers may take to come; wait for them in a block."""
        if start_timeout_s is None:
            start_timeout_s = self._master.start_timeout_s
        check_positive(type(self).__name__, "start_timeout_s", start_timeout_s)
        return enough_workers(self._client, wanted, resources, start_timeout_s)

    def _scheduler_must_answer(self, advice: str) -> AbstractContextManager[None]:
        return scheduler_must_answer(self._client, type(self).__name__, advice)

    def _handed_over(
        self, data: Any, options: SourceOptions
    ) -> AbstractContextManager[tuple[Any, SourceOptions]]:
        """Bring data to the workers, as the call says, or else the training master."""
        used = with_defaults(data, options, self._master.source_options())
        return handed_over(data, options_for(self.network, used, data), self._client)

    def _returned(self, data: Any, options: SourceOptions) -> Returned | None:
        # What comes back goes by files, whatever the master says of training.
        of_master = self._master.source_options()
        directory = {"export_directory": of_master["export_directory"]}
        return returned_for(data, with_defaults(data, options, directory))

    @contextmanager
    def _opened(self, data: Any, options: SourceOptions) -> Iterator[Source]:
        with self._handed_over(data, options) as (there, how):
            yield self._open(there, how)

    def _open(self, data: Any, options: SourceOptions) -> Source:
        source = open_source(data, options_for(self.network, options, data))
        check_class_names(self.network, source)
        return source

    def _write(
        self,
        source: Source,
        sink: Sink,
        task: InferenceTask,
        workers: AbstractContextManager[None],
    ) -> int:
        for partition in source.partitions[:1]:
            sink.check_columns(columns_without_rows(self.network, partition, task))
        try:
            sink.prepare()
            predicted = self._predict(source, sink, task, workers)
            sink.commit([entry.path for entry in predicted if entry.path is not None])
        except BaseException:
            sink.abort()
            raise
        return sum(entry.rows for entry in predicted)
