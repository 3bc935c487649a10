"""The JSON of ``org.nd4j.evaluation.classification.EvaluationCalibration``."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.class_files import ClassFile
from daskdl.dl4j.evaluation.array_json import array_to_base64, array_to_json
from daskdl.dl4j.evaluation.fields import Fields, read_fields
from daskdl.dl4j.java.jackson import dumps
from daskdl.errors import FormatError
from daskdl.evaluation.calibration import EvaluationCalibration

C = TypeVar("C", bound=EvaluationCalibration)

CLASS = "org.nd4j.evaluation.classification.EvaluationCalibration"
# Before 1.0.0-beta3.
OLD_CLASS = "org.deeplearning4j.eval.EvaluationCalibration"
_WHO = "EvaluationCalibration"

# Our names of the sums, in the order of the file: rows are text, the rest is base64.
_FIELDS = {
    "bin_positive": "rDiagBinPosCount",
    "bin_total": "rDiagBinTotalCount",
    "bin_predictions": "rDiagBinSumPredictions",
    "label_counts": "labelCountsEachClass",
    "prediction_counts": "predictionCountsEachClass",
    "residual_all": "residualPlotOverall",
    "residual_by_class": "residualPlotByLabelClass",
    "probability_all": "probHistogramOverall",
    "probability_by_class": "probHistogramByLabelClass",
}
_COUNTS = frozenset({"bin_positive", "bin_total", "label_counts", "prediction_counts"})
_ROWS = frozenset(
    {"label_counts", "prediction_counts", "residual_all", "probability_all"}
)
# A bin a row of pixels is all that a plot can show; files name more in a few letters.
_MOST_BINS = 2**20


def write(evaluation: EvaluationCalibration) -> str:
    """Return the text; see :meth:`EvaluationCalibration.to_json`."""
    fields: dict[str, Any] = {
        "@class": CLASS,
        "reliabilityDiagNumBins": evaluation.reliability_diag_num_bins,
        "histogramNumBins": evaluation.histogram_num_bins,
        "excludeEmptyBins": evaluation.exclude_empty_bins,
        "axis": evaluation.axis,
    }
    for name, field in _FIELDS.items():
        array = evaluation.sums.get(name)
        if name in _ROWS:
            fields[field] = array_to_json(None if array is None else array[None])
        else:
            fields[field] = array_to_base64(array)
    return dumps(fields)


def read(text: str, kind: type[C]) -> C:
    """Return the evaluation of a text; see :meth:`EvaluationCalibration.from_json`."""
    fields = read_fields(_WHO, text, (CLASS, OLD_CLASS))
    options = {
        "reliability_diag_num_bins": fields.whole(
            "reliabilityDiagNumBins", least=1, most=_MOST_BINS
        ),
        "histogram_num_bins": fields.whole(
            "histogramNumBins", least=1, most=_MOST_BINS
        ),
        "exclude_empty_bins": fields.flag("excludeEmptyBins", default=True),
        "axis": fields.whole("axis", default=1, least=1, most=4),
    }
    found = {name: _read(fields, name) for name in _FIELDS}
    sums = {name: array for name, array in found.items() if array is not None}
    if sums and len(sums) < len(found):
        missing = sorted(_FIELDS[name] for name in found.keys() - sums.keys())
        raise FormatError(
            f"{_WHO}: a file with data must have all its sums, got none for "
            f"{missing[:5]}. DL4J forgets histograms when it merges into an empty "
            "evaluation."
        )
    return kind.of(sums, **options)


def _read(fields: Fields, name: str) -> NDArray[Any] | None:
    array = fields.array(_FIELDS[name])
    if array is None:
        return None
    dtype: Any = np.int64 if name in _COUNTS else np.float64
    least, most = 0, float(np.iinfo(np.int64).max // 2)
    if array.dtype.kind not in "fiu" or not ((array >= least) & (array <= most)).all():
        raise FormatError(
            f"{_WHO}: {_FIELDS[name]} must hold numbers >= 0, got {array.dtype} "
            f"{array.ravel()[:5].tolist()}."
        )
    return (array.ravel() if name in _ROWS else array).astype(dtype)


# By this EvaluationCalibration finds its JSON.
JSON = ClassFile(read, write)
