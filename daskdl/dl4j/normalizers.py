"""DL4J's ``normalizer.bin``: normalizers as ``NormalizerSerializer`` writes them.

References
----------
``org.nd4j.linalg.dataset.api.preprocessor.serializer`` of Deeplearning4j 1.0.0-M2.1,
checked against files that it wrote.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, BinaryIO, TypeAlias, TypeVar

import numpy as np

from daskdl.data.normalizers.hybrid import MultiNormalizerHybrid
from daskdl.data.normalizers.image import ImagePreProcessingScaler
from daskdl.data.normalizers.kinds import GROUP, plugged_in
from daskdl.data.normalizers.min_max import (
    MultiNormalizerMinMaxScaler,
    NormalizerMinMaxScaler,
)
from daskdl.data.normalizers.normalizer import Group, Normalizer
from daskdl.data.normalizers.single_strategy import SingleStrategyNormalizer
from daskdl.data.normalizers.standardize import (
    MultiNormalizerStandardize,
    NormalizerStandardize,
)
from daskdl.data.normalizers.stats import (
    DistributionStats,
    MinMaxStats,
    NormalizerStats,
    Vector,
)
from daskdl.data.normalizers.strategies import (
    MinMaxStrategy,
    NormalizerStrategy,
    StandardizeStrategy,
)
from daskdl.dl4j.arrays.nd4j import read_array, write_array
from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.dl4j.java.text import encode_modified_utf8
from daskdl.errors import CorruptFileError, FormatError, OptionError

__all__ = ["read_normalizer", "write_normalizer"]

_HEADER = "NORMALIZER"
_VERSION = 1
_CUSTOM = "CUSTOM"
_MOST_ARRAYS = 10_000
_NO_OUTPUTS = -1

_NULL, _STANDARDIZE, _MIN_MAX = range(3)
_ORDINALS = {"standardize": _STANDARDIZE, "min_max": _MIN_MAX}
_STATS: dict[int, type[DistributionStats] | type[MinMaxStats]] = {
    _STANDARDIZE: DistributionStats,
    _MIN_MAX: MinMaxStats,
}
_SIDES: tuple[Group, Group] = ("features", "labels")

U = TypeVar("U", bound=SingleStrategyNormalizer)
_Read: TypeAlias = Callable[[CountedStream], Normalizer]


def read_normalizer(
    stream: BinaryIO | CountedStream, *, name: str = "stream"
) -> Normalizer:
    """Read a normalizer, and leave the stream right behind it.

    Parameters
    ----------
    stream : binary stream
    name : str
        What messages call the stream, if it is no `CountedStream`.

    Returns
    -------
    Normalizer
        Fitted; for DL4J's data formats, with features along axis 1.

    Raises
    ------
    CorruptFileError
        If the stream ends too early or is damaged; with name and offset.
    FormatError
        If a class that is not DL4J's own wrote it, and none is registered for it.
    """
    counted = CountedStream.of(stream, name)
    if counted.take_text() != _HEADER:
        raise counted.corrupt(f"a normalizer must begin with {_HEADER}", "another", 0)
    start = counted.offset
    version = counted.take_number(">i")
    if version != _VERSION:
        must = f"the version of a normalizer must be {_VERSION}"
        raise counted.corrupt(must, str(version), start)
    start = counted.offset
    type_name = counted.take_text()
    if type_name not in _READERS:
        is_custom = type_name == _CUSTOM
        written_by = counted.take_text() if is_custom else type_name
        return _read_custom(counted, written_by, start)
    try:
        return _READERS[type_name](counted)
    except OptionError as error:
        # Numbers that no normalizer has: an empty range, say.
        raise CorruptFileError(
            f"{counted.name}: the normalizer at offset {start} must be one that can "
            f"be, it is damaged: {error}"
        ) from error


def write_normalizer(stream: BinaryIO, normalizer: Normalizer) -> None:
    """Write a normalizer that DL4J can read.

    Parameters
    ----------
    stream : binary stream
    normalizer : Normalizer
        Fitted. One that has several inputs or outputs becomes DL4J's class for them.

    Raises
    ------
    OptionError
        Before `fit`.
    FormatError
        If DL4J cannot store its kind, or not with features along the last axis.
    """
    type_name, write = _writer_of(normalizer)
    if normalizer.feature_axis != 1:
        raise FormatError(
            f"write_normalizer: {type(normalizer).__name__} must have feature_axis 1, "
            f"which is the only one that DL4J knows, got {normalizer.feature_axis}."
        )
    body = write(normalizer)
    stream.write(_text(_HEADER) + struct.pack(">i", _VERSION) + _text(type_name))
    for part in body:
        if isinstance(part, bytes):
            stream.write(part)
        else:
            for vector in part.pair:
                # Row vectors: DL4J takes nothing else.
                write_array(stream, vector.astype(part.dtype)[np.newaxis])


_Body: TypeAlias = Iterable[bytes | NormalizerStats]


def _writer_of(normalizer: Normalizer) -> tuple[str, Callable[[Any], _Body]]:
    # Not for one that has indices: DL4J's file has no room for them.
    if type(normalizer) is ImagePreProcessingScaler:
        return "IMAGE_MIN_MAX", _image_body
    if isinstance(normalizer, MultiNormalizerHybrid):
        return "MULTI_HYBRID", _hybrid_body
    if isinstance(normalizer, NormalizerStandardize | NormalizerMinMaxScaler):
        multi = MultiNormalizerStandardize | MultiNormalizerMinMaxScaler
        is_multi = isinstance(normalizer, multi) or any(
            len(normalizer.learned(group)) > 1 for group in _SIDES
        )
        name = normalizer.strategy_kind.upper()
        return (f"MULTI_{name}", _multi_body) if is_multi else (name, _single_body)
    raise FormatError(
        f"write_normalizer: {type(normalizer).__name__} must be of a class that DL4J "
        "stores; it cannot store this one."
    )


def _single_body(normalizer: SingleStrategyNormalizer) -> _Body:
    yield bytes([normalizer.is_fit_label])
    yield _range_bytes(normalizer)
    for group in _SIDES:
        yield from normalizer.learned(group).values()


def _multi_body(normalizer: SingleStrategyNormalizer) -> _Body:
    n_inputs, n_outputs = (len(normalizer.learned(group)) for group in _SIDES)
    if not normalizer.is_fit_label:
        n_outputs = _NO_OUTPUTS
    yield struct.pack(">?2i", normalizer.is_fit_label, n_inputs, n_outputs)
    yield _range_bytes(normalizer)
    for group in _SIDES:
        yield from normalizer.learned(group).values()


def _range_bytes(normalizer: SingleStrategyNormalizer) -> bytes:
    if isinstance(normalizer, NormalizerMinMaxScaler):
        return struct.pack(">2d", normalizer.target_min, normalizer.target_max)
    return b""


def _image_body(normalizer: ImagePreProcessingScaler) -> _Body:
    scaler = normalizer
    yield struct.pack(">3d", scaler.min_range, scaler.max_range, scaler.max_pixel_value)


def _hybrid_body(normalizer: MultiNormalizerHybrid) -> _Body:
    for group in _SIDES:
        learned = normalizer.learned(group)
        yield struct.pack(">i", len(learned))
        for index, stats in learned.items():
            yield struct.pack(">2i", index, _ORDINALS[stats.kind])
            yield stats
    for group in _SIDES:
        yield _strategy_bytes(normalizer.global_strategies[group])
    for group in _SIDES:
        own = normalizer.own_strategies[group]
        yield struct.pack(">i", len(own))
        for index, strategy in own.items():
            yield struct.pack(">i", index) + _strategy_bytes(strategy)


def _strategy_bytes(strategy: NormalizerStrategy | None) -> bytes:
    ordinal = _NULL if strategy is None else _ORDINALS[strategy.kind]
    raw = struct.pack(">i", ordinal)
    if isinstance(strategy, MinMaxStrategy):
        raw += struct.pack(">2d", strategy.min_range, strategy.max_range)
    return raw


def _read_custom(counted: CountedStream, written_by: str, start: int) -> Normalizer:
    found = plugged_in(written_by)
    if found is None:
        raise FormatError(
            f"{counted.name}: the normalizer at offset {start} must be of a class of "
            f"DL4J, got one that {written_by!r} wrote. Register what reads it: an "
            f"object with read(stream), as an entry point of that name in the group "
            f"{GROUP!r}."
        )
    read: Normalizer = found.read(counted)
    return read


def _read_standardize(counted: CountedStream) -> NormalizerStandardize:
    fit_label = _read_flag(counted)
    made = NormalizerStandardize(fit_label=fit_label)
    return _learned(counted, made, DistributionStats, 1, 1)


def _read_min_max(counted: CountedStream) -> NormalizerMinMaxScaler:
    fit_label = _read_flag(counted)
    made = NormalizerMinMaxScaler(*counted.take_numbers(">2d"), fit_label=fit_label)
    return _learned(counted, made, MinMaxStats, 1, 1)


def _read_multi_standardize(counted: CountedStream) -> MultiNormalizerStandardize:
    fit_label, *counts = _read_flag(counted), *_read_counts(counted)
    made = MultiNormalizerStandardize(fit_label=fit_label)
    return _learned(counted, made, DistributionStats, *counts)


def _read_multi_min_max(counted: CountedStream) -> MultiNormalizerMinMaxScaler:
    fit_label, *counts = _read_flag(counted), *_read_counts(counted)
    low, high = counted.take_numbers(">2d")
    made = MultiNormalizerMinMaxScaler(low, high, fit_label=fit_label)
    return _learned(counted, made, MinMaxStats, *counts)


def _read_image(counted: CountedStream) -> ImagePreProcessingScaler:
    low, high, most = counted.take_numbers(">3d")
    return ImagePreProcessingScaler(low, high, max_pixel_value=most)


def _read_hybrid(counted: CountedStream) -> MultiNormalizerHybrid:
    made = MultiNormalizerHybrid()
    learned = [_read_by_index(counted, _read_stats_of_kind) for _ in _SIDES]
    for group in _SIDES:
        made.choose(group, _read_strategy(counted))
    for group in _SIDES:
        for index, strategy in _read_by_index(counted, _read_strategy).items():
            made.choose(group, strategy, index)
    return made.learn(*learned)


def _learned(
    counted: CountedStream,
    made: U,
    kind: type[DistributionStats] | type[MinMaxStats],
    n_inputs: int,
    n_outputs: int,
) -> U:
    if not n_inputs:
        raise counted.corrupt("a normalizer must have an input", "none")
    features = {k: _read_stats(counted, kind) for k in range(n_inputs)}
    n_outputs = n_outputs if made.is_fit_label else 0
    return made.learn(
        features, {k: _read_stats(counted, kind) for k in range(n_outputs)}
    )


def _read_flag(counted: CountedStream) -> bool:
    return bool(counted.take_count(">b", "whether labels are fitted", 1))


def _read_counts(counted: CountedStream) -> tuple[int, int]:
    n_inputs = counted.take_count(">i", "inputs", _MOST_ARRAYS)
    start = counted.offset
    n_outputs = counted.take_number(">i")
    if not _NO_OUTPUTS <= n_outputs <= _MOST_ARRAYS:
        must = f"the number of outputs must be from {_NO_OUTPUTS} to {_MOST_ARRAYS}"
        raise counted.corrupt(must, str(n_outputs), start)
    return n_inputs, n_outputs


def _read_by_index(
    counted: CountedStream, read: Callable[[CountedStream], Any]
) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for _ in range(counted.take_count(">i", "entries", _MOST_ARRAYS)):
        start = counted.offset
        index = counted.take_count(">i", "the input or output", 2**31 - 1)
        if index in found:
            raise counted.corrupt("an index must come once", f"{index} twice", start)
        found[index] = read(counted)
    return found


def _read_stats_of_kind(counted: CountedStream) -> NormalizerStats:
    start = counted.offset
    ordinal = counted.take_number(">i")
    if ordinal not in _STATS:
        must = f"statistics must be of kind {_STANDARDIZE} or {_MIN_MAX}"
        raise counted.corrupt(must, str(ordinal), start)
    return _read_stats(counted, _STATS[ordinal])


def _read_strategy(counted: CountedStream) -> NormalizerStrategy | None:
    ordinal = counted.take_count(">i", "the strategy", _MIN_MAX)
    if ordinal == _MIN_MAX:
        return MinMaxStrategy(*counted.take_numbers(">2d"))
    return StandardizeStrategy() if ordinal == _STANDARDIZE else None


def _read_stats(
    counted: CountedStream, kind: type[DistributionStats] | type[MinMaxStats]
) -> NormalizerStats:
    start = counted.offset
    (first, dtype), (second, _) = _read_vector(counted), _read_vector(counted)
    if first.shape != second.shape:
        must = "both parts of statistics must have one length"
        raise counted.corrupt(must, f"{len(first)} and {len(second)}", start)
    return kind(first, second, dtype)


def _read_vector(counted: CountedStream) -> tuple[Vector, str]:
    start = counted.offset
    array = read_array(counted)
    # Releases before 1.0.0-beta4 know row vectors only; later ones write them, too.
    is_row = array.ndim == 1 or (array.ndim == 2 and len(array) == 1)
    if not is_row or array.dtype.kind != "f":
        must = "statistics must be a row of floats"
        raise counted.corrupt(must, f"{array.dtype} of shape {array.shape}", start)
    # A signalling NaN is none of our business.
    with np.errstate(invalid="ignore"):
        return array.reshape(-1).astype(np.float64), str(array.dtype)


def _text(value: str) -> bytes:
    raw = encode_modified_utf8(value)
    return struct.pack(">H", len(raw)) + raw


_READERS: Mapping[str, _Read] = MappingProxyType(
    {
        "STANDARDIZE": _read_standardize,
        "MIN_MAX": _read_min_max,
        "IMAGE_MIN_MAX": _read_image,
        "MULTI_STANDARDIZE": _read_multi_standardize,
        "MULTI_MIN_MAX": _read_multi_min_max,
        "MULTI_HYBRID": _read_hybrid,
    }
)
