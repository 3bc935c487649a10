"""Opening sources of data: options in, partitions out.

A source turns what the user names (a path, arrays, a collection) into partitions that
any worker can load by itself. Which source opens what is decided by asking the entry
points of the group ``daskdl.sources``, so that other packages can add theirs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from importlib.metadata import EntryPoint
from typing import Any, Literal, Protocol, TypeAlias

from daskdl.checks import as_known, check_one_of, check_type, some
from daskdl.data.pre_processors.partition import pre_processed, pre_processors
from daskdl.data.sources.partition import Source
from daskdl.data.sources.sequence_options import (
    allowed_names,
    check_element_class,
)
from daskdl.data.sources.source_checks import check_source_options
from daskdl.data.sources.text_options import check_text_options
from daskdl.data.sources.unused_options import refuse_for_open
from daskdl.data.time_series import alignment_of
from daskdl.entry_points import entry_points
from daskdl.errors import OptionError
from daskdl.option_types import check_option_types

__all__ = [
    "Columns",
    "SourceOpener",
    "SourceOptions",
    "checked_approach",
    "open_source",
    "opened_by",
]

Columns: TypeAlias = str | tuple[str, ...]
"""One column, or several that stand side by side."""

# They may be given otherwise than they are kept, and are looked at one by one.
_LOOKED_AT = frozenset(
    {
        "align",
        "allow",
        "element_class",
        "features",
        "features_mask",
        "keep",
        "key",
        "label",
        "labels_mask",
        "loader",
        "pre_processor",
        "rdd_training_approach",
        "timestamp",
    }
)

# DL4J's ``RDDTrainingApproach``: by files, or into the memory of workers.
_APPROACHES = ("export", "direct")

# Asked after all others: it takes any path, and others claim paths by their ending.
_ASKED_LAST = "path"


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Options for making examples of stored data: columns, format, shapes.

    Parameters
    ----------
    features, label : str, tuple of str, or dict of input or output name to those
        Columns (or variables) that hold features and labels. None lets the source
        decide where there is no choice, as in data sets of DL4J. A dict makes
        multi data sets, with inputs and outputs in the order of the dict. In tables
        ``image.data`` is the field of a struct, if no column bears that name.
    key : str or tuple of str, optional
        Column with the key of each example, or several that make it together; it comes
        back with the prediction.
    keep : str, tuple of str, or "all", optional
        Further columns of tables, or all that are there, which stand beside written
        predictions as they are stored.
    format : str, optional
        Stored format; None lets the source find out.
    loader : callable, optional
        Takes the URL of a file and returns a DataSet or a MultiDataSet, a minibatch:
        for files of a form of one's own. What DL4J's ``DataSetLoader`` does.
    features_mask, labels_mask : str, optional
        Columns with a mask of time steps, 1 keeps and 0 drops.
    align : {"start", "end", "equal_length"}, optional
        Columns of arrays are time series, an entry a step: a number, or an array of the
        features of the step. They become (batch, features, time), padded to the longest
        and masked, with the steps at the start or at the end; ``"equal_length"`` takes
        none that is shorter. DL4J's ``ALIGN_START``, ``ALIGN_END`` and ``EQUAL_LENGTH``
        are the same. If not given, arrays are taken as they are stored. A label that is
        no array is that of the last step. `n_features` are those of a step.
    series_features, series_labels : bool, {"NCW", "NWC"}, or tuple of those, optional
        With `align`, which inputs and outputs are time series, and their data format,
        NCW if it is not told; networks fill them in. If not given all inputs are, and
        outputs whose column holds arrays.
    handle_invalid : {"error", "skip", "keep"}
        What is done with rows whose features, label or mask are null, not finite, no
        class or no image, in pyspark.ml's words: refuse the data, leave these rows out
        and count them, or (in predictions only) give them null for a prediction.
    n_classes : int or tuple of (int or None), optional
        The label column holds integers from 0 to n_classes - 1 and becomes one-hot
        rows; anything else is refused. Several: one an output, in their order.
    class_names : tuple of str, optional
        Names of the classes of the (first) output, in the order of their numbers; a
        label of tables that holds texts holds these names. Networks fill theirs in.
    n_features : int, optional
        Expected number of features an example; another is refused.
    feature_shape : tuple of int, optional
        Shape that the flat features of an example are brought to, such as (1, 28, 28).
    dtype : {"float32", "float64"}, optional
        What features and labels are cast to; networks fill theirs in. If not given,
        float32 where it holds every number of the types that are stored (floats of 32
        bits at most, integers of 16 bits at most, booleans, images), else float64.
    require_success : bool
        Refuse a directory without ``_SUCCESS``.
    merge_schema : bool
        Take columns that some Parquet, ORC or JSON files lack for null there, as Spark
        does. Without it such a file is refused, but for JSON, which leaves nulls out.
    version : int, optional
        Of a Delta table; None is the newest.
    snapshot_id : int, optional
        Of an Iceberg table; None is the current snapshot.
    timestamp : datetime or str, optional
        In place of these: what the table was at that time. In ISO 8601, with its
        offset from UTC.
    header : bool, optional
        Whether CSV files start with column names; None lets the source find out.
    delimiter, quote, escape, char_to_escape_quote_escaping : str
        Of CSV files; the delimiter may have several characters, the others have one.
        An empty `quote` or `escape` switches it off. An escape counts inside quotes
        only; it is escaped by itself, unless `char_to_escape_quote_escaping` is given.
    null_value, empty_value : str
        What a CSV cell holds that is null, and what a quoted empty one stands for.
    comment : str, optional
        One character that begins lines of CSV files that are no data.
    encoding : str
        Of CSV, JSON and text files.
    multi_line : bool
        Whether cells of CSV files may span lines, and JSON files hold one document each
        instead of one a line.
    ignore_leading_white_space, ignore_trailing_white_space : bool
        Take blanks around CSV cells off. These, like all options from `header` on, bear
        the names and the defaults of Spark's reader.
    rdd_training_approach : {"export", "direct"}, optional
        How DataFrames and RDDs of Spark reach the workers of a cluster: by files, or
        from Spark's tasks into the workers' memory. If not given, as the training
        master says.
    export_directory : str, optional
        Where Spark writes its DataFrames and RDDs for the workers, and workers what
        their memory has no room for: a path or URL that both see. If not given, as the
        training master says.
    pattern : str, optional
        Regular expression of Python that a whole line of a text file matches; its
        groups are columns.
    row_tag : str, optional
        Tag of the elements of XML files that are rows.
    label_from : str, optional
        What of the path of a file is the name of its class: ``"parent"``, the name of
        the directory that it is in, or a regular expression with one group, looked for
        in the path. For directories of images, and for tables of files whose label
        column holds paths.
    allow : tuple of str
        Classes and functions beside those of Python, NumPy and Spark that pickle files
        may name, such as ``"shapes.Point"``. Those are imported and run on workers.
    element_class : str, optional
        Class of the elements of ``ArrayWritable`` in SequenceFiles, which do not tell
        it: ``DoubleWritable``, ``LongWritable``, ``Text``, ...
    sample_dim : str, optional
        Dimension of labelled arrays along which examples lie; None is the first
        dimension of the (first) features variable.
    storage_options : dict
        Handed to the file system.
    require_labels : bool
        Refuse data without labels. False for predictions.
    most_part_bytes : int
        What sparse rows of one part (libsvm, Spark's vectors) may take as the dense
        rows that networks read. More is refused before memory is taken.
    pre_processor : preprocessor or normalizer, or several in order, optional
        What examples go through when they are loaded, in front of the network's
        normalizer; what DL4J's ``setPreProcessor`` does. A mapping of `type` and
        options, or the name of a type, stands for one.

    Raises
    ------
    OptionError
        If an option, or two together, cannot be right.
    """

    features: Columns | dict[str, Columns] | None = None
    label: Columns | dict[str, Columns] | None = None
    key: Columns | None = None
    keep: Columns | None = None
    format: str | None = None
    loader: Callable[[str], Any] | None = None
    features_mask: str | None = None
    labels_mask: str | None = None
    align: str | None = None
    series_features: bool | str | tuple[bool | str, ...] | None = None
    series_labels: bool | str | tuple[bool | str, ...] | None = None
    handle_invalid: str = "error"
    n_classes: int | tuple[int | None, ...] | None = None
    class_names: tuple[str, ...] | None = None
    n_features: int | None = None
    feature_shape: tuple[int, ...] | None = None
    dtype: str | None = None
    require_success: bool = True
    merge_schema: bool = False
    version: int | None = None
    snapshot_id: int | None = None
    timestamp: datetime | None = None
    header: bool | None = None
    delimiter: str = ","
    quote: str = '"'
    escape: str = "\\"
    char_to_escape_quote_escaping: str | None = None
    null_value: str = ""
    empty_value: str = ""
    comment: str | None = None
    encoding: str = "UTF-8"
    multi_line: bool = False
    ignore_leading_white_space: bool = False
    ignore_trailing_white_space: bool = False
    rdd_training_approach: str | None = None
    export_directory: str | None = None
    pattern: str | None = None
    row_tag: str | None = None
    label_from: str | None = None
    allow: tuple[str, ...] = ()
    element_class: str | None = None
    sample_dim: str | None = None
    storage_options: dict[str, Any] = field(default_factory=dict)
    require_labels: bool = True
    most_part_bytes: int = 4 << 30
    pre_processor: Any = ()

    def __post_init__(self) -> None:
        # YAML and JSON know lists only.
        for option in ("features", "label"):
            object.__setattr__(self, option, _as_columns(option, getattr(self, option)))
        for option in (
            "class_names",
            "feature_shape",
            "n_classes",
            "series_features",
            "series_labels",
        ):
            if isinstance(getattr(self, option), list):
                object.__setattr__(self, option, tuple(getattr(self, option)))
        self._check_types()
        keep = None if self.keep is None else _one_or_more("keep", self.keep)
        keep = "all" if keep == ("all",) else keep
        object.__setattr__(self, "keep", keep)
        key = None if self.key is None else _one_or_more("key", self.key)
        is_one = isinstance(key, tuple) and len(key) == 1
        object.__setattr__(self, "key", key[0] if key and is_one else key)
        align = alignment_of("SourceOptions", self.align)
        object.__setattr__(self, "align", align)
        if self.rdd_training_approach is not None:
            approach = checked_approach("SourceOptions", self.rdd_training_approach)
            object.__setattr__(self, "rdd_training_approach", approach)
        object.__setattr__(self, "timestamp", _as_time(self.timestamp))
        through = pre_processors("SourceOptions", self.pre_processor)
        object.__setattr__(self, "pre_processor", through)
        check_text_options(self)
        object.__setattr__(self, "allow", allowed_names(self.allow))
        check_element_class(self.element_class)
        check_source_options(self)

    def classes_of(self, output: int) -> int | None:
        """Return the number of classes of an output; None if it has none."""
        if isinstance(self.n_classes, tuple):
            return self.n_classes[output]
        return self.n_classes

    def is_series(
        self, group: Literal["features", "labels"], index: int
    ) -> bool | None:
        """Return whether an input or output is a time series; None if nobody said."""
        flag = self._series_flag(group, index)
        return None if flag is None else bool(flag)

    def data_format(self, group: Literal["features", "labels"], index: int) -> str:
        """Return the data format of an input or output that is a time series."""
        flag = self._series_flag(group, index)
        return flag if isinstance(flag, str) else "NCW"

    def _series_flag(self, group: str, index: int) -> bool | str | None:
        flags: Any = getattr(self, f"series_{group}")
        found: bool | str | None = flags[index] if isinstance(flags, tuple) else flags
        return found

    def _check_types(self) -> None:
        hints = {one.name: one.type for one in fields(self)}
        plain = {name: getattr(self, name) for name in hints if name not in _LOOKED_AT}
        check_option_types("SourceOptions", plain, hints)


class SourceOpener(Protocol):
    """The interface of entry points of ``daskdl.sources``: an object or a class.

    It may have `look`, which takes what `open` takes and returns a
    :class:`~daskdl.data.sources.summary.DataSummary`, for ``daskdl inspect``;
    `list_paths`, which takes the same and returns the URLs of files; and `returned`,
    which takes the same and returns a :class:`~daskdl.data.sources.returned.Returned`,
    for data whose predictions are to be of their kind. For data that are to be brought
    to the workers first it may have `heeds`, which takes data and returns names of
    options that a training master gives for them, and `handed_over`; see
    :mod:`daskdl.data.sources.handed_over`.
    """

    def accepts(self, data: Any) -> bool:
        """Say whether this opener knows that kind of data, without reading any."""

    def open(self, data: Any, options: SourceOptions) -> Source:
        """List the partitions; read no more than that needs."""


def open_source(data: Any, options: SourceOptions | None = None) -> Source:
    """Open data, paths or collections as a source.

    Parameters
    ----------
    data : Source, DataSet, MultiDataSet, list of them, arrays, collection or path
        A `Source` is open already: `pre_processor` follows on its own, and options
        that had to be given when it was opened are refused. All else goes to the first
        entry point that accepts it, in order of their names, ``path`` last.
    options : SourceOptions, optional
        The defaults if not given.

    Returns
    -------
    Source

    Raises
    ------
    OptionError
        If no source accepts the data, or an option means nothing for them.
    """
    options = SourceOptions() if options is None else options
    check_type("open_source", "options", options, SourceOptions)
    if options.handle_invalid == "keep" and options.require_labels:
        raise OptionError(
            "open_source: handle_invalid must be 'error' or 'skip' for data with "
            "labels, got 'keep': only predictions can be null."
        )
    if options.keep is not None and options.require_labels:
        raise OptionError(
            "open_source: keep is for predictions, which need no labels, got "
            f"{options.keep!r}."
        )
    if isinstance(data, Source):
        refuse_for_open(data, options)
        source = data
    else:
        opened = opened_by(data).open(data, options)
        names = opened.class_names or options.class_names
        source = replace(opened, options=options, class_names=names)
    if not options.pre_processor:
        return source
    return pre_processed(source, options.pre_processor)


def checked_approach(who: str, value: Any) -> str:
    """Return the value of an option `rdd_training_approach`, given in any spelling.

    Raises
    ------
    OptionError
        If it is no approach.
    """
    known = as_known(value, _APPROACHES)
    return str(check_one_of(who, "rdd_training_approach", known, _APPROACHES))


def opened_by(data: Any) -> SourceOpener:
    """Return the opener of the data, without opening them.

    Raises
    ------
    OptionError
        If no source accepts them.
    """
    for opener in _openers():
        if opener.accepts(data):
            return opener
    hint = " What yields minibatches is for one process; give a list."
    raise OptionError(
        "open_source: data must be a path, paths, DataSets, pairs of arrays, a pandas "
        "or Arrow table, a Dask or xarray collection, or a DataFrame or RDD of Spark, "
        f"got {_described(data)}."
        f"{hint if isinstance(data, Iterator) else ''}"
    )


def _entry_points() -> list[EntryPoint]:
    found = entry_points("daskdl.sources")
    return sorted(found, key=lambda e: (e.name == _ASKED_LAST, e.name))


def _openers() -> Iterator[SourceOpener]:
    for entry_point in _entry_points():
        loaded = entry_point.load()
        yield loaded() if isinstance(loaded, type) else loaded


def _described(data: Any) -> str:
    name = f"{type(data).__module__}.{type(data).__qualname__}"
    if isinstance(data, list | tuple):
        kinds = sorted({type(item).__qualname__ for item in data})
        return f"a {name} of {some(kinds)}" if kinds else f"an empty {name}"
    return name


def _as_columns(option: str, value: Any) -> Columns | dict[str, Columns] | None:
    if isinstance(value, dict):
        if not value:
            raise OptionError(f"SourceOptions: {option} must not be an empty dict.")
        for name in value:
            check_type("SourceOptions", f"each name in {option}", name, str)
        return {name: _one_or_more(option, item) for name, item in value.items()}
    return None if value is None else _one_or_more(option, value)


def _one_or_more(option: str, value: Any) -> Columns:
    if isinstance(value, str) and value:
        return value
    if (
        not isinstance(value, list | tuple)
        or not value
        or not all(isinstance(name, str) for name in value)
    ):
        raise OptionError(
            f"SourceOptions: {option} must be a column name or several, got {value!r}."
        )
    twice = [name for name in dict.fromkeys(value) if value.count(name) > 1]
    if twice:
        raise OptionError(
            f"SourceOptions: {option} must name each column once, got {some(twice)} "
            "several times."
        )
    return tuple(value)


def _as_time(value: Any) -> datetime | None:
    try:
        # Python 3.10 does not know the Z.
        text = value.replace("Z", "+00:00") if isinstance(value, str) else None
        time = value if text is None else datetime.fromisoformat(text)
    except ValueError:
        time = value
    if time is None:
        return None
    if not isinstance(time, datetime) or time.tzinfo is None:
        raise OptionError(
            "SourceOptions: timestamp must be a time of ISO 8601 with its offset from "
            f"UTC, such as '2026-01-31T12:00:00+00:00', got {value!r}."
        )
    return time
