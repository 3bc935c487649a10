"""ROC of each class against the rest."""

from typing import TypeVar

from daskdl.evaluation.json_text import json_of, of_json
from daskdl.evaluation.number_texts import fixed_text
from daskdl.evaluation.roc import thresholded_note
from daskdl.evaluation.roc_columns import ColumnRocs, name_width

R = TypeVar("R", bound="ROCMultiClass")


class ROCMultiClass(ColumnRocs):
    """A ROC for each class, against all others together.

    Parameters
    ----------
    threshold_steps : int
        Count at the thresholds 0, 1 / n, ..., 1; 0 keeps the probability of every
        class of every example and is exact.
    roc_remove_redundant_pts : bool
        Leave points out of exact curves that lie between two of the same rate.
    labels : sequence of str, optional
        Names of the classes in :meth:`stats`; their numbers unless given.
    axis : int
        Axis of the classes: 1 for DL4J's NCW and NCHW, 2 and 3 for NWC and NHWC.
    dialect : str
        See :class:`~daskdl.evaluation.roc.ROC`.
    """

    def stats(self) -> str:
        """Return the table that DL4J prints, a line a class."""
        width = name_width(self._row_names())
        head = f"{'Label':{width}s}{'AUC':12s}{'# Pos':10s}{'# Neg':10s}"
        if not self.rocs:
            return f"{head}\n-- No Data --\n"
        lines = [
            f"{name:{width}s}{fixed_text(roc.auc(), 4):12s}"
            f"{roc.count_actual_positive:<10d}{roc.count_actual_negative:<10d}"
            for name, roc in zip(self._row_names(), self.rocs, strict=True)
        ]
        # DL4J has no line end before it.
        average = f"Average AUC: {fixed_text(self.average_auc(), 4):12s}"
        note = thresholded_note(self.threshold_steps)
        return "\n".join([head, *lines]) + average + note

    def to_json(self) -> str:
        """Return DL4J's JSON, byte for byte."""
        return json_of("ROCMultiClass", self)

    @classmethod
    def from_json(cls: type[R], text: str) -> R:
        """Return the evaluation that :meth:`to_json` or DL4J wrote.

        Raises
        ------
        FormatError
            When the text is no such JSON or holds impossible values.
        """
        return of_json("ROCMultiClass", cls, text)
