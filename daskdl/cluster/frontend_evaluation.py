"""What the front ends evaluate: every evaluation that DL4J's have a method for."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from daskdl.checks import check_count
from daskdl.cluster.frontend_inference import (
    DEFAULT_EVALUATION_BATCH_SIZE,
    ClusterInference,
    N,
)
from daskdl.cluster.inference import Scored
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_multi_class import ROCMultiClass
from daskdl.nn.given_in_one import data_in_one
from daskdl.nn.loss_evaluations import class_axis, evaluation_for
from daskdl.nn.output_choice import output_number
from daskdl.option_types import with_checked_types

DEFAULT_ROC_THRESHOLD_STEPS = 32  # as DL4J's

V = TypeVar("V", bound=Evaluable)


class ClusterEvaluation(ClusterInference[N]):
    """A network on a cluster, as far as it is evaluated.

    Parameters and attributes are those of
    :class:`~daskdl.cluster.frontend.ClusterNetwork`.
    """

    # Copies of the network in a worker process; None is one a thread.
    _evaluation_workers: int | None = None

    @data_in_one
    def evaluate(
        self,
        data: Any,
        *,
        output: str | int | None = None,
        eval_num_workers: int | None = None,
        batch_size: int = DEFAULT_EVALUATION_BATCH_SIZE,
        **how: Any,
    ) -> Any:
        """Evaluate on the cluster, with the evaluation that goes with the loss.

        Parameters
        ----------
        data, **how
            See :meth:`fit`; ``normalizer=None`` for data that are normalized already.
            With ``start_timeout_s``: how long workers may take to come.
        output : str or int, optional
            Which output of a graph, by its name or its number; the first if not given.
        eval_num_workers : int, optional
            How many copies of the network a worker process may hold for this, where
            memory is short; as many as it has threads if not given, unless
            `set_default_evaluation_workers` says how many.
        batch_size : int
            Examples of one forward pass; affects speed only.

        Returns
        -------
        Evaluation, EvaluationBinary or RegressionEvaluation
            As :meth:`daskdl.nn.network.Network.evaluate` chooses it, in the units of
            the data.
        """
        number = self._number("evaluate", output)
        empty = evaluation_for(self.network, output=number)
        how |= {"eval_num_workers": eval_num_workers, "batch_size": batch_size}
        return self._filled("evaluate", data, empty, number, how)

    @data_in_one
    def do_evaluation(
        self,
        data: Any,
        evaluations: Evaluable | Sequence[Evaluable],
        *,
        output: str | int | None = None,
        eval_num_workers: int | None = None,
        batch_size: int = DEFAULT_EVALUATION_BATCH_SIZE,
        **how: Any,
    ) -> list[Evaluable]:
        """Fill several evaluations in one pass over the data.

        Parameters
        ----------
        data, output, eval_num_workers, batch_size, **how
            See :meth:`evaluate`.
        evaluations : evaluation or several
            Empty ones; they are not changed.

        Returns
        -------
        list
            New evaluations in the same order.
        """
        number = self._number("do_evaluation", output)
        most = self._most_copies(eval_num_workers)
        return self._scored(
            *("do_evaluation", data, evaluations, number, most),
            batch_size=batch_size,
            **how,
        ).evaluations

    @with_checked_types
    def score_and_evaluate(
        self,
        data: Any,
        evaluations: Evaluable | Sequence[Evaluable],
        *,
        output: str | int | None = None,
        eval_num_workers: int | None = None,
        batch_size: int = DEFAULT_EVALUATION_BATCH_SIZE,
        **how: Any,
    ) -> Scored:
        """Return loss and evaluations of one pass over the data.

        Parameters
        ----------
        data, evaluations, output, eval_num_workers, batch_size, **how
            See :meth:`do_evaluation`. The loss is that of all outputs.
        """
        number = self._number("score_and_evaluate", output)
        most = self._most_copies(eval_num_workers)
        return self._scored(
            *("score_and_evaluate", data, evaluations, number, most),
            batch_size=batch_size,
            **how,
        )

    @data_in_one
    def evaluate_regression(
        self, data: Any, *, output: str | int | None = None, **how: Any
    ) -> RegressionEvaluation:
        """Compare with the labels as numbers, whatever the loss.

        Parameters
        ----------
        data, output, **how
            See :meth:`evaluate`.
        """
        number = self._number("evaluate_regression", output)
        empty = RegressionEvaluation(axis=class_axis(self.network, number))
        return self._filled("evaluate_regression", data, empty, number, how)

    @data_in_one
    def evaluate_roc(
        self,
        data: Any,
        *,
        threshold_steps: int = DEFAULT_ROC_THRESHOLD_STEPS,
        output: str | int | None = None,
        **how: Any,
    ) -> ROC:
        """Return the ROC of two classes.

        Parameters
        ----------
        data, output, **how
            See :meth:`evaluate`.
        threshold_steps : int
            How many thresholds are looked at; 0 takes every probability that occurs.
        """
        number = self._number("evaluate_roc", output)
        empty = ROC(
            threshold_steps,
            axis=class_axis(self.network, number),
            dialect=self.network.conf.dialect,
        )
        return self._filled("evaluate_roc", data, empty, number, how)

    @data_in_one
    def evaluate_roc_multi_class(
        self,
        data: Any,
        *,
        threshold_steps: int = DEFAULT_ROC_THRESHOLD_STEPS,
        output: str | int | None = None,
        **how: Any,
    ) -> ROCMultiClass:
        """Return the ROC of each class against all others.

        Parameters
        ----------
        data, output, **how
            See :meth:`evaluate`.
        threshold_steps : int
            How many thresholds are looked at; 0 takes every probability that occurs.
        """
        number = self._number("evaluate_roc_multi_class", output)
        empty = ROCMultiClass(
            threshold_steps,
            labels=self.network.class_names if number == 0 else None,
            axis=class_axis(self.network, number),
            dialect=self.network.conf.dialect,
        )
        return self._filled("evaluate_roc_multi_class", data, empty, number, how)

    @data_in_one
    def calculate_score(
        self,
        data: Any,
        *,
        average: bool = True,
        batch_size: int = DEFAULT_EVALUATION_BATCH_SIZE,
        **how: Any,
    ) -> float:
        """Return the loss of all examples, without what regularization adds.

        Parameters
        ----------
        data, batch_size, **how
            See :meth:`evaluate`.
        average : bool
            The mean of an example, which :meth:`score` returns, or the sum of all.
        """
        scored = self._scored("calculate_score", data, [], batch_size=batch_size, **how)
        return scored.loss_sum / (scored.examples if average else 1)

    def get_default_evaluation_workers(self) -> int | None:
        """Return how many copies of the network a worker process holds; None is all."""
        return self._evaluation_workers

    def set_default_evaluation_workers(self, workers: int | None) -> None:
        """Say how many copies of the network a worker process may hold in evaluations.

        Parameters
        ----------
        workers : int or None
            None is as many as it has threads.
        """
        if workers is not None:
            check_count(type(self).__name__, "workers", workers)
        self._evaluation_workers = workers

    def _filled(
        self,
        called: str,
        data: Any,
        empty: V,
        number: int,
        how: Mapping[str, Any],
    ) -> V:
        given = {"batch_size": DEFAULT_EVALUATION_BATCH_SIZE, **how}
        most = self._most_copies(given.pop("eval_num_workers", None))
        (found,) = self._scored(
            *(called, data, [empty], number, most), **given
        ).evaluations
        return cast(V, found)

    def _number(self, called: str, output: str | int | None) -> int:
        who = f"{type(self).__name__}.{called}"
        return output_number(who, self.network, output)

    def _most_copies(self, eval_num_workers: int | None) -> int | None:
        if eval_num_workers is None:
            return self._evaluation_workers
        return check_count(type(self).__name__, "eval_num_workers", eval_num_workers)
