"""The base classes of preprocessors of data sets, which learn nothing.

A normalizer changes numbers, can be undone, and belongs to a network. These may change
shapes, labels and masks, most cannot be undone, and data go through them before.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

from numpy.typing import NDArray

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.normalizer import Group, Normalizer
from daskdl.data.normalizers.scaler import Direction, Scaler
from daskdl.data.pairs import Examples
from daskdl.data.sources.partition import Source
from daskdl.data.statistics import FeatureStatistics
from daskdl.errors import OptionError, ShapeError

__all__ = ["DataSetPreProcessor", "FeaturesPreProcessor"]

_Array: TypeAlias = NDArray[Any]
E = TypeVar("E", DataSet, MultiDataSet)
P = TypeVar("P", bound="DataSetPreProcessor")


class DataSetPreProcessor(Normalizer):
    """Changes a minibatch as it is told, not as it has learnt."""

    fits_networks: ClassVar[bool] = False
    reshapes_features: ClassVar[bool] = True

    @property
    def is_fitted(self) -> bool:
        """Always."""
        return True

    def fit(self: P, data: Examples | Iterable[Examples] | Source) -> P:
        """Do nothing: there is nothing to learn."""
        return self

    def fit_statistics(
        self: P,
        statistics: Sequence[FeatureStatistics],
        label_statistics: Sequence[FeatureStatistics] = (),
    ) -> P:
        """Do nothing: there is nothing to learn."""
        return self

    def fit_label(self: P, fit_label: bool = True) -> P:
        """Refuse to normalize labels."""
        if fit_label:
            raise OptionError(
                f"{type(self).__name__}: fit_label must be False, since nothing is "
                "learnt, got True."
            )
        return self

    def _scalers(self, who: str, group: Group, n_arrays: int) -> list[Scaler | None]:
        """Leave single arrays alone: predictions stay as the network gave them."""
        return [None] * n_arrays

    def revert_features(
        self, features: Sequence[_Array] | _Array, masks: Any = None
    ) -> Any:
        """Refuse, as :meth:`revert` does, arrays of any shape."""
        raise self._irreversible()

    def _changed(self, direction: Direction, examples: E) -> E:
        if direction == "revert":
            raise self._irreversible()
        return self._pre_processed(examples)

    @abstractmethod
    def _pre_processed(self, examples: E) -> E:
        """Return a minibatch, changed."""

    def _irreversible(self) -> OptionError:
        return OptionError(
            f"{type(self).__name__}.revert: must be something that can be undone, got "
            "a preprocessor that forgets what there was."
        )


class FeaturesPreProcessor(DataSetPreProcessor):
    """Changes the array of features, and nothing else."""

    def _pre_processed(self, examples: E) -> E:
        who = f"{type(self).__name__}.transform"
        if isinstance(examples, DataSet):
            return examples.replaced(
                features=self._new_features(who, examples.features)
            )
        if len(examples.features) > 1:
            raise ShapeError(
                f"{who}: there must be one input, got {len(examples.features)}."
            )
        return examples.replaced(
            features=[self._new_features(who, examples.features[0])]
        )

    @abstractmethod
    def _new_features(self, who: str, features: _Array) -> _Array:
        """Return the features, changed."""
