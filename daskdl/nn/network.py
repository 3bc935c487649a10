"""What a network does with data in one process: train, predict, evaluate, save."""

import html
import os
from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, to_host
from daskdl.checks import check_type
from daskdl.data.sources.source import SourceOptions
from daskdl.dialects import Quirk
from daskdl.evaluation.evaluable import Evaluable
from daskdl.nn.batches import Batch
from daskdl.nn.conf.stored import keeping_outputs
from daskdl.nn.dialect_differences import differences
from daskdl.nn.file_formats import writer_of
from daskdl.nn.fitting.data_kinds import batches_of
from daskdl.nn.fitting.events import FitReport
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.local import fit_here
from daskdl.nn.given_in_one import data_in_one, refuse_pair
from daskdl.nn.inference import Inference
from daskdl.nn.loss_evaluations import count_rows, evaluation_for
from daskdl.nn.normalizing import NormalizerChoice, chosen_normalizer
from daskdl.nn.ports import Ports
from daskdl.nn.predictions import predicted
from daskdl.nn.pretrained_network import PretrainedNetwork
from daskdl.nn.step import Conf, StepNetwork
from daskdl.nn.summary import in_many_lines, in_one_line
from daskdl.nn.tbptt import forget
from daskdl.nn.time_steps import next_steps

N = TypeVar("N", bound="Network[Any]")
V = TypeVar("V", bound=Evaluable)


class Network(PretrainedNetwork, StepNetwork[Conf], Ports):
    """A network in one process: train, predict, evaluate, save.

    Parameters, attributes and errors: see :class:`~daskdl.nn.step.StepNetwork`.

    Notes
    -----
    Every method applies :attr:`normalizer` to the data that it is given, once. Where a
    method takes ``normalizer``, None is for data that are normalized already, and
    another normalizer takes the place of the network's own, for this call.
    """

    last_skipped = 0  # rows of a table that the last evaluation left out
    last_fit: FitReport | None = None
    """What the last :meth:`fit` did, epoch by epoch."""

    @data_in_one
    def fit(
        self: N,
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
        """Train on data in this process.

        Parameters
        ----------
        data
            A pair of arrays (features, labels), a DataSet, a MultiDataSet, a list of
            them or what yields them; a path or paths; a pandas data frame, an Arrow
            table, a Dask or xarray collection. Labels may be numbers of classes where
            the loss is one of classes, and a single column may come as (batch,).
        epochs : int
            Passes over the data; an iterator lasts for one only.
        batch_size : int, optional
            Examples of a minibatch; the last may be short. DataSets and minibatch
            files keep their own unless this is given, which cuts a list or files as a
            whole, and what is yielded one by one; all other data need it.
        shuffle : bool
            Whether each epoch visits the minibatches in another order, which the
            network's seed decides.
        normalizer : Normalizer, None or "own"
            One that is given becomes the network's own, since from now on the network
            expects what it makes of data. One that has learnt nothing yet is fitted
            first. None for data that are normalized already.
        listeners : Listener or several, optional
            What hears of the fit. At a prompt and in a notebook a line shows how far
            it is, too, unless the list is empty.
        resume : path or str, optional
            A checkpoint of a :class:`~daskdl.RunCheckpoint`, or its directory: the run
            goes on with the same data; `epochs` are those of the whole run.
        options, **source_options
            How to read data that have columns or files: see
            :class:`~daskdl.data.sources.source.SourceOptions`. Single options may be
            given as keywords, such as ``features=["x", "y"], label="class"``.

        Returns
        -------
        Network
            Itself, trained. :attr:`last_fit` tells what was done.

        Raises
        ------
        OptionError
            If `data` can be read once only and there is more than one pass, of which
            fitting the normalizer is one; if `batch_size` is needed and missing; if the
            normalizer changes labels that tell classes; if an output of classes has one
            number alone; or if `resume` is of a run with other data or arguments.
        DataError, ShapeError
            If there is no minibatch at all, or an example does not fit or holds a
            number that is not finite. Data in memory and in files are looked through
            before anything is trained, all others in the first pass.
        DivergedError
            When a score, or a parameter at the end of an epoch, is no number.
        NetworkBusyError
            If another thread is training the network.
        """
        fit_here(
            self,
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
    def inference(self) -> Inference:
        """What predicts, in steps, for those that do more between them."""
        return Inference(type(self).__name__, self._converter, self._passes)

    def rnn_time_step(
        self, features: Any, *, normalizer: NormalizerChoice = "own"
    ) -> Any:
        """Predict the next stretch of time series, in inference mode.

        Recurrent layers begin with the state that the last call left them, or with
        zeros after :meth:`rnn_clear_previous_state` and after training with truncated
        backpropagation through time. They are not saved; an error leaves them as they
        were. Convolutions, poolings and attention see the steps of the stretch alone.

        Parameters
        ----------
        features : ndarray, or list of them for several inputs
            In the data format of the inputs, with any number of time steps. For a
            single step the axis of time may be left out: (batch, features).
        normalizer : Normalizer, None or "own"
            None for features that are normalized already.

        Returns
        -------
        ndarray, or list of them for several outputs
            New arrays in the data format; without the axis of time where no features
            had one.

        Raises
        ------
        ShapeError
            If features do not fit, or there are more or fewer series than before.
        OptionError
            If a layer reads series from both ends.
        """
        who = type(self).__name__
        with self.normalizing(normalizer):
            results = next_steps(who, self._program, self._converter, features)
        return results[0] if len(results) == 1 else results

    def rnn_clear_previous_state(self) -> None:
        """Let the next :meth:`rnn_time_step` begin with zeros."""
        with self.turns.turn:
            forget(self._program.runs)

    def output(
        self,
        features: Any,
        *,
        features_mask: Any = None,
        labels_mask: Any = None,
        normalizer: NormalizerChoice = "own",
    ) -> Any:
        """Predict, without dropout and with running statistics.

        Parameters
        ----------
        features : ndarray, or list of them for several inputs
            In the data format of the inputs.
        features_mask : ndarray, or list of (ndarray or None), optional
            (batch, time); 1 keeps, 0 drops.
        labels_mask : ndarray, or list of (ndarray or None), optional
            As in a DataSet; what it drops of rows and series comes out as 0, as in
            DL4J.
        normalizer : Normalizer, None or "own"
            None for features that are normalized already.

        Returns
        -------
        ndarray, or list of them for several outputs
            New arrays in the data format, in the units of the labels.

        Raises
        ------
        ShapeError
            If features or masks do not fit.
        DataError
            If they do not hold real numbers, or one is not finite.
        """
        with self.normalizing(normalizer):
            arrays = self.inference.fitting(features, features_mask)
            self.inference.check(arrays)
            results = self.inference.outputs(arrays, labels_mask)
        return results[0] if len(results) == 1 else results

    def predict(
        self,
        features: Any,
        *,
        features_mask: Any = None,
        normalizer: NormalizerChoice = "own",
    ) -> Any:
        """Predict classes, choices or values, whatever the labels are.

        Parameters
        ----------
        features, features_mask, normalizer
            As of :meth:`output`.

        Returns
        -------
        ndarray, or list of them for several outputs
            Of classes (batch,) their names, or numbers where :attr:`class_names` is
            None; with an axis of time or of space in series and images. 0 or 1 where
            outputs do not exclude each other, else the values of :meth:`output`.

        Raises
        ------
        ShapeError, DataError
            As :meth:`output`.
        """
        outputs = self.output(
            features, features_mask=features_mask, normalizer=normalizer
        )
        listed = outputs if self.n_outputs > 1 else [outputs]
        found = predicted(self, listed)
        return found if self.n_outputs > 1 else found[0]

    @data_in_one
    def score_examples(
        self,
        batch: Batch,
        *,
        include_regularization: bool = False,
        normalizer: NormalizerChoice = "own",
    ) -> FloatArray:
        """Return the loss of each example, shape (batch,), in inference mode.

        Parameters
        ----------
        batch : DataSet, MultiDataSet or pair of arrays
            With labels.
        include_regularization : bool
            Add what regularization adds to the score, to each example.
        normalizer : Normalizer, None or "own"
            None for a batch that is normalized already.
        """
        scores, _ = self.score_and_output(batch, normalizer=normalizer)
        if include_regularization:
            scores += self.regularization_score()
        return scores

    def score_and_output(
        self, batch: Batch, *, normalizer: NormalizerChoice = "own"
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Return losses and predictions of one forward pass, in inference mode.

        Parameters
        ----------
        batch : DataSet, MultiDataSet or pair of arrays
            With labels.
        normalizer : Normalizer, None or "own"
            None for a batch that is normalized already.

        Returns
        -------
        scores : ndarray of shape (batch,)
            The loss of each example, without regularization; that of normalized labels,
            if they are normalized, which is what training makes small.
        outputs : list of ndarray
            One an output, in the data format and the units of the labels.
        """
        with self.normalizing(normalizer):
            arrays = self._checked(batch, numbers=True)
            results = self.inference.inside(arrays)
            labels, masks = self._converter.labels(arrays)
            scores: FloatArray = np.zeros(arrays.num_examples, self.dtype)
            for each in self._passes.score_examples(labels, masks):
                scores += each
            return scores, self._converter.to_data_format(results)

    def compute_score(
        self, batch: Batch, *, normalizer: NormalizerChoice = "own"
    ) -> float:
        """Return the score in inference mode, with what regularization adds."""
        with self.normalizing(normalizer):
            arrays = self._checked(batch, numbers=True)
            self.inference.inside(arrays)
            # Not the scores of the examples: some losses are of a whole minibatch.
            labels, masks = self._converter.labels(arrays)
            loss = self._passes.loss(labels, masks, averages=self.conf.mini_batch)
        return loss + self.regularization_score()

    @overload
    def evaluate(
        self,
        data: Any,
        *,
        batch_size: int | None = None,
        normalizer: NormalizerChoice = "own",
        options: SourceOptions | None = None,
        **source_options: Any,
    ) -> Any: ...

    @overload
    def evaluate(
        self,
        data: Any,
        evaluation: V,
        *,
        batch_size: int | None = None,
        normalizer: NormalizerChoice = "own",
        options: SourceOptions | None = None,
        **source_options: Any,
    ) -> V: ...

    @data_in_one
    def evaluate(
        self,
        data: Any,
        evaluation: Evaluable | None = None,
        *,
        batch_size: int | None = None,
        normalizer: NormalizerChoice = "own",
        options: SourceOptions | None = None,
        **source_options: Any,
    ) -> Any:
        """Compare predictions with labels; of several outputs the first, as in DL4J.

        Parameters
        ----------
        data, options, **source_options
            As :meth:`fit` takes them, with labels.
        evaluation : Evaluation, RegressionEvaluation or another, optional
            Counts on. If left out, the loss says which it is: a new
            :class:`~daskdl.evaluation.regression.RegressionEvaluation` for numbers, an
            :class:`~daskdl.evaluation.evaluation_binary.EvaluationBinary` for several
            outputs that do not exclude each other, else an
            :class:`~daskdl.evaluation.evaluation.Evaluation`.
        batch_size : int, optional
            Examples of one forward pass; affects speed and memory only.
        normalizer : Normalizer, None or "own"
            None for data that are normalized already.

        Returns
        -------
        the evaluation
            In the units of the data. Its ``eval`` takes other outputs.

        Raises
        ------
        OptionError
            If `evaluation` is none.
        ShapeError
            If the labels do not fit.
        DataError
            If there is no minibatch at all, or a number that is not finite.
        """
        who = f"{type(self).__name__}.evaluate"
        refuse_pair(who, evaluation)
        # Rows are counted, whatever the data format.
        evaluation = evaluation_for(self, axis=1) if evaluation is None else evaluation
        check_type(who, "evaluation", evaluation, Evaluable)
        batches = batches_of(who, self, data, batch_size, options, source_options)
        with self.keeping_threads():
            for batch in batches:
                with self.normalizing(normalizer):
                    arrays = self._converter.checked(batch, numbers=True)
                    outputs = self.inference.inside(arrays)
                    labels, masks = self._converter.rows_to_count(arrays)
                    mask = self.mask_to_count() if masks[0] is None else masks[0]
                    count_rows(evaluation, labels[0], outputs[0], mask)
        return evaluation

    def __repr__(self) -> str:
        """Return what it is, and how far it is trained, in one line."""
        return in_one_line(self)

    def _repr_html_(self) -> str:
        """Return the summary, for notebooks."""
        return f"<pre>{html.escape(self.summary())}</pre>"

    def summary(self) -> str:
        """Return a table: name, type, what goes in and out, parameters.

        Below it stand dialect, and normalizer and names of classes if there are any.
        """
        return in_many_lines(self)

    def with_dialect(self: N, name: str) -> tuple[N, list[Quirk]]:
        """Return the same network in another dialect, and what that changes.

        Parameters
        ----------
        name : str
            ``"exact"`` or ``"dl4j-1.0.0-M2.1"``.

        Returns
        -------
        network : like this one
            A copy: parameters, state, counters and normalizer are those of this one.
        differences : list of Quirk
            What it computes otherwise than this one; printed, each says what.

        Raises
        ------
        OptionError
            If there is no such dialect, or the network is none in it.
        """
        changed = differences(self.conf, name)
        return self._copied(keeping_outputs(self.conf.replaced, dialect=name)), changed

    def save(
        self,
        path_or_url: str | os.PathLike[str],
        *,
        format: str | None = None,
        normalizer: NormalizerChoice = "own",
        overwrite: bool = False,
    ) -> None:
        """Write everything needed to go on exactly from here.

        Parameters
        ----------
        path_or_url : str or path
            A plain path, ``file://``, ``hdfs://``, or what else fsspec opens.
        format : str, optional
            ``"daskdl"``, exact to the last bit; ``"dl4j"``, what DL4J 1.0.0-M2.1
            reads; ``"onnx"``, for inference alone; ``"dl4j-json"`` and
            ``"dl4j-yaml"``, DL4J's configuration without numbers; or another name in
            the entry-point groups ``daskdl.formats`` and ``daskdl.exports``. If left
            out, the ending says it, as for ``daskdl convert``: ``.zip`` is DL4J's, for
            instance; all names that have none of these endings mean ``"daskdl"``.
        normalizer : Normalizer, None or "own"
            What the file says that data go through; None for nothing.
        overwrite : bool
            Replace what is there.

        Raises
        ------
        OptionError
            If no such format is installed, or the ending is that of another.
        OutputExistsError
            If something is there and `overwrite` is False.
        FormatError
            If the format has no word for something in the network.
        """
        check_type("Network.save", "overwrite", overwrite, bool)
        writer = writer_of("Network.save", path_or_url, format)
        kept = chosen_normalizer("Network.save", self.normalizer, normalizer)
        with self.turns.turn:
            writer.save(self, path_or_url, normalizer=kept, overwrite=overwrite)

    def check_batch(self, batch: Batch) -> None:
        """Refuse a minibatch that cannot be trained on.

        Raises
        ------
        ShapeError
            If features, labels or masks do not fit, naming the layer.
        DataError
            If it is no data set, or has no labels.
        """
        self._fitting(batch)

    def labels_to_count(self, batch: Batch) -> list[Any]:
        """Return the labels of a minibatch as evaluations take them, one an output.

        They are like the outputs: numbers of classes become rows of 0 and 1.
        """
        return self._converter.labels_to_count(self._converter.checked(batch))

    def mask_to_count(self, output: int = 0) -> NDArray[Any] | None:
        """Return what evaluations take for the mask where labels have none.

        Returns
        -------
        ndarray of shape (batch,) or (batch, time), or None
            Of the last forward pass: the mask that counts in the loss of the output.
        """
        ignores = "evaluation_ignores_features_mask" in self.conf.quirks_of_dialect
        mask = None if ignores else self._passes.loss_mask(output)
        return None if mask is None else to_host(mask)
