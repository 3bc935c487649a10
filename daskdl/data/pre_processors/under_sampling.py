"""Preprocessors that mask steps of the frequent one of two classes in training."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.random import stream
from daskdl.checks import check_count, check_one_of
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.options import check_keys, check_kind
from daskdl.data.pre_processors.pre_processor import DataSetPreProcessor
from daskdl.data.pre_processors.sampling import Sampling
from daskdl.errors import DataError, FormatError, OptionError

__all__ = [
    "UnderSampling",
    "UnderSamplingByMaskingMultiDataSetPreProcessor",
    "UnderSamplingByMaskingPreProcessor",
]

_Array: TypeAlias = NDArray[Any]
E = TypeVar("E", DataSet, MultiDataSet)

_FLAGS = ("mask_all_majority_windows", "mask_minority_windows")


class UnderSampling(DataSetPreProcessor):
    """Draws masks of labels anew for each minibatch that is trained."""

    reshapes_features: ClassVar[bool] = False

    def __init__(
        self,
        window_size: int,
        *,
        mask_all_majority_windows: bool,
        mask_minority_windows: bool,
        feature_axis: int,
        seed: int,
    ) -> None:
        who = type(self).__name__
        check_one_of(who, "feature_axis", feature_axis, (1, -1))
        super().__init__(feature_axis=feature_axis)
        self.window_size = check_count(who, "window_size", window_size)
        flags = (mask_all_majority_windows, mask_minority_windows)
        for name, flag in zip(_FLAGS, flags, strict=True):
            check_one_of(who, name, flag, (True, False))
        self.mask_all_majority_windows = mask_all_majority_windows
        self.mask_minority_windows = mask_minority_windows
        self.seed = seed
        self._n_drawn = 0

    def pre_process(self, examples: E) -> E:
        """Return the minibatch with a mask of its labels that was drawn for it.

        Only training calls this: a network is tried on all steps.

        Raises
        ------
        ShapeError, DataError
            If the labels are no series of two classes.
        """
        self._n_drawn += 1
        return self.drawn(examples, self._n_drawn)

    def drawn(self, examples: E, *numbers: int) -> E:
        """Return the minibatch with a mask of its labels that the numbers decide.

        Parameters
        ----------
        examples : DataSet or MultiDataSet
            With labels.
        *numbers : int
            Which minibatch of which epoch it is: a repeated one has the same mask.

        Raises
        ------
        ShapeError, DataError
            If the labels are no series of two classes.
        """
        return self._masked(examples, stream(self.seed, "under sampling", *numbers))

    def _pre_processed(self, examples: E) -> E:
        """Leave the examples as they are."""
        return examples

    def _masked(self, examples: E, rng: np.random.Generator) -> E:
        raise NotImplementedError

    def _drawn(
        self,
        labels: _Array,
        mask: _Array | None,
        target: float,
        minority: int,
        rng: np.random.Generator,
    ) -> _Array:
        sampling = Sampling(
            type(self).__name__,
            self.window_size,
            target,
            minority,
            mask_all_majority_windows=self.mask_all_majority_windows,
            mask_minority_windows=self.mask_minority_windows,
        )
        steps = np.moveaxis(labels, self.feature_axis, -1)
        kept = sampling.probabilities(steps, mask)
        dtype = labels.dtype if labels.dtype.kind == "f" else np.float32
        return (rng.random(kept.shape) < kept).astype(dtype)

    def _options(self) -> dict[str, Any]:
        return {
            "window_size": self.window_size,
            **{name: getattr(self, name) for name in _FLAGS},
            "feature_axis": self.feature_axis,
            "seed": self.seed,
        }


class UnderSamplingByMaskingPreProcessor(UnderSampling):
    """Masks steps of the frequent class, so that the rare one has the share it should.

    Parameters
    ----------
    target_minority_dist : float in (0, 0.5]
        The share of the rare class among the steps that are kept.
    window_size : int
        So many steps at a time are looked at, from the end on; the length of truncated
        backpropagation, or of the series.
    minority_label : {0, 1}
        Which class is rare; DL4J's overrideMinorityDefault stands for 0.
    mask_all_majority_windows : bool
        Whether windows without the rare class are masked whole; False keeps ``1 -
        target_minority_dist`` of their steps, as DL4J's donotMaskAllMajorityWindows.
    mask_minority_windows : bool
        Whether anything is masked in windows with the rare class; False is DL4J's
        donotMaskMinorityWindows.
    feature_axis : int
        Axis of the classes: 1 for labels (batch, 1 or 2, time), -1 for (batch, time, 1
        or 2).
    seed : int
        Of the random numbers, which are drawn anew for each minibatch that is trained.

    Raises
    ------
    OptionError
        If an option cannot be right.

    Notes
    -----
    Windows with and without the rare class are those of all examples together, as in
    DL4J; the shares are those of each example. :meth:`transform`, which networks are
    tried with, changes nothing.

    References
    ----------
    ``UnderSamplingByMaskingPreProcessor`` of Deeplearning4j 1.0.0-M2.1.
    """

    kind: ClassVar[str] = "under_sampling_by_masking"

    def __init__(
        self,
        target_minority_dist: float,
        window_size: int,
        *,
        minority_label: int = 1,
        mask_all_majority_windows: bool = True,
        mask_minority_windows: bool = True,
        feature_axis: int = 1,
        seed: int = 12345,
    ) -> None:
        super().__init__(
            window_size,
            mask_all_majority_windows=mask_all_majority_windows,
            mask_minority_windows=mask_minority_windows,
            feature_axis=feature_axis,
            seed=seed,
        )
        who = type(self).__name__
        self.target_minority_dist = _target(who, target_minority_dist)
        self.minority_label = check_one_of(
            who, "minority_label", minority_label, (0, 1)
        )

    def _masked(self, examples: E, rng: np.random.Generator) -> E:
        of = MultiDataSet.of(examples)
        if len(of.labels) != 1:
            raise DataError(
                f"{type(self).__name__}: there must be one output, got "
                f"{len(of.labels)}."
            )
        mask = None if of.labels_masks is None else of.labels_masks[0]
        drawn = self._drawn(
            of.labels[0], mask, self.target_minority_dist, self.minority_label, rng
        )
        if isinstance(examples, MultiDataSet):
            return examples.replaced(labels_masks=[drawn])
        return examples.replaced(labels_mask=drawn)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        return {
            "type": self.kind,
            "target_minority_dist": self.target_minority_dist,
            "minority_label": self.minority_label,
            **self._options(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "UnderSamplingByMaskingPreProcessor":
        """Return the preprocessor that `to_dict` described."""
        return cls(**_given(cls, values, "target_minority_dist", "minority_label"))


class UnderSamplingByMaskingMultiDataSetPreProcessor(UnderSampling):
    """The same for several outputs: each may have a share of its own.

    Parameters
    ----------
    target_minority_dist : mapping of int to float
        By the index of an output, the share of the rare class there, from above 0 to
        0.5. Other outputs are left alone.
    window_size : int
        As for :class:`UnderSamplingByMaskingPreProcessor`.
    minority_labels : mapping of int to int, optional
        By the index of an output, the class that is rare if it is not 1.
    mask_all_majority_windows, mask_minority_windows, feature_axis, seed
        As for :class:`UnderSamplingByMaskingPreProcessor`.

    References
    ----------
    ``UnderSamplingByMaskingMultiDataSetPreProcessor`` of Deeplearning4j 1.0.0-M2.1.
    """

    kind: ClassVar[str] = "multi_under_sampling_by_masking"

    def __init__(
        self,
        target_minority_dist: Mapping[int, float],
        window_size: int,
        *,
        minority_labels: Mapping[int, int] | None = None,
        mask_all_majority_windows: bool = True,
        mask_minority_windows: bool = True,
        feature_axis: int = 1,
        seed: int = 12345,
    ) -> None:
        super().__init__(
            window_size,
            mask_all_majority_windows=mask_all_majority_windows,
            mask_minority_windows=mask_minority_windows,
            feature_axis=feature_axis,
            seed=seed,
        )
        who = type(self).__name__
        targets = _by_output(who, "target_minority_dist", target_minority_dist)
        self.target_minority_dist = {k: _target(who, v) for k, v in targets.items()}
        labels = _by_output(who, "minority_labels", minority_labels or {})
        for index, label in labels.items():
            check_one_of(who, "minority_labels", index, self.target_minority_dist)
            check_one_of(who, f"minority_labels[{index}]", label, (0, 1))
        self.minority_labels = labels

    def _masked(self, examples: E, rng: np.random.Generator) -> E:
        of = MultiDataSet.of(examples)
        if max(self.target_minority_dist) >= len(of.labels):
            raise DataError(
                f"{type(self).__name__}: there must be an output "
                f"{max(self.target_minority_dist)}, got {len(of.labels)} outputs."
            )
        masks = list(of.labels_masks or [None] * len(of.labels))
        for index, target in sorted(self.target_minority_dist.items()):
            minority = self.minority_labels.get(index, 1)
            masks[index] = self._drawn(
                of.labels[index], masks[index], target, minority, rng
            )
        if isinstance(examples, MultiDataSet):
            return examples.replaced(labels_masks=masks)
        return examples.replaced(labels_mask=masks[0])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        return {
            "type": self.kind,
            "target_minority_dist": _as_text(self.target_minority_dist),
            "minority_labels": _as_text(self.minority_labels),
            **self._options(),
        }

    @classmethod
    def from_dict(
        cls, values: dict[str, Any]
    ) -> "UnderSamplingByMaskingMultiDataSetPreProcessor":
        """Return the preprocessor that `to_dict` described."""
        return cls(**_given(cls, values, "target_minority_dist", "minority_labels"))


def _target(who: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 0.5:
        raise OptionError(
            f"{who}: target_minority_dist must be > 0 and <= 0.5, got {value!r}."
        )
    return float(value)


def _by_output(who: str, option: str, values: Any) -> dict[int, Any]:
    is_mapping = isinstance(values, Mapping)
    if not is_mapping or not all(str(index).isdecimal() for index in values):
        raise OptionError(
            f"{who}: {option} must be a mapping from the index of an output, got "
            f"{values!r}."
        )
    if option == "target_minority_dist" and not values:
        raise OptionError(f"{who}: {option} must name an output, got none.")
    return {int(index): value for index, value in values.items()}


def _as_text(values: Mapping[int, Any]) -> dict[str, Any]:
    """Return a mapping that JSON can hold."""
    return {str(index): value for index, value in values.items()}


def _given(
    cls: type[UnderSampling], values: dict[str, Any], *more: str
) -> dict[str, Any]:
    check_kind(cls.__name__, values, cls.kind)
    check_keys(
        cls.__name__, values, [*more, "window_size", *_FLAGS, "feature_axis", "seed"]
    )
    for name in ("target_minority_dist", "window_size"):
        if name not in values:
            raise FormatError(
                f"{cls.__name__}.from_dict: {name} must be given, got none."
            )
    return {name: value for name, value in values.items() if name != "type"}
