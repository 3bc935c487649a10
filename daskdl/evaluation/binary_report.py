"""The table that DL4J prints of an evaluation of binary outputs."""

from typing import TYPE_CHECKING

from daskdl.evaluation.number_texts import fixed_text, number_text
from daskdl.evaluation.roc_columns import name_width

if TYPE_CHECKING:
    from daskdl.evaluation.evaluation_binary import EvaluationBinary

_RATES = ("Accuracy", "F1", "Precision", "Recall")
_COUNTS = ("TP", "TN", "FP", "FN")


def binary_report(evaluation: "EvaluationBinary", digits: int) -> str:
    """Return the text of :meth:`EvaluationBinary.stats`."""
    n_outputs = evaluation.n_outputs
    names = evaluation.labels or [str(i) for i in range(n_outputs)]
    roc = evaluation.roc_binary
    width = name_width(names)
    head = f"{'Label':{width}s}" + "".join(f"{title:12s}" for title in _RATES)
    head += f"{'Total':8s}" + "".join(f"{title:7s}" for title in _COUNTS)
    head += f"{'AUC':12s}" if roc is not None else ""
    if not n_outputs:
        return f"{head}\n-- No Data --\n"
    lines = [head]
    cells = zip(names, _rates(evaluation), _counts(evaluation), strict=True)
    for i, (name, rates, counts) in enumerate(cells):
        line = f"{name:{width}s}"
        line += "".join(f"{fixed_text(rate, digits):12s}" for rate in rates)
        line += f"{sum(counts):<8d}" + "".join(f"{count:<7d}" for count in counts)
        if roc is not None:
            area = roc.auc(i) if roc.rocs else float("nan")
            line += f"{fixed_text(area, digits):12s}"
        lines.append(line)
    if evaluation.decision_threshold is not None:
        row = ", ".join(number_text(at) for at in evaluation.decision_threshold)
        lines.append(f"Per-output decision thresholds: [{row}]")
    return "\n".join(lines)


def _rates(evaluation: "EvaluationBinary") -> list[tuple[float, ...]]:
    columns = (
        evaluation.accuracy(),
        evaluation.f1(),
        evaluation.precision(),
        evaluation.recall(),
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _counts(evaluation: "EvaluationBinary") -> list[tuple[int, ...]]:
    counts = evaluation.counts
    columns = (
        counts.true_positives,
        counts.true_negatives,
        counts.false_positives,
        counts.false_negatives,
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))
