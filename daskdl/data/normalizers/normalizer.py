"""The base class of normalizers: data sets in, data sets out."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from numpy.typing import DTypeLike, NDArray

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.scaler import Scaler
from daskdl.data.normalizers.strategies import Direction, Step
from daskdl.data.pairs import Examples
from daskdl.data.sources.partition import Source
from daskdl.data.statistics import FeatureStatistics

__all__ = ["Group", "Normalizer"]

_Array: TypeAlias = NDArray[Any]
_Masks: TypeAlias = Sequence[_Array | None] | None
Group: TypeAlias = Literal["features", "labels"]
"""Which arrays of a data set: its inputs or its outputs."""

E = TypeVar("E", DataSet, MultiDataSet)
N = TypeVar("N", bound="Normalizer")


class Normalizer(ABC):
    """Changes features, and labels if asked to, and back.

    Every normalizer takes `DataSet` and `MultiDataSet` alike.

    Parameters
    ----------
    feature_axis : int
        Axis of features or channels: 1 for rows and for DL4J's data formats NCW and
        NCHW, -1 for NWC and NHWC.
    fit_label : bool
        Normalize labels, too: for regression.
    """

    kind: ClassVar[str]
    """Name of the kind in checkpoints and job files."""

    fits_networks: ClassVar[bool] = True
    """Whether a network can hold it: it changes numbers, and neither shapes nor masks.
    """

    drops_masked_steps: ClassVar[bool] = False
    """Whether time steps that a mask drops come out as 0, whatever they were."""

    reshapes_features: ClassVar[bool] = False
    """Whether features may come out in another shape."""

    def __init__(self, *, feature_axis: int = 1, fit_label: bool = False) -> None:
        self.feature_axis = feature_axis
        self._is_fit_label = fit_label

    def __repr__(self) -> str:
        """Return the class, and whether it can be used."""
        state = "fitted" if self.is_fitted else "not fitted"
        return f"<{type(self).__name__}: {state}>"

    @property
    def is_fit_label(self) -> bool:
        """Whether labels are normalized."""
        return self._is_fit_label

    def changes_labels(self, index: int) -> bool:
        """Say whether the labels of the output of this number are normalized."""
        return self.is_fit_label

    def fit_label(self: N, fit_label: bool = True) -> N:
        """Say whether labels are normalized, too; return the normalizer itself."""
        self._is_fit_label = fit_label
        return self

    def without_labels(self: N) -> N:
        """Return a copy that changes features alike, and leaves labels alone."""
        made = copy.deepcopy(self)
        return made.fit_label(False) if made.is_fit_label else made

    @property
    @abstractmethod
    def is_fitted(self) -> bool:
        """Whether the statistics that it needs are known."""

    @abstractmethod
    def fit(self: N, data: Examples | Iterable[Examples] | Source) -> N:
        """Learn statistics from data, and forget earlier ones."""

    @abstractmethod
    def fit_statistics(
        self: N,
        statistics: Sequence[FeatureStatistics],
        label_statistics: Sequence[FeatureStatistics] = (),
    ) -> N:
        """Learn from statistics that were collected elsewhere, such as by a scan."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without loss."""

    @classmethod
    @abstractmethod
    def from_dict(cls: type[N], values: dict[str, Any]) -> N:
        """Return the normalizer that `to_dict` described."""

    @abstractmethod
    def _scalers(self, who: str, group: Group, n_arrays: int) -> list[Scaler | None]:
        """Return the scaler of each array; None leaves an array alone."""

    def transform(self, examples: E) -> E:
        """Return the examples, normalized.

        Parameters
        ----------
        examples : DataSet or MultiDataSet
            Not changed. Without labels only features are looked at.

        Returns
        -------
        DataSet or MultiDataSet
            What is normalized are new arrays, of the same dtype if that is float, else
            float32; all else is the same. Time steps that the mask drops are 0.

        Raises
        ------
        OptionError
            Before `fit`.
        ShapeError
            If the number of inputs or features is not the fitted one.
        """
        return self._changed("transform", examples)

    def pre_process(self, examples: E) -> E:
        """Return a minibatch as it is trained; as :meth:`transform` unless said.

        Parameters and errors are those of `transform`.
        """
        return self.transform(examples)

    def revert(self, examples: E) -> E:
        """Return the examples as before `transform`.

        Dropped time steps are 0. Parameters and errors are those of `transform`.
        """
        return self._changed("revert", examples)

    def transform_features(
        self, features: Sequence[_Array] | _Array, masks: Any = None
    ) -> Any:
        """Return features, one array or a list, normalized.

        Parameters
        ----------
        features : ndarray of shape (batch, ...), or sequence of them
            Of the only input, or of every input.
        masks : ndarray of shape (batch, time), or sequence of (that or None), optional
            Likewise.

        Returns
        -------
        ndarray, or list of ndarray
            Of the same shapes.
        """
        return self._each("transform", "features", features, masks)

    def transform_labels(
        self, labels: Sequence[_Array] | _Array, masks: Any = None
    ) -> Any:
        """Return labels, one array or a list, normalized.

        They are the same arrays if labels are not normalized. For parameters and shapes
        see :meth:`transform_features`.
        """
        return self._each("transform", "labels", labels, masks)

    def revert_features(
        self, features: Sequence[_Array] | _Array, masks: Any = None
    ) -> Any:
        """Return features, one array or a list, as before `transform`.

        For parameters and shapes see :meth:`transform_features`.
        """
        return self._each("revert", "features", features, masks)

    def revert_labels(
        self, labels: Sequence[_Array] | _Array, masks: Any = None
    ) -> Any:
        """Return labels, or predictions of them, as before `transform`.

        They are the same arrays if labels are not normalized. For parameters and shapes
        see :meth:`transform_features`.
        """
        return self._each("revert", "labels", labels, masks)

    def all_steps(
        self,
        group: Group,
        direction: Direction,
        n_axes: Sequence[int],
        dtype: DTypeLike,
    ) -> list[list[Step]]:
        """Return the operations on every array, in their order.

        Parameters
        ----------
        group : {"features", "labels"}
        direction : {"transform", "revert"}
        n_axes : sequence of int
            Of each array, that of the examples included.
        dtype : dtype
            float32 or float64: what is computed with.

        Returns
        -------
        list of list of (str, number or ndarray)
            Names of NumPy's functions with their second argument; none for an array
            that is left alone.
        """
        scalers = self._scalers(f"{type(self).__name__}", group, len(n_axes))
        return [
            [] if scaler is None else scaler.steps(direction, number, dtype)
            for scaler, number in zip(scalers, n_axes, strict=True)
        ]

    def _each(self, direction: Direction, group: Group, arrays: Any, masks: Any) -> Any:
        who = f"{type(self).__name__}.{direction}_{group}"
        if isinstance(arrays, list | tuple):
            return self._scaled(who, direction, group, arrays, masks)
        (changed,) = self._scaled(who, direction, group, [arrays], [masks])
        return changed

    def _changed(self, direction: Direction, examples: E) -> E:
        who = f"{type(self).__name__}.{direction}"
        of = MultiDataSet.of(examples)
        features = self._scaled(
            who, direction, "features", of.features, of.features_masks
        )
        labels = self._scaled(who, direction, "labels", of.labels, of.labels_masks)
        if isinstance(examples, MultiDataSet):
            return examples.replaced(features=features, labels=labels)
        return examples.replaced(
            features=features[0], labels=labels[0] if labels else None
        )

    def _scaled(
        self,
        who: str,
        direction: Direction,
        group: Group,
        arrays: Sequence[_Array],
        masks: _Masks,
    ) -> list[_Array]:
        if not arrays:
            return []
        scalers = self._scalers(who, group, len(arrays))
        masks = [None] * len(arrays) if masks is None else masks
        return [
            array
            if scaler is None
            else scaler.scale(f"{who}: {group}", direction, array, mask)
            for scaler, array, mask in zip(scalers, arrays, masks, strict=True)
        ]
