"""Checks of minibatches in DL4J's files; its ``SparkDataValidation``.

Whoever exported them may have been killed, and a file that cannot be loaded stops a
training at any time. A store that breaks off is no fault of a file and is raised.
"""

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, TypeAlias

from numpy.typing import NDArray

from daskdl.data.dataset import DataSet
from daskdl.data.files import open_input
from daskdl.data.filesystems import filesystem
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.retries import with_retries
from daskdl.data.sources.listed_files import list_paths
from daskdl.data.store import remove
from daskdl.dl4j.datasets.streams import (
    holds_multi_dataset,
    read_dataset,
    read_multi_dataset,
)
from daskdl.errors import (
    DaskdlError,
    OptionError,
    SourceNotFoundError,
    StorageError,
)

__all__ = ["ValidationResult", "delete_invalid_datasets", "validate_datasets"]

Shape: TypeAlias = Sequence[int]
_Shapes: TypeAlias = list[tuple[int, ...] | None] | None
_Arrays: TypeAlias = list[NDArray[Any]]
_Faults: TypeAlias = dict[str, str]

_OF_DL4J = ".bin"


@dataclass(frozen=True, kw_only=True)
class ValidationResult:
    """How many files are valid, and what is wrong with the others.

    Attributes
    ----------
    total, total_valid, total_invalid : int
        Files.
    missing_file, loading_failure : int
        Files that went while others were read; files that are empty, cut short, damaged
        or something else.
    missing_features, missing_labels, invalid_features, invalid_labels : int
        Files without such arrays, and with others than those of the shapes asked for;
        one file may count as several.
    invalid_deleted : int
        Files that were deleted.
    invalid : tuple of (str, str)
        URL of each invalid file, in order, and all that is wrong with it.

    References
    ----------
    ``ValidationResult`` of Deeplearning4j 1.0.0-M2.1, which only counts.
    """

    total: int = 0
    total_valid: int = 0
    total_invalid: int = 0
    missing_file: int = 0
    loading_failure: int = 0
    missing_features: int = 0
    missing_labels: int = 0
    invalid_features: int = 0
    invalid_labels: int = 0
    invalid_deleted: int = 0
    invalid: tuple[tuple[str, str], ...] = ()


def validate_datasets(
    path_or_url: str,
    *,
    features_shape: Shape | Sequence[Shape | None] | None = None,
    labels_shape: Shape | Sequence[Shape | None] | None = None,
    endings: str | Sequence[str] = _OF_DL4J,
    storage_options: dict[str, Any] | None = None,
) -> ValidationResult:
    """Load each ``DataSet`` or ``MultiDataSet`` file at a path; count the valid ones.

    DL4J's ``SparkDataValidation.validateDataSets`` and ``validateMultiDataSets``.

    Parameters
    ----------
    path_or_url : str or path
        As :func:`list_paths` takes it.
    features_shape, labels_shape : shape, or sequence of (shape or None), optional
        What the arrays of a minibatch must have; a length of 0 or less stands for any.
        Of a MultiDataSet there is one for each array, None for any.
    endings : str or sequence of str
        Look at files only whose names end in one of these; ``""`` for all.
    storage_options : dict, optional
        Handed to the file system.

    Returns
    -------
    ValidationResult

    Raises
    ------
    OptionError
        If a shape is none.
    SourceNotFoundError
        If there is nothing at the path.
    StorageError
        If the store does not answer or breaks off.
    """
    who, shapes = "validate_datasets", (features_shape, labels_shape)
    return _validated(who, path_or_url, *shapes, endings, storage_options)


def delete_invalid_datasets(
    path_or_url: str,
    *,
    features_shape: Shape | Sequence[Shape | None] | None = None,
    labels_shape: Shape | Sequence[Shape | None] | None = None,
    endings: str | Sequence[str] = _OF_DL4J,
    storage_options: dict[str, Any] | None = None,
) -> ValidationResult:
    """Delete the files that :func:`validate_datasets` finds invalid.

    DL4J's ``deleteInvalidDataSets`` and ``deleteInvalidMultiDataSets``. With
    ``endings=""`` that is everything at the path that is no minibatch.

    Parameters
    ----------
    path_or_url, features_shape, labels_shape, endings, storage_options
        As :func:`validate_datasets`.

    Returns
    -------
    ValidationResult
        With what was deleted.

    Raises
    ------
    OptionError
        If a shape is none.
    SourceNotFoundError
        If there is nothing at the path.
    StorageError
        If the store does not answer or breaks off.
    """
    who, shapes = "delete_invalid_datasets", (features_shape, labels_shape)
    result = _validated(who, path_or_url, *shapes, endings, storage_options)
    for url, _ in result.invalid:
        remove(*filesystem(url, storage_options))
    return replace(result, invalid_deleted=result.total_invalid - result.missing_file)


def _validated(
    who: str,
    path_or_url: str,
    features_shape: Shape | Sequence[Shape | None] | None,
    labels_shape: Shape | Sequence[Shape | None] | None,
    endings: str | Sequence[str],
    storage_options: dict[str, Any] | None,
) -> ValidationResult:
    features = _shapes(who, "features_shape", features_shape)
    labels = _shapes(who, "labels_shape", labels_shape)
    urls = list_paths(
        path_or_url,
        endings=endings,
        require_success=False,
        storage_options=storage_options,
    )
    found = [(url, _faults(url, features, labels, storage_options)) for url in urls]
    counted = Counter(kind for _, faults in found for kind in faults)
    invalid = [(url, " ".join(faults.values())) for url, faults in found if faults]
    return ValidationResult(
        total=len(urls),
        total_valid=len(urls) - len(invalid),
        total_invalid=len(invalid),
        invalid=tuple(invalid),
        **counted,
    )


def _faults(
    url: str, features: _Shapes, labels: _Shapes, storage: dict[str, Any] | None
) -> _Faults:
    """Return what is wrong with a file, by the name of its counter."""
    try:
        found = _arrays(url, storage)
    except SourceNotFoundError as error:
        return {"missing_file": str(error)}
    except StorageError:
        raise
    except DaskdlError as error:
        return {"loading_failure": str(error)}
    faults: _Faults = {}
    for group, arrays, expected in zip(
        ("features", "labels"), found, (features, labels), strict=True
    ):
        if not arrays:
            faults[f"missing_{group}"] = f"{group} must be there, there are none."
        elif expected is not None and not _fit(arrays, expected):
            faults[f"invalid_{group}"] = (
                f"{group} must have the shape {_in_words(expected)}, got "
                f"{_in_words([array.shape for array in arrays])}."
            )
    return faults


def _arrays(url: str, storage: dict[str, Any] | None) -> tuple[_Arrays, _Arrays]:
    """Return the features and the labels of a file, which go together."""

    def read() -> bytes:
        with open_input(url, storage_options=storage) as stream:
            return stream.read()

    content = with_retries(f"{url}: reading it", read)
    stream = io.BytesIO(content)
    # A DataSet without anything is that one byte.
    if len(content) > 1 and holds_multi_dataset(content[:1]):
        several = read_multi_dataset(stream, name=url, with_metadata=False)
        if several.features:
            MultiDataSet(several.features, several.labels)
        return several.features, several.labels
    one = read_dataset(stream, name=url, with_metadata=False)
    if one.features is not None:
        DataSet(one.features, one.labels, one.features_mask, one.labels_mask)
    features, labels = ([] if a is None else [a] for a in (one.features, one.labels))
    return features, labels


def _fit(arrays: _Arrays, expected: list[tuple[int, ...] | None]) -> bool:
    return len(arrays) == len(expected) and all(
        shape is None or _has_shape(array, shape)
        for array, shape in zip(arrays, expected, strict=True)
    )


def _has_shape(array: NDArray[Any], shape: tuple[int, ...]) -> bool:
    return array.ndim == len(shape) and all(
        wanted <= 0 or wanted == length
        for length, wanted in zip(array.shape, shape, strict=True)
    )


def _shapes(who: str, option: str, given: Any) -> _Shapes:
    if given is None:
        return None
    items = list(given) if isinstance(given, list | tuple) else []
    shapes = [items] if _is_shape(items) else items
    if not shapes or not all(one is None or _is_shape(one) for one in shapes):
        raise OptionError(
            f"{who}: {option} must be a shape such as (-1, 10), or a list with a shape "
            f"or None for each array of a MultiDataSet, got {given!r}."
        )
    return [None if one is None else tuple(map(int, one)) for one in shapes]


def _is_shape(given: Any) -> bool:
    return (
        isinstance(given, list | tuple)
        and bool(given)
        and all(isinstance(n, Integral) and not isinstance(n, bool) for n in given)
    )


def _in_words(shapes: Sequence[Shape | None]) -> str:
    words = ["any" if shape is None else str(tuple(shape)) for shape in shapes]
    return words[0] if len(words) == 1 else f"[{', '.join(words)}]"
