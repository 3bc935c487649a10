"""Chains of preprocessors of data sets, and all kinds by name.

A composite holds others of any kind: who reads one has to know them all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias, TypeVar

from numpy.typing import NDArray

from daskdl.checks import as_known, check_one_of, check_type
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.image_multi import ImageMultiPreProcessingScaler
from daskdl.data.normalizers.kinds import normalizer_from_dict
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.normalizers.options import check_keys, check_kind
from daskdl.data.normalizers.scaler import Direction
from daskdl.data.pairs import Examples
from daskdl.data.pre_processors.crop_and_resize import CropAndResizeDataSetPreProcessor
from daskdl.data.pre_processors.images import (
    ImageFlatteningDataSetPreProcessor,
    PermuteDataSetPreProcessor,
    RGBtoGrayscaleDataSetPreProcessor,
)
from daskdl.data.pre_processors.labels import LabelLastTimeStepPreProcessor
from daskdl.data.pre_processors.pre_processor import DataSetPreProcessor
from daskdl.data.pre_processors.under_sampling import (
    UnderSamplingByMaskingMultiDataSetPreProcessor,
    UnderSamplingByMaskingPreProcessor,
)
from daskdl.data.sources.partition import Source
from daskdl.data.statistics import FeatureStatistics
from daskdl.errors import FormatError, OptionError

__all__ = ["CompositeDataSetPreProcessor", "CompositeMultiDataSetPreProcessor"]
__all__ += ["PRE_PROCESSORS", "pre_processor_from_dict"]

_Array: TypeAlias = NDArray[Any]
E = TypeVar("E", DataSet, MultiDataSet)
C = TypeVar("C", bound="CompositeDataSetPreProcessor")


class CompositeDataSetPreProcessor(DataSetPreProcessor):
    """Runs preprocessors and normalizers in the order in which they are given.

    Parameters
    ----------
    *pre_processors : Normalizer or DataSetPreProcessor
        At least one.
    stop_on_empty_data_set : bool
        Whether the next ones are left out where there are no examples.

    Raises
    ------
    OptionError
        If there is none, or one is something else.

    Notes
    -----
    A normalizer that learns is fitted by :meth:`fit` with what those in front of it
    make of the data.

    References
    ----------
    ``CompositeDataSetPreProcessor`` of Deeplearning4j 1.0.0-M2.1, where normalizers
    must have been fitted.

    Examples
    --------
    >>> from daskdl import ImagePreProcessingScaler, RGBtoGrayscaleDataSetPreProcessor
    >>> both = CompositeDataSetPreProcessor(
    ...     RGBtoGrayscaleDataSetPreProcessor(keep_channel=True),
    ...     ImagePreProcessingScaler(),
    ... )
    >>> both.transform(DataSet([[[[255.0]], [[255.0]], [[255.0]]]])).features.shape
    (1, 1, 1, 1)
    """

    kind: ClassVar[str] = "composite"

    def __init__(
        self, *pre_processors: Normalizer, stop_on_empty_data_set: bool = False
    ) -> None:
        who = type(self).__name__
        if not pre_processors:
            raise OptionError(f"{who}: there must be a preprocessor, got none.")
        for index, one in enumerate(pre_processors):
            check_type(who, f"preprocessor {index}", one, Normalizer)
        flags = (True, False)
        check_one_of(who, "stop_on_empty_data_set", stop_on_empty_data_set, flags)
        super().__init__(feature_axis=pre_processors[0].feature_axis)
        self.pre_processors = pre_processors
        self.stop_on_empty_data_set = stop_on_empty_data_set

    @property
    def is_fitted(self) -> bool:
        """Whether all are."""
        return all(one.is_fitted for one in self.pre_processors)

    @property
    def is_fit_label(self) -> bool:
        """Whether one of them normalizes labels."""
        return any(one.is_fit_label for one in self.pre_processors)

    def fit(self: C, data: Examples | Iterable[Examples] | Source) -> C:
        """Fit each unfitted preprocessor on the output of those in front of it.

        Parameters
        ----------
        data : DataSet, MultiDataSet, iterable of them or source
            Read once for each that learns.
        """
        if isinstance(data, Iterator):
            data = list(data)
        for index, one in enumerate(self.pre_processors):
            if not one.is_fitted:
                one.fit(self._through(index, _each(data)))
        return self

    def fit_statistics(
        self: C,
        statistics: Sequence[FeatureStatistics],
        label_statistics: Sequence[FeatureStatistics] = (),
    ) -> C:
        """Refuse: statistics of the data do not hold behind the first preprocessor."""
        raise OptionError(
            f"{type(self).__name__}: must be fitted with data, got statistics. Call "
            "fit."
        )

    def pre_process(self, examples: E) -> E:
        """Run all as training does."""
        for one in self.pre_processors:
            if self._is_done(examples):
                break
            examples = one.pre_process(examples)
        return examples

    def revert_features(
        self, features: Sequence[_Array] | _Array, masks: Any = None
    ) -> Any:
        """Return features as before; see :meth:`Normalizer.revert_features`."""
        for one in reversed(self.pre_processors):
            features = one.revert_features(features, masks)
        return features

    def revert_labels(
        self, labels: Sequence[_Array] | _Array, masks: Any = None
    ) -> Any:
        """Return labels as before; see :meth:`Normalizer.revert_labels`."""
        for one in reversed(self.pre_processors):
            labels = one.revert_labels(labels, masks)
        return labels

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""
        return {
            "type": self.kind,
            "pre_processors": [one.to_dict() for one in self.pre_processors],
            "stop_on_empty_data_set": self.stop_on_empty_data_set,
        }

    @classmethod
    def from_dict(cls: type[C], values: dict[str, Any]) -> C:
        """Return the preprocessor that `to_dict` described.

        Raises
        ------
        FormatError
            If the values do not come from there.
        """
        check_kind(cls.__name__, values, cls.kind)
        check_keys(cls.__name__, values, ["pre_processors", "stop_on_empty_data_set"])
        given = values.get("pre_processors")
        if not isinstance(given, list):
            raise FormatError(
                f"{cls.__name__}.from_dict: pre_processors must be a list, got "
                f"{given!r}."
            )
        named = ({"type": one} if isinstance(one, str) else one for one in given)
        return cls(
            *(pre_processor_from_dict(one) for one in named),
            stop_on_empty_data_set=values.get("stop_on_empty_data_set", False),
        )

    def _changed(self, direction: Direction, examples: E) -> E:
        if direction == "transform":
            return self._pre_processed(examples)
        for one in reversed(self.pre_processors):
            examples = one.revert(examples)
        return examples

    def _pre_processed(self, examples: E) -> E:
        for one in self.pre_processors:
            if self._is_done(examples):
                break
            examples = one.transform(examples)
        return examples

    def _is_done(self, examples: Examples) -> bool:
        return self.stop_on_empty_data_set and not examples.num_examples

    def _through(self, stop: int, each: Iterable[Examples]) -> Iterator[Examples]:
        if stop == 0:
            yield from each
            return
        in_front = CompositeDataSetPreProcessor(*self.pre_processors[:stop])
        for examples in each:
            # Told apart for the type: both are the same to it.
            if isinstance(examples, DataSet):
                yield in_front.transform(examples)
            else:
                yield in_front.transform(examples)


class CompositeMultiDataSetPreProcessor(CompositeDataSetPreProcessor):
    """The same under the name that DL4J has for several inputs and outputs."""

    kind: ClassVar[str] = "multi_composite"


PRE_PROCESSORS: Mapping[str, type[Normalizer]] = MappingProxyType(
    {
        found.kind: found
        for found in (
            CompositeDataSetPreProcessor,
            CompositeMultiDataSetPreProcessor,
            CropAndResizeDataSetPreProcessor,
            ImageFlatteningDataSetPreProcessor,
            ImageMultiPreProcessingScaler,
            LabelLastTimeStepPreProcessor,
            PermuteDataSetPreProcessor,
            RGBtoGrayscaleDataSetPreProcessor,
            UnderSamplingByMaskingMultiDataSetPreProcessor,
            UnderSamplingByMaskingPreProcessor,
        )
    }
)
"""The kinds by name."""


def pre_processor_from_dict(values: Any) -> Normalizer:
    """Return the preprocessor or normalizer that ``to_dict`` described.

    Raises
    ------
    FormatError
        If the kind is not known, or the values do not come from there.
    OptionError
        If an option cannot be right.
    """
    kind = values.get("type") if isinstance(values, dict) else None
    kind = as_known(kind, PRE_PROCESSORS)
    found = PRE_PROCESSORS.get(kind) if isinstance(kind, str) else None
    if found is None:
        return normalizer_from_dict(values)
    return found.from_dict({**values, "type": kind})


def _each(data: Examples | Iterable[Examples] | Source) -> Iterator[Examples]:
    if isinstance(data, DataSet | MultiDataSet):
        yield data
    elif isinstance(data, Source):
        for partition in data.partitions:
            yield from partition.load_blocks()
    else:
        yield from data
