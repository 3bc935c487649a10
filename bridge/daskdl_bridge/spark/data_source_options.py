"""Options of the data source: texts, as Spark has them, to those of sources.

Values are written as for ``--option`` of the command: YAML or JSON where they are no
texts, ``["a", "b"]`` for several columns, ``{"left": "a", "right": "b"}`` for inputs.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from daskdl.checks import check_one_of
from daskdl.cli.job_data import SOURCE_OPTIONS, Data
from daskdl.cli.stored_options import checked_values, refuse_option_of_spark, value_of
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import OptionError
from daskdl.nn.conf.values import Count
from daskdl.nn.conf.yaml import load_yaml

__all__ = ["ReadOptions", "WriteOptions", "read_options", "write_options"]

_READER = "spark.read.format('daskdl')"
_WRITER = "write.format('daskdl')"

# Names of columns, in which a colon or a number means nothing by itself.
_COLUMNS = ("features", "label", "key", "features_mask", "labels_mask")

# What a network fills in elsewhere.
_OF_NETWORKS = ("dtype", "n_classes", "n_features", "require_labels")

_READ = (*SOURCE_OPTIONS, *_OF_NETWORKS)
_WRITTEN = (
    "align",
    "feature_shape",
    "features",
    "features_mask",
    "handle_invalid",
    "label",
    "labels_mask",
    "storage_options",
    *_OF_NETWORKS,
)


class DataSourceOptions(Data):
    """The options of a job's data, and those that a network fills in there."""

    dtype: Annotated[str, Field(description="float32 or float64.")] = "float32"
    n_classes: Annotated[
        int | tuple[int | None, ...] | None,
        Field(description="The label is a class from 0, and becomes a one-hot row."),
    ] = None
    n_features: Annotated[
        Count | None, Field(description="Expected number of features.")
    ] = None
    require_labels: Annotated[
        bool, Field(description="Refuse data without labels.")
    ] = True


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What is read, and how.

    Parameters
    ----------
    paths : str or tuple of str
    options : SourceOptions
    dtype : str, optional
        Of features, labels and masks, if it was given.
    """

    paths: str | tuple[str, ...]
    options: SourceOptions
    dtype: str | None


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """Where minibatches are written, and of which columns.

    Parameters
    ----------
    url : str
    options : SourceOptions
    batch_size : int
        Examples of a minibatch.
    """

    url: str
    options: SourceOptions
    batch_size: int


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """Return the options of a reader.

    Parameters
    ----------
    given : mapping of str to str
        Of ``spark.read``, with the ``path`` or ``paths`` of ``load``.

    Raises
    ------
    OptionError
        If there is no path, an option is unknown, or a value is wrong.
    """
    values = dict(given)
    several, one = values.pop("paths", None), values.pop("path", None)
    paths = one if several is None else tuple(load_yaml(several, "paths"))
    if not paths:
        raise OptionError(f"{_READER}: load must be given a path, got none.")
    options = SourceOptions(**_checked(_READER, values, _READ))
    return ReadOptions(paths=paths, options=options, dtype=values.get("dtype"))


def write_options(given: Mapping[str, str]) -> WriteOptions:
    """Return the options of a writer.

    Parameters
    ----------
    given : mapping of str to str
        Of ``frame.write``, with the ``path`` of ``save``.

    Raises
    ------
    OptionError
        If there is no path or batch size, an option is unknown, or a value is wrong.
    """
    values = dict(given)
    url = values.pop("path", None)
    if not url:
        raise OptionError(f"{_WRITER}: save must be given a path, got none.")
    if "key" in values:
        raise OptionError(
            f"{_WRITER}: key must be left out, since DL4J's files have no place for "
            f"keys, got {values['key']!r}."
        )
    size = values.pop("batch_size", None)
    if size is None or not size.isdecimal() or int(size) < 1:
        raise OptionError(
            f"{_WRITER}: batch_size must be a whole number greater than 0, the "
            f"examples of a minibatch, got {size!r}."
        )
    known = ("batch_size", *_WRITTEN)
    return WriteOptions(
        # Tasks have folders of their own.
        url=url if ":/" in url else os.path.abspath(url),
        options=SourceOptions(**_checked(_WRITER, values, known)),
        batch_size=int(size),
    )


def _checked(
    who: str, given: Mapping[str, str], known: Collection[str]
) -> dict[str, Any]:
    values = {}
    for name, text in given.items():
        refuse_option_of_spark(who, name)
        check_one_of(who, "option", name, known)
        is_name = name in _COLUMNS and not text.startswith(("[", "{"))
        values[name] = text if is_name else value_of(name, text, f"{who}: {name}")
    if values.get("handle_invalid") == "keep":
        raise OptionError(
            f"{who}: handle_invalid must be 'error' or 'skip', got 'keep': only "
            "predictions can be null."
        )
    return checked_values(who, values, DataSourceOptions)
