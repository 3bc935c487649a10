"""Results of a run, as metrics, files and a page."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from daskdl.cli.job import Job
from daskdl.cli.run_metrics import RunMetrics, in_words
from daskdl.cli.run_page import (
    PageFacts,
    accuracy_of,
    evaluation_summary,
    report_facts,
)
from daskdl.cli.versions import versions_here
from daskdl.cluster.inference import Scored
from daskdl.cluster.stats.report import EvaluationSummary
from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_columns import ColumnRocs
from daskdl.evaluation.roc_multi_class import ROCMultiClass
from daskdl.nn.early_stopping.result import EarlyStoppingResult
from daskdl.nn.fitting.events import FitReport
from daskdl.nn.loss_evaluations import (
    INDEPENDENT_LOSSES,
    evaluation_for,
    is_independent,
)
from daskdl.nn.network import Network

__all__ = ["Results", "evaluations_for"]

# Their outputs are probabilities, of which there are ROC curves and calibration.
_PROBABILITY_LOSSES = INDEPENDENT_LOSSES | {
    "mcxent",
    "negativeloglikelihood",
    "kl_divergence",
    "fmeasure",
}
# Behind them they are sure to be from 0 to 1; others may stand behind any loss.
_PROBABILITY_ACTIVATIONS = frozenset({"softmax", "sigmoid", "hardsigmoid"})
# Fine enough for a smooth curve, and few enough to send and add.
_ROC_STEPS = 1000
# Of more classes the worst curves tell little, and their counts take megabytes.
_MOST_CLASSES_DRAWN = 200


def evaluations_for(network: Network[Any]) -> list[Evaluable]:
    """Return the evaluation that the loss asks for, and the evaluations of the page."""
    first: Any = evaluation_for(network)
    axis, names = first.axis, network.class_names
    dialect = network.conf.dialect
    n_out, loss = network.output_layer_n_out[0], network.output_losses[0]
    tells_probabilities = (
        loss in _PROBABILITY_LOSSES
        and network.output_activations[0] in _PROBABILITY_ACTIVATIONS
    )
    if n_out is None or not tells_probabilities or n_out > _MOST_CLASSES_DRAWN:
        return [first]
    if n_out == 1:
        roc = ROC(_ROC_STEPS, axis=axis, dialect=dialect)
        return [first, roc, EvaluationCalibration(axis=axis)]
    kind = ROCBinary if is_independent(network) else ROCMultiClass
    rocs = kind(_ROC_STEPS, labels=names, axis=axis, dialect=dialect)
    return [first, rocs, EvaluationCalibration(axis=axis)]


@dataclass(frozen=True)
class Results:
    """Report, evaluation and network of a run.

    Attributes
    ----------
    job : Job
        As it ran.
    last_network : Network
        As the training left it.
    report : FitReport
        Of the fit.
    scored : Scored or None
        Loss and evaluation of the test data, as soon as they were evaluated.
    test_name : str
        What was evaluated on.
    early_stopping : EarlyStoppingResult or None
        What ended the training, where the job asks for it.
    """

    job: Job
    last_network: Network[Any]
    report: FitReport
    scored: Scored | None = None
    test_name: str = ""
    early_stopping: EarlyStoppingResult | None = None

    @property
    def network(self) -> Network[Any]:
        """The network of the run: the best one, where the job asks for it."""
        stopped = self.early_stopping
        return self.last_network if stopped is None else stopped.best_model

    @property
    def evaluation(self) -> Evaluable | None:
        """Of the test data."""
        return self.scored.evaluations[0] if self.scored else None

    def metrics(self, *, model: str | None, wall_s: float) -> RunMetrics:
        """Return the metrics of the run."""
        return RunMetrics(
            accuracy=accuracy_of(self.evaluation),
            loss=self._loss(),
            examples=self.report.examples,
            examples_per_s=round(self.report.examples_per_s, 1),
            wall_s=round(wall_s, 3),
            workers=len(self.report.workers),
            skipped=self.report.skipped,
            skipped_test=self.scored.skipped if self.scored else 0,
            repeated_examples=self.report.repeated_examples,
            bytes_sent=self.report.bytes_sent,
            lost_workers=self.report.lost_workers,
            joined_workers=self.report.joined_workers,
            model=model,
            **self._of_early_stopping(),
        )

    def _of_early_stopping(self) -> dict[str, Any]:
        stopped = self.early_stopping
        if stopped is None:
            return {}
        return {
            "best_epoch": stopped.best_model_epoch,
            "best_score": stopped.best_model_score,
            "ended_by": stopped.termination_details,
        }

    def statistics(self) -> dict[str, Any]:
        """Return the report of the fit as plain values, and what ended it early."""
        stopped = self.early_stopping
        more = {} if stopped is None else {"early_stopping": stopped.to_dict()}
        return {**self.report.to_dict(), **more}

    def page_facts(self) -> PageFacts:
        """Return what the HTML report shows beside the job and the fit."""
        return PageFacts(
            summary=self._summary(),
            network=self.network.summary(),
            versions=versions_here(),
            evaluation=self._evaluation_summary(),
        )

    def _loss(self) -> float | None:
        if self.scored is not None:
            return self.scored.loss_sum / self.scored.examples
        return self.report.epochs[-1].score if self.report.epochs else None

    def _summary(self) -> Mapping[str, str]:
        facts = {
            "accuracy": in_words(accuracy_of(self.evaluation), percent=True),
            "loss": in_words(self._loss()),
            "training master": self.job.training.master,
            **report_facts(self.report),
            **self._best(),
        }
        return {name: text for name, text in facts.items() if text}

    def _best(self) -> Mapping[str, str]:
        stopped = self.early_stopping
        if stopped is None:
            return {}
        return {
            "best epoch": str(stopped.best_model_epoch or ""),
            "its score": in_words(stopped.best_model_score),
            "ended by": stopped.termination_details,
        }

    def _evaluation_summary(self) -> EvaluationSummary | None:
        evaluation = self.evaluation
        if evaluation is None:
            return None
        return replace(
            evaluation_summary(self.test_name, evaluation),
            labels=self.network.class_names or (),
            roc=self._first(ROC, ColumnRocs),
            calibration=self._first(EvaluationCalibration),
        )

    def _first(self, *kinds: type) -> Any:
        """Return the first evaluation of these classes, or None."""
        evaluations = self.scored.evaluations if self.scored else []
        return next((e for e in evaluations if isinstance(e, kinds)), None)
