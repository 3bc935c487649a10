"""Read an evaluation without knowing its class."""

from daskdl.evaluation import classification_json, regression
from daskdl.evaluation.evaluable import Evaluable
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.jackson import loads
from daskdl.evaluation.regression import RegressionEvaluation


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
    classification = (classification_json.CLASS, classification_json.OLD_CLASS)
    regressions = (regression.CLASS, regression.OLD_CLASS)
    name = loads(text, classification + regressions)["@class"]
    if name in classification:
        return Evaluation.from_json(text)
    return RegressionEvaluation.from_json(text)
