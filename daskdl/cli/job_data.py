"""The part of a job file that says where the examples are."""

from typing import Annotated, Any

from pydantic import AwareDatetime, Field, model_validator

from daskdl.cli.job_values import NamedTexts, PreProcessors, Texts, TypeWithOptions
from daskdl.data.normalizers.kinds import normalizer_from_dict
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DaskdlError
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.values import Conf, Count

__all__ = ["SOURCE_OPTIONS", "Data"]


class Data(Conf):
    """The data of a job: paths, format, columns, preprocessing."""

    train: Annotated[
        Texts, Field(description="Path or URL, or several, of the training data.")
    ]
    test: Annotated[
        Texts | None,
        Field(description="What the trained network is evaluated on."),
    ] = None
    validation: Annotated[
        Texts | None,
        Field(
            description="What the network is evaluated on beside the training, as "
            "`training.validation` says."
        ),
    ] = None
    pretrain: Annotated[
        Texts | None,
        Field(
            description="What `training.pretrain` reads, without labels; `train` if "
            "not given."
        ),
    ] = None
    features: Annotated[
        NamedTexts | None,
        Field(
            description="Column with the features, several columns that stand side by "
            "side, or a mapping of a graph's inputs to columns."
        ),
    ] = None
    label: Annotated[
        NamedTexts | None,
        Field(
            description="Column with the label, several, or a mapping of a graph's "
            "outputs to columns. Whole numbers become one-hot rows for a network that "
            "classifies."
        ),
    ] = None
    key: Annotated[
        Texts | None,
        Field(description="Column that names each example, or several together."),
    ] = None
    format: Annotated[
        str | None,
        Field(description="parquet, csv, json, ...; found out if not given."),
    ] = None
    normalize: Annotated[
        TypeWithOptions | None,
        Field(
            description="What is done to features, with the figures of the training "
            "data, which are kept in the model: standardize (mean 0, deviation 1), "
            "min_max (a range), image_min_max, image_vgg16, multi_hybrid, or a mapping "
            "with that `type` and its options. If not given, that of `model`; none "
            "takes it away."
        ),
    ] = None
    pre_processor: Annotated[
        PreProcessors | None,
        Field(
            description="What examples go through when they are read, in front of "
            "`normalize`: the `type` of a preprocessor of data sets or a normalizer, a "
            "mapping with that `type` and its options, or a list of these in order."
        ),
    ] = None
    class_names: Annotated[
        tuple[str, ...] | None,
        Field(
            description="Names of the classes of the (first) output, in the order of "
            "their numbers; kept in the model, printed by evaluations. If not given, "
            "those of `model`, else those that are stored with the labels. A label "
            "of text holds these names."
        ),
    ] = None
    features_mask: Annotated[
        str | None, Field(description="Column: 1 keeps a time step, 0 drops it.")
    ] = None
    labels_mask: Annotated[
        str | None, Field(description="The same for the labels.")
    ] = None
    handle_invalid: Annotated[
        str,
        Field(
            description="What is done with rows whose features or label cannot be "
            "used: error, skip (they are counted), or keep (predictions are null)."
        ),
    ] = "error"
    align: Annotated[
        str | None,
        Field(
            description="Columns of arrays are time series, padded to the longest and "
            "masked, whose steps stand at the `start` or at the `end`; `equal_length` "
            "takes none that is shorter."
        ),
    ] = None
    feature_shape: Annotated[
        tuple[Count, ...] | None,
        Field(description="Shape that flat features are brought to: [1, 28, 28]."),
    ] = None
    require_success: Annotated[
        bool,
        Field(description="Refuse a directory without _SUCCESS."),
    ] = True
    merge_schema: Annotated[
        bool,
        Field(
            description="Take columns that some Parquet, ORC or JSON files lack for "
            "null there."
        ),
    ] = False
    version: Annotated[
        int | None, Field(description="Of a Delta table; the newest if not given.")
    ] = None
    snapshot_id: Annotated[
        int | None, Field(description="Of an Iceberg table; the current if not given.")
    ] = None
    timestamp: Annotated[
        AwareDatetime | None,
        Field(
            description="Time at which a Delta or Iceberg table is read, with its "
            "offset from UTC: 2026-01-31T12:00:00+00:00."
        ),
    ] = None
    header: Annotated[
        bool | None,
        Field(description="CSV files begin with the column names; else found out."),
    ] = None
    delimiter: Annotated[
        str, Field(description="Of CSV files: one character or several.")
    ] = ","
    quote: Annotated[
        str, Field(description="Around CSV cells; one character, or empty for none.")
    ] = '"'
    escape: Annotated[
        str,
        Field(
            description="Before a quote inside a quoted CSV cell; one character, or "
            "empty for none."
        ),
    ] = "\\"
    char_to_escape_quote_escaping: Annotated[
        str | None,
        Field(
            description="Before the escape inside a quoted CSV cell; if not given, the "
            "escape itself unless it is the quote."
        ),
    ] = None
    null_value: Annotated[
        str, Field(description="What a CSV cell holds that is null.")
    ] = ""
    empty_value: Annotated[
        str, Field(description="What a quoted empty CSV cell stands for.")
    ] = ""
    comment: Annotated[
        str | None,
        Field(description="One character that begins CSV lines that are no data."),
    ] = None
    encoding: Annotated[str, Field(description="Of CSV, JSON and text files.")] = (
        "UTF-8"
    )
    multi_line: Annotated[
        bool,
        Field(
            description="CSV cells may span lines; a JSON file is one document instead "
            "of one a line."
        ),
    ] = False
    ignore_leading_white_space: Annotated[
        bool, Field(description="Take blanks in front of CSV cells off.")
    ] = False
    ignore_trailing_white_space: Annotated[
        bool, Field(description="Take blanks behind CSV cells off.")
    ] = False
    pattern: Annotated[
        str | None,
        Field(
            description="Regular expression that a whole line of a text file matches; "
            "its groups are columns."
        ),
    ] = None
    row_tag: Annotated[
        str | None, Field(description="Tag of the elements of XML files that are rows.")
    ] = None
    label_from: Annotated[
        str | None,
        Field(
            description="What of a file's path names its class: parent (the directory "
            "it is in), or a regular expression with one group."
        ),
    ] = None
    allow: Annotated[
        tuple[str, ...],
        Field(
            description="Classes and functions that pickle files may name beside the "
            "known ones, `shapes.Point`; they are imported and run."
        ),
    ] = ()
    element_class: Annotated[
        str | None,
        Field(
            description="Class of the elements of ArrayWritables in SequenceFiles: "
            "DoubleWritable, Text, ..."
        ),
    ] = None
    sample_dim: Annotated[
        str | None,
        Field(description="Dimension along which labelled arrays hold examples."),
    ] = None
    most_part_bytes: Annotated[
        Count,
        Field(
            description="What sparse rows of one part may take as dense rows, in bytes."
        ),
    ] = 4 << 30
    storage_options: Annotated[
        dict[str, Any], Field(description="Handed to the file system.")
    ] = Field(default_factory=dict)

    def source_options(self, **changes: Any) -> SourceOptions:
        """Return the options for opening `train`, `test` and others.

        Parameters
        ----------
        **changes
            Options that the network decides (`n_classes`, `dtype`, ...).

        Raises
        ------
        OptionError
            If two options do not go together.
        """
        values = {name: getattr(self, name) for name in SOURCE_OPTIONS}
        return SourceOptions(**{**values, **changes})

    @model_validator(mode="after")
    def _check_normalize(self) -> "Data":
        try:
            self.normalizer()
        except DaskdlError as error:
            raise PathError(str(error), "normalize") from error
        return self

    def normalizer(self) -> Normalizer | None:
        """Return a new normalizer as `normalize` says; None for none.

        Raises
        ------
        FormatError, OptionError
            If there is none like this.
        """
        if self.normalize in (None, "none"):
            return None
        is_name = isinstance(self.normalize, str)
        values = {"type": self.normalize} if is_name else self.normalize
        return normalizer_from_dict(values)


_NO_SOURCE_OPTIONS = ("train", "test", "validation", "pretrain", "normalize")
# What of Data goes to the sources as it stands.
SOURCE_OPTIONS = tuple(
    name for name in Data.model_fields if name not in _NO_SOURCE_OPTIONS
)
