"""ROC of independent binary outputs."""

from typing import Any

from daskdl.evaluation import roc_json
from daskdl.evaluation.fields import Fields, read_fields
from daskdl.evaluation.jackson import dumps
from daskdl.evaluation.java_numbers import java_fixed
from daskdl.evaluation.roc import thresholded_note
from daskdl.evaluation.roc_columns import ColumnRocs, name_width

CLASS = "org.nd4j.evaluation.classification.ROCBinary"
# Before 1.0.0-beta3.
OLD_CLASS = "org.deeplearning4j.eval.ROCBinary"


class ROCBinary(ColumnRocs):
    """A ROC for each of several independent binary outputs.

    A mask may have one value an output. For classes that exclude each other there is
    :class:`~daskdl.evaluation.roc_multi_class.ROCMultiClass`, whose options these are.
    """

    def stats(self) -> str:
        """Return the table that DL4J prints, a line an output."""
        width = name_width(self._row_names())
        head = f"{'Label':{width}s}{'AUC':12s}{'AUPRC':12s}{'# Pos':10s}{'# Neg':10s}"
        if not self.rocs:
            return f"{head}\n-- No Data --\n"
        lines = [
            f"{name:{width}s}"
            f"{java_fixed(roc.auc(), 4):12s}{java_fixed(roc.auprc(), 4):12s}"
            f"{roc.count_actual_positive:<10d}{roc.count_actual_negative:<10d}"
            for name, roc in zip(self._row_names(), self.rocs, strict=True)
        ]
        return "\n".join([head, *lines]) + thresholded_note(self.threshold_steps)

    def to_json(self) -> str:
        """Return DL4J's JSON, byte for byte."""
        return dumps(to_fields(self))

    @classmethod
    def from_json(cls, text: str) -> "ROCBinary":
        """Return the evaluation that :meth:`to_json` or DL4J wrote.

        Raises
        ------
        FormatError
            When the text is no such JSON or holds impossible values.
        """
        return cls._of_fields(read_fields("ROCBinary", text, (CLASS, OLD_CLASS)))

    def _check_output_mask(self, shape: tuple[int, ...]) -> None:
        """Take any mask: outputs are independent."""


def to_fields(evaluation: ROCBinary) -> dict[str, Any]:
    """Return the fields of a ROCBinary in DL4J's order."""
    rocs = [roc_json.to_fields(roc) for roc in evaluation.rocs]
    return {
        "@class": CLASS,
        "underlying": rocs or None,
        "thresholdSteps": evaluation.threshold_steps,
        "rocRemoveRedundantPts": evaluation.roc_remove_redundant_pts,
        "labels": evaluation.labels,
        "axis": evaluation.axis,
    }


def of_fields(fields: Fields) -> ROCBinary:
    """Return the ROCBinary of its fields, for evaluations that hold one."""
    return ROCBinary._of_fields(fields)
