"""Checks of the options of sources, and of two of them together."""

from typing import Any

from daskdl.checks import (
    check_count,
    check_one_of,
    check_positive,
    check_whole,
    some,
)
from daskdl.data.sources.snapshot_options import SNAPSHOT_OPTIONS
from daskdl.errors import OptionError

__all__ = ["check_source_options"]

_HANDLING = ("error", "skip", "keep")
_SERIES_FLAGS = (None, False, True, "NCW", "NWC")


def check_source_options(options: Any) -> None:
    """Refuse options that cannot be right.

    Parameters
    ----------
    options : SourceOptions
        With the values that it keeps.

    Raises
    ------
    OptionError
    """
    for option in ("features_mask", "labels_mask"):
        _check_column(option, getattr(options, option))
    check_one_of("SourceOptions", "handle_invalid", options.handle_invalid, _HANDLING)
    if options.dtype is not None:
        check_one_of("SourceOptions", "dtype", options.dtype, ("float32", "float64"))
    _check_class_names(options)
    _check_loader(options)
    _check_numbers(options)
    _check_align(options)
    _check_combinations(options)


def _check_class_names(options: Any) -> None:
    names = options.class_names
    if names is None:
        return
    if len({*names}) != len(names) or not names:
        raise OptionError(
            "SourceOptions: class_names must be different texts in a list, got "
            f"{names!r}."
        )
    n_classes = options.classes_of(0)
    if n_classes is not None and len(names) != n_classes:
        raise OptionError(
            f"SourceOptions: class_names must be n_classes={n_classes} names, got "
            f"{len(names)}: {some(names)}."
        )


def _check_loader(options: Any) -> None:
    if options.loader is None:
        return
    if not callable(options.loader):
        raise OptionError(
            "SourceOptions: loader must be a function of the URL of a file, got "
            f"{type(options.loader).__name__}."
        )
    columns = ("features", "label", "key", "features_mask", "labels_mask", "format")
    given = [name for name in columns if getattr(options, name) is not None]
    if given:
        raise OptionError(
            f"SourceOptions: {some(given)} must be left out with a loader, which "
            "says itself what is in a file."
        )


def _check_numbers(options: Any) -> None:
    for output in range(_n_outputs(options)):
        n_classes = options.classes_of(output)
        if n_classes is not None and n_classes < 2:
            raise OptionError(
                f"SourceOptions: n_classes must be >= 2, got {options.n_classes!r}."
            )
    if options.n_features is not None:
        check_positive("SourceOptions", "n_features", options.n_features)
    for size in options.feature_shape or ():
        check_positive("SourceOptions", "each size in feature_shape", size)
    check_count("SourceOptions", "most_part_bytes", options.most_part_bytes)
    for option in ("version", "snapshot_id"):
        if getattr(options, option) is not None:
            check_whole("SourceOptions", option, getattr(options, option))


def _check_align(options: Any) -> None:
    for option in ("series_features", "series_labels"):
        given = getattr(options, option)
        for flag in given if isinstance(given, tuple) else (given,):
            check_one_of("SourceOptions", option, flag, _SERIES_FLAGS)
    for option in ("features_mask", "labels_mask", "feature_shape"):
        if options.align is not None and getattr(options, option) is not None:
            raise OptionError(
                f"SourceOptions: {option} must be None with align, which makes the "
                f"masks and shapes of time series, got {getattr(options, option)!r}."
            )


def _check_combinations(options: Any) -> None:
    if options.label_from is not None and options.labels_mask is not None:
        raise OptionError(
            "SourceOptions: labels_mask is for time series, and label_from for one "
            f"class an example, got {options.labels_mask!r} and {options.label_from!r}."
        )
    named = [o for o in SNAPSHOT_OPTIONS if getattr(options, o) is not None]
    if len(named) > 1:
        raise OptionError(
            f"SourceOptions: one of {some(SNAPSHOT_OPTIONS)} must name the "
            f"snapshot of a table, got {some(named)}."
        )
    if isinstance(options.label, dict) and not isinstance(options.features, dict):
        raise OptionError(
            "SourceOptions: label names several outputs, so features must be a "
            f"dict of input names too, got {options.features!r}."
        )
    n_labels = len(options.label) if isinstance(options.label, dict) else 1
    is_given = options.label is not None and isinstance(options.n_classes, tuple)
    if is_given and n_labels != _n_outputs(options):
        raise OptionError(
            "SourceOptions: n_classes must hold a number for each output that "
            f"label names, {n_labels}, got {options.n_classes!r}."
        )
    if isinstance(options.features, dict) and options.feature_shape is not None:
        raise OptionError(
            "SourceOptions: feature_shape is for one input, but features names "
            f"{len(options.features)} inputs."
        )
    if options.n_features is not None and options.feature_shape is not None:
        size = 1
        for length in options.feature_shape:
            size *= length
        if size != options.n_features:
            raise OptionError(
                f"SourceOptions: feature_shape must hold n_features="
                f"{options.n_features} numbers, got {options.feature_shape!r} "
                f"with {size}."
            )


def _n_outputs(options: Any) -> int:
    return len(options.n_classes) if isinstance(options.n_classes, tuple) else 1


def _check_column(option: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise OptionError(
            f"SourceOptions: {option} must be the name of one column, got {value!r}."
        )
