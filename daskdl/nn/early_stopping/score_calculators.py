"""What a network is worth while it is trained: DL4J's score calculators.

A calculator makes one pass over its data where the network is trained: in this process,
or by the workers of the cluster, which count what is near them.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from daskdl.checks import as_known, check_one_of, check_type
from daskdl.errors import OptionError
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_multi_class import ROCMultiClass
from daskdl.nn.fitting.evaluated_data import check_evaluated
from daskdl.nn.fitting.listeners import figures_of
from daskdl.nn.loss_evaluations import evaluation_for, is_independent
from daskdl.nn.output_choice import output_number
from daskdl.nn.tallies import ScoreTally

if TYPE_CHECKING:
    from daskdl.nn.fitting.fit import Fit
    from daskdl.nn.network import Network

__all__ = [
    "ClassificationScoreCalculator",
    "DataSetLossCalculator",
    "ROCScoreCalculator",
    "RegressionScoreCalculator",
    "ScoreCalculator",
    "calculator_of",
    "known_metric",
]

_ROC_METRICS = {"AUC": "AUROC", "AUPRC": "AUPRC"}


class ScoreCalculator:
    """The base class of score calculators.

    One of your own calls ``fit.tally`` or ``fit.evaluate`` in `calculate_score`.

    Attributes
    ----------
    figures : dict of str to float
        What the last pass has found, by names for the report.

    References
    ----------
    DL4J, ``ScoreCalculator``.
    """

    #: Whether a lower score is better.
    minimize_score = True
    figures: Mapping[str, float] = MappingProxyType({})

    def check(self, network: "Network[Any]") -> None:
        """Refuse a network that has no such score, before it is trained.

        Raises
        ------
        OptionError
        """

    def check_data(self, name: str, fit: "Fit") -> None:
        """Refuse data that the network has no score of, before it is trained.

        Parameters
        ----------
        name : str
            Of the evaluation, in front of messages.
        fit : Fit
            As it begins.

        Raises
        ------
        DataError, ShapeError, OptionError
        """

    def in_words(self) -> str:
        """Return what score it is: a run goes on with the same one only."""
        return type(self).__name__

    def calculate_score(self, fit: "Fit") -> float:
        """Return the score of ``fit.network`` as it is now.

        Parameters
        ----------
        fit : Fit
            At the end of an epoch, or at a standstill.
        """
        raise NotImplementedError


class _OfOnePass(ScoreCalculator):
    """Scores that come of losses and one evaluation of an output.

    Parameters
    ----------
    data, **how
        As ``evaluate`` of what ``fit`` is called on takes them.
    output : str or int, optional
        Which output of a graph, by its name or its number; the first if not given. The
        loss is that of all.
    """

    def __init__(
        self, data: Any, *, output: str | int | None = None, **how: Any
    ) -> None:
        self._data = data
        self._output = output
        self._how = how

    def in_words(self) -> str:
        """Return what score it is, with the output that was asked for."""
        of = "" if self._output is None else f" of output {self._output!r}"
        return f"{type(self).__name__}{self._what()}{of}"

    def _what(self) -> str:
        return ""

    def _number(self, network: "Network[Any]") -> int:
        return output_number(type(self).__name__, network, self._output)

    def check(self, network: "Network[Any]") -> None:
        """Refuse a network whose loss asks for other evaluations."""
        self._evaluations(network)

    def check_data(self, name: str, fit: "Fit") -> None:
        """Refuse data that do not fit the network."""
        check_evaluated(name, fit, self._data, **self._how)

    def calculate_score(self, fit: "Fit") -> float:
        """Return the score of the network, after one pass over the data."""
        network = fit.network
        evaluations = self._evaluations(network)
        empty = ScoreTally(evaluations, self._number(network))
        filled = fit.tally(self._data, empty, **self._how)
        # As training has it: with what regularization adds.
        loss = filled.loss_sum / filled.examples + network.regularization_score()
        figures = {"loss": loss}
        for evaluation in filled.evaluations:
            figures |= self._figures(evaluation)
        self.figures = figures
        return self._score(network, filled)

    def _evaluations(self, network: "Network[Any]") -> list[Evaluable]:
        return [evaluation_for(network, output=self._number(network))]

    def _figures(self, evaluation: Evaluable) -> dict[str, float]:
        return figures_of(evaluation)

    def _score(self, network: "Network[Any]", filled: ScoreTally) -> float:
        raise NotImplementedError


class DataSetLossCalculator(_OfOnePass):
    """The loss of data, with what regularization adds; the lower the better.

    Parameters
    ----------
    data, **how
        As ``evaluate`` of what ``fit`` is called on takes them.
    average : bool
        The mean of an example in place of the sum of all.

    References
    ----------
    DL4J, ``DataSetLossCalculator``, ``DataSetLossCalculatorCG``,
    ``SparkDataSetLossCalculator``, ``SparkLossCalculatorComputationGraph``.
    """

    def __init__(self, data: Any, average: bool = True, **how: Any) -> None:
        super().__init__(data, **how)
        check_type(type(self).__name__, "average", average, bool)
        self._average = average

    def _what(self) -> str:
        return "" if self._average else "(average=False)"

    def _evaluations(self, network: "Network[Any]") -> list[Evaluable]:
        # An output that there is not is refused all the same.
        self._number(network)
        try:
            return super()._evaluations(network)
        except OptionError:
            # Of outputs that are neither classes nor values the loss has to do.
            return []

    def _score(self, network: "Network[Any]", filled: ScoreTally) -> float:
        loss = self.figures["loss"]
        return loss if self._average else loss * filled.examples


class ClassificationScoreCalculator(_OfOnePass):
    """A metric of classes; the higher the better, but for ``FAR``.

    Parameters
    ----------
    metric : str
        ``"ACCURACY"``, ``"F1"``, ``"PRECISION"``, ``"RECALL"``, ``"GMEASURE"``,
        ``"MCC"``; also ``"FAR"`` of outputs that do not exclude each other, of which
        each metric is the mean.
    data, **how
        As ``evaluate`` of what ``fit`` is called on takes them.

    References
    ----------
    DL4J, ``ClassificationScoreCalculator``.
    """

    #: The names of metrics.
    METRICS = EvaluationBinary.METRICS

    def __init__(self, metric: str, data: Any, **how: Any) -> None:
        super().__init__(data, **how)
        self._metric = known_metric(type(self).__name__, metric, self.METRICS)
        self.minimize_score = self._metric == "FAR"

    def _what(self) -> str:
        return f"({self._metric!r})"

    def _evaluations(self, network: "Network[Any]") -> list[Evaluable]:
        who = type(self).__name__
        (evaluation,) = found = super()._evaluations(network)
        if not isinstance(evaluation, Evaluation | EvaluationBinary):
            raise _wrong_loss(who, "classes", network, self._number(network))
        if self._metric not in evaluation.METRICS:
            raise OptionError(
                f"{who}: metric must be one of {', '.join(evaluation.METRICS)} where "
                f"classes exclude each other, got {self._metric!r}."
            )
        return found

    def _figures(self, evaluation: Evaluable) -> dict[str, float]:
        return {**figures_of(evaluation), **_figure(evaluation, self._metric)}

    def _score(self, network: "Network[Any]", filled: ScoreTally) -> float:
        return filled.evaluations[0].score_for_metric(self._metric)


class RegressionScoreCalculator(_OfOnePass):
    """A metric of values, the mean over columns; of ``PC`` and ``R2`` more is better.

    Parameters
    ----------
    metric : str
        ``"MSE"``, ``"MAE"``, ``"RMSE"``, ``"RSE"``, ``"PC"`` or ``"R2"``.
    data, **how
        As ``evaluate`` of what ``fit`` is called on takes them.

    References
    ----------
    DL4J, ``RegressionScoreCalculator``.
    """

    #: The names of metrics.
    METRICS = RegressionEvaluation.METRICS

    def __init__(self, metric: str, data: Any, **how: Any) -> None:
        super().__init__(data, **how)
        self._metric = known_metric(type(self).__name__, metric, self.METRICS)
        self.minimize_score = self._metric not in ("PC", "R2")

    def _what(self) -> str:
        return f"({self._metric!r})"

    def _evaluations(self, network: "Network[Any]") -> list[Evaluable]:
        (evaluation,) = found = super()._evaluations(network)
        if not isinstance(evaluation, RegressionEvaluation):
            number = self._number(network)
            raise _wrong_loss(type(self).__name__, "values", network, number)
        return found

    def _figures(self, evaluation: Evaluable) -> dict[str, float]:
        # MSE is what stands there in any case.
        own = {} if self._metric == "MSE" else _figure(evaluation, self._metric)
        return {**figures_of(evaluation), **own}

    def _score(self, network: "Network[Any]", filled: ScoreTally) -> float:
        return filled.evaluations[0].score_for_metric(self._metric)


class ROCScoreCalculator(_OfOnePass):
    """The area under a curve; the higher the better.

    Parameters
    ----------
    metric : str
        ``"AUC"`` or ``"AUPRC"``. Of several outputs it is the mean.
    data, **how
        As ``evaluate`` of what ``fit`` is called on takes them.
    threshold_steps : int
        See :class:`~daskdl.ROC`; 0 is exact, and brings the probability of every
        example to the client.

    Notes
    -----
    Which of DL4J's types of curves it is, the network's output says: a number or two
    classes have one; several classes one each, and outputs that do not exclude each
    other, too.

    References
    ----------
    DL4J, ``ROCScoreCalculator``.
    """

    #: The names of metrics.
    METRICS = tuple(_ROC_METRICS)
    minimize_score = False

    def __init__(
        self, metric: str, data: Any, *, threshold_steps: int = 0, **how: Any
    ) -> None:
        super().__init__(data, **how)
        self._metric = known_metric(type(self).__name__, metric, self.METRICS)
        # It checks them.
        self._steps = ROC(threshold_steps).threshold_steps

    def _what(self) -> str:
        return f"({self._metric!r})"

    def _evaluations(self, network: "Network[Any]") -> list[Evaluable]:
        number = self._number(network)
        evaluation: Any = evaluation_for(network, output=number)
        if isinstance(evaluation, RegressionEvaluation):
            raise _wrong_loss(type(self).__name__, "classes", network, number)
        how = {"axis": evaluation.axis, "dialect": network.conf.dialect}
        if is_independent(network, number):
            return [evaluation, ROCBinary(self._steps, **how)]
        if network.output_layer_n_out[number] in (1, 2):
            return [evaluation, ROC(self._steps, **how)]
        return [evaluation, ROCMultiClass(self._steps, **how)]

    def _figures(self, evaluation: Evaluable) -> dict[str, float]:
        if isinstance(evaluation, Evaluation | EvaluationBinary):
            return figures_of(evaluation)
        name = _ROC_METRICS[self._metric]
        return {self._metric.lower(): evaluation.score_for_metric(name)}

    def _score(self, network: "Network[Any]", filled: ScoreTally) -> float:
        name = _ROC_METRICS[self._metric]
        return filled.evaluations[-1].score_for_metric(name)


def calculator_of(who: str, given: Any, how: Mapping[str, Any]) -> ScoreCalculator:
    """Return a calculator; data stand for one of their loss.

    Raises
    ------
    OptionError
        If options of data come beside a calculator, or a metric without data.
    """
    if not isinstance(given, ScoreCalculator):
        _check_no_metric(who, given)
        return DataSetLossCalculator(given, **how)
    if how:
        raise OptionError(
            f"{who}: {', '.join(how)} must be given to the score calculator, got a "
            f"{type(given).__name__} and them."
        )
    return given


def _check_no_metric(who: str, given: Any) -> None:
    """Refuse what names a metric: it would be taken for a path."""
    if not isinstance(given, str):
        return
    for kind in (
        ClassificationScoreCalculator,
        RegressionScoreCalculator,
        ROCScoreCalculator,
    ):
        if as_known(given, kind.METRICS) in kind.METRICS:
            raise OptionError(
                f"{who}: score_calculator must be a calculator with its data, or data, "
                f"got {given!r}. Give {kind.__name__}({given!r}, data)."
            )


def known_metric(who: str, metric: Any, known: Iterable[str]) -> str:
    """Return the name of a metric, in whatever spelling, or refuse it."""
    name: str = check_one_of(who, "metric", as_known(metric, known), known)
    return name


def _figure(evaluation: Evaluable, metric: str) -> dict[str, float]:
    return {metric.lower(): evaluation.score_for_metric(metric)}


def _wrong_loss(
    who: str, of_what: str, network: "Network[Any]", number: int
) -> OptionError:
    return OptionError(
        f"{who}: the network's loss must be one of {of_what}, got "
        f"{network.output_losses[number]!r}. Use DataSetLossCalculator."
    )
