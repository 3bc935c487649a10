"""Refusal of options that a source would not use."""

from collections.abc import Collection
from dataclasses import MISSING, fields
from typing import Any

from daskdl.checks import some
from daskdl.data.sources.sequence_options import SEQUENCE_OPTIONS
from daskdl.data.sources.snapshot_options import SNAPSHOT_OPTIONS
from daskdl.data.sources.text_options import TEXT_OPTIONS
from daskdl.errors import OptionError

__all__ = [
    "COLUMN_OPTIONS",
    "UnusedOptionError",
    "refuse_for_open",
    "refuse_given",
    "refuse_unused",
    "without_options",
]

COLUMN_OPTIONS = ("features", "label", "key", "features_mask", "labels_mask")
"""They choose among the columns of a table."""

# What says how things are stored. All other options are of examples, or harmless.
_OF_OTHERS = (
    "align",
    "export_directory",
    "handle_invalid",
    "keep",
    "label_from",
    "loader",
    "merge_schema",
    "pattern",
    "rdd_training_approach",
    "row_tag",
    "sample_dim",
)
_OF_FORMS = (*TEXT_OPTIONS, *SEQUENCE_OPTIONS, *SNAPSHOT_OPTIONS, *_OF_OTHERS)

# What an open source may be given all the same: what networks fill in, preprocessors
# that follow on its own, and what also tells where predictions go.
_FOR_OPEN = frozenset(
    {
        "class_names",
        "dtype",
        "feature_shape",
        "n_classes",
        "n_features",
        "pre_processor",
        "require_labels",
        "series_features",
        "series_labels",
        "storage_options",
    }
)


class UnusedOptionError(OptionError):
    """Options were given that mean nothing for the data.

    Parameters
    ----------
    message : str
    options : tuple of str
        Their names.
    """

    def __init__(self, message: str, options: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.options = options


def without_options(options: Any, names: Collection[str]) -> dict[str, Any]:
    """Return changes that bring these options back to their defaults."""
    return {name: _default(type(options), name) for name in names}


def refuse_given(who: str, what: str, options: Any, names: Collection[str]) -> None:
    """Refuse options that are given though nothing is to be chosen by them.

    Parameters
    ----------
    who, what : str
        Who refuses them, and the kind of data that they do not go with.
    options : SourceOptions
    names : collection of str
        Those that must be None.

    Raises
    ------
    OptionError
        If one is not.
    """
    for name in names:
        if getattr(options, name) is not None:
            raise OptionError(
                f"{who}: {name} must be None for {what}, got "
                f"{getattr(options, name)!r}."
            )


def refuse_unused(
    who: str, what: str, options: Any, heeded: Collection[str] = ()
) -> None:
    """Refuse options of stored forms that do not go with this one.

    Parameters
    ----------
    who : str
        For messages: a path.
    what : str
        What is read: ``parquet``, ``arrays in memory``.
    options : SourceOptions
        As the user gave them.
    heeded : collection of str
        Those that do.

    Raises
    ------
    UnusedOptionError
    """
    given = _given(options)
    unused = tuple(name for name in _OF_FORMS if name in given and name not in heeded)
    if unused:
        shown = ", ".join(f"{name}={given[name]!r}" for name in unused)
        known = f"; {what} knows {some(heeded, len(heeded))}" if heeded else ""
        raise UnusedOptionError(
            f"{who}: options must mean something for {what}, got {shown}{known}. Leave "
            "out what is of another form.",
            unused,
        )


def refuse_for_open(source: Any, options: Any) -> None:
    """Refuse options that a source would have needed when it was opened.

    Parameters
    ----------
    source : Source
    options : SourceOptions
        Those that it was opened with are no others.

    Raises
    ------
    OptionError
    """
    for name, value in _given(options).items():
        before = getattr(source.options, name, None)
        if name in _FOR_OPEN or _only(value) == _only(before):
            continue
        raise OptionError(
            f"open_source: {name} must be given where {source.name} is opened, got "
            f"{value!r} for a source that is open. Give it to open_source together "
            "with the path."
        )


def _given(options: Any) -> dict[str, Any]:
    """Return the fields of a SourceOptions that differ from their defaults."""
    return {
        name: value
        for name, value in vars(options).items()
        if value != _default(type(options), name)
    }


def _only(value: Any) -> Any:
    """Return the only value of a mapping: that of a graph with one input or output."""
    is_one = isinstance(value, dict) and len(value) == 1
    return next(iter(value.values())) if is_one else value


def _default(kind: type, name: str) -> Any:
    (found,) = (field for field in fields(kind) if field.name == name)
    if found.default_factory is not MISSING:
        return found.default_factory()
    return found.default
