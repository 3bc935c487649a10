"""The JSON of ``ROCBinary`` and ``ROCMultiClass`` of ``org.nd4j.evaluation``."""

from typing import Any, TypeVar

from daskdl.class_files import ClassFile
from daskdl.dialects import DL4J
from daskdl.dl4j.evaluation import roc_json
from daskdl.dl4j.evaluation.fields import Fields, read_fields
from daskdl.dl4j.java.jackson import dumps
from daskdl.errors import FormatError
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_columns import ColumnRocs
from daskdl.evaluation.roc_multi_class import ROCMultiClass

C = TypeVar("C", bound=ColumnRocs)

BINARY = "org.nd4j.evaluation.classification.ROCBinary"
MULTI_CLASS = "org.nd4j.evaluation.classification.ROCMultiClass"
# Before 1.0.0-beta3.
OLD_BINARY = "org.deeplearning4j.eval.ROCBinary"
OLD_MULTI_CLASS = "org.deeplearning4j.eval.ROCMultiClass"


def write_binary(evaluation: ROCBinary) -> str:
    """Return the text; see :meth:`ROCBinary.to_json`."""
    return dumps(column_fields(evaluation))


def read_binary(text: str, kind: type[C]) -> C:
    """Return the evaluation of a text; see :meth:`ROCBinary.from_json`."""
    return read_columns(read_fields("ROCBinary", text, (BINARY, OLD_BINARY)), kind)


def write_multi_class(evaluation: ROCMultiClass) -> str:
    """Return the text; see :meth:`ROCMultiClass.to_json`."""
    return dumps(
        {
            "@class": MULTI_CLASS,
            "thresholdSteps": evaluation.threshold_steps,
            "rocRemoveRedundantPts": evaluation.roc_remove_redundant_pts,
            "underlying": _underlying(evaluation),
            "labels": evaluation.labels,
            "axis": evaluation.axis,
        }
    )


def read_multi_class(text: str, kind: type[C]) -> C:
    """Return the evaluation of a text; see :meth:`ROCMultiClass.from_json`."""
    classes = (MULTI_CLASS, OLD_MULTI_CLASS)
    return read_columns(read_fields("ROCMultiClass", text, classes), kind)


def column_fields(evaluation: ROCBinary) -> dict[str, Any]:
    """Return the fields of a ROCBinary in DL4J's order, for :func:`dumps`."""
    return {
        "@class": BINARY,
        "underlying": _underlying(evaluation),
        "thresholdSteps": evaluation.threshold_steps,
        "rocRemoveRedundantPts": evaluation.roc_remove_redundant_pts,
        "labels": evaluation.labels,
        "axis": evaluation.axis,
    }


def read_columns(fields: Fields, kind: type[C]) -> C:
    """Return the ROCs in fields, also those inside of another evaluation.

    Raises
    ------
    FormatError
        When the values do not go together.
    """
    labels = fields.names("labels")
    found = kind(
        fields.whole("thresholdSteps", most=2**31 - 1),
        roc_remove_redundant_pts=fields.flag("rocRemoveRedundantPts", default=True),
        labels=labels,
        axis=fields.whole("axis", default=1, least=1, most=4),
        dialect=DL4J,
    )
    underlying = fields.children("underlying") or []
    stored = [roc_json.of_fields(entry) for entry in underlying]
    if any(entry.threshold_steps != found.threshold_steps for entry in stored):
        raise FormatError(
            f"{fields.who}: thresholdSteps must be {found.threshold_steps} in "
            "every entry of underlying."
        )
    if stored and labels is not None and len(labels) != len(stored):
        raise FormatError(
            f"{fields.who}: labels must name {len(stored)} columns, got {len(labels)}."
        )
    found.rocs = [ROC.of(entry) for entry in stored]
    return found


def _underlying(evaluation: ColumnRocs) -> list[dict[str, Any]] | None:
    return [roc_json.to_fields(roc) for roc in evaluation.rocs] or None


# By these ROCBinary and ROCMultiClass find their JSON.
BINARY_JSON = ClassFile(read_binary, write_binary)
MULTI_CLASS_JSON = ClassFile(read_multi_class, write_multi_class)
