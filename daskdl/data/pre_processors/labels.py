"""The preprocessor that keeps the label of the last time step."""

from typing import Any, ClassVar, TypeVar

import numpy as np

from daskdl.checks import check_one_of, some
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.options import check_keys, check_kind
from daskdl.data.pre_processors.pre_processor import DataSetPreProcessor
from daskdl.errors import DataError, ShapeError

__all__ = ["LabelLastTimeStepPreProcessor"]

E = TypeVar("E", DataSet, MultiDataSet)


class LabelLastTimeStepPreProcessor(DataSetPreProcessor):
    """Takes the labels of the last time step, and drops their mask.

    That is the last step that the mask keeps; without a mask the last one. Where there
    are no labels nothing happens.

    Parameters
    ----------
    feature_axis : int
        Axis of the classes: 1 for labels (batch, classes, time), -1 for (batch, time,
        classes).

    Raises
    ------
    ShapeError
        In `transform`, if labels are no series, or their mask is none of steps.
    DataError
        In `transform`, if the mask of an example keeps no step.

    References
    ----------
    ``LabelLastTimeStepPreProcessor`` of Deeplearning4j 1.0.0-M2.1, which gives float32
    wherever there is a mask.
    """

    kind: ClassVar[str] = "label_last_time_step"
    reshapes_features: ClassVar[bool] = False

    def __init__(self, *, feature_axis: int = 1) -> None:
        check_one_of(type(self).__name__, "feature_axis", feature_axis, (1, -1))
        super().__init__(feature_axis=feature_axis)

    def _pre_processed(self, examples: E) -> E:
        of = MultiDataSet.of(examples)
        masks = of.labels_masks or [None] * len(of.labels)
        labels = [
            self._last(array, mask)
            for array, mask in zip(of.labels, masks, strict=True)
        ]
        if isinstance(examples, MultiDataSet):
            return examples.replaced(labels=labels, labels_masks=None)
        return examples.replaced(labels=labels[0] if labels else None, labels_mask=None)

    def _last(self, labels: Any, mask: Any) -> Any:
        who = f"{type(self).__name__}.transform"
        if labels.ndim != 3:
            raise ShapeError(
                f"{who}: labels must be series with three axes, got shape "
                f"{labels.shape}."
            )
        steps = np.moveaxis(labels, self.feature_axis, -1)
        if mask is None:
            return steps[:, -1].copy()
        if mask.shape != steps.shape[:2]:
            raise ShapeError(
                f"{who}: labels_mask must have shape {steps.shape[:2]}, got "
                f"{mask.shape}."
            )
        is_kept = np.asarray(mask) > 0
        empty = np.flatnonzero(~is_kept.any(axis=1))
        if len(empty):
            raise DataError(
                f"{who}: the mask of each example must keep a time step, got none of "
                f"{some(map(int, empty))}."
            )
        last = is_kept.shape[1] - 1 - is_kept[:, ::-1].argmax(axis=1)
        return steps[np.arange(len(steps)), last]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        return {"type": self.kind, "feature_axis": self.feature_axis}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "LabelLastTimeStepPreProcessor":
        """Return the preprocessor that `to_dict` described."""
        check_kind(cls.__name__, values, cls.kind)
        check_keys(cls.__name__, values, ["feature_axis"])
        return cls(feature_axis=values.get("feature_axis", 1))
