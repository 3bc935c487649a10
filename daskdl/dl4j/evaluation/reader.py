"""Read an evaluation without knowing its class."""

from collections.abc import Callable, Mapping

from daskdl.dl4j.evaluation import (
    binary_json,
    calibration_json,
    classification_json,
    columns_json,
    regression_json,
    roc_json,
)
from daskdl.dl4j.evaluation.fields import read_fields
from daskdl.evaluation.calibration import EvaluationCalibration
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.evaluation.roc import ROC
from daskdl.evaluation.roc_binary import ROCBinary
from daskdl.evaluation.roc_multi_class import ROCMultiClass

_READERS: Mapping[str, Callable[[str], Evaluable]] = {
    classification_json.CLASS: Evaluation.from_json,
    classification_json.OLD_CLASS: Evaluation.from_json,
    binary_json.CLASS: EvaluationBinary.from_json,
    binary_json.OLD_CLASS: EvaluationBinary.from_json,
    calibration_json.CLASS: EvaluationCalibration.from_json,
    calibration_json.OLD_CLASS: EvaluationCalibration.from_json,
    regression_json.CLASS: RegressionEvaluation.from_json,
    regression_json.OLD_CLASS: RegressionEvaluation.from_json,
    roc_json.CLASS: ROC.from_json,
    roc_json.OLD_CLASS: ROC.from_json,
    columns_json.BINARY: ROCBinary.from_json,
    columns_json.OLD_BINARY: ROCBinary.from_json,
    columns_json.MULTI_CLASS: ROCMultiClass.from_json,
    columns_json.OLD_MULTI_CLASS: ROCMultiClass.from_json,
}


def from_json(text: str) -> Evaluable:
    """Return the evaluation whose class the text names.

    Parameters
    ----------
    text : str
        What ``to_json`` of an evaluation here or in DL4J returned.

    Raises
    ------
    FormatError
        When the text is no JSON, or of a class that is not known here.
    """
    name = read_fields("evaluation", text, tuple(_READERS)).raw("@class")
    return _READERS[name](text)
