"""ROC of independent binary outputs."""

from typing import TypeVar

from daskdl.evaluation.json_text import json_of, of_json
from daskdl.evaluation.number_texts import fixed_text
from daskdl.evaluation.roc import thresholded_note
from daskdl.evaluation.roc_columns import ColumnRocs, name_width

R = TypeVar("R", bound="ROCBinary")


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
            f"{fixed_text(roc.auc(), 4):12s}{fixed_text(roc.auprc(), 4):12s}"
            f"{roc.count_actual_positive:<10d}{roc.count_actual_negative:<10d}"
            for name, roc in zip(self._row_names(), self.rocs, strict=True)
        ]
        return "\n".join([head, *lines]) + thresholded_note(self.threshold_steps)

    def to_json(self) -> str:
        """Return DL4J's JSON, byte for byte."""
        return json_of("ROCBinary", self)

    @classmethod
    def from_json(cls: type[R], text: str) -> R:
        """Return the evaluation that :meth:`to_json` or DL4J wrote.

        Raises
        ------
        FormatError
            When the text is no such JSON or holds impossible values.
        """
        return of_json("ROCBinary", cls, text)

    def _check_output_mask(self, shape: tuple[int, ...]) -> None:
        """Take any mask: outputs are independent."""
