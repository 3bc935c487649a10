"""What a job file may hold, as values that refuse nonsense.

Nothing is opened here; :mod:`daskdl.cli.job_file` reads the file, and the commands look
at what its paths hold.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from daskdl.cluster.masters.options import (
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
    TrainingMaster,
    training_master,
)
from daskdl.data.normalizers.kinds import normalizer_from_dict
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DaskdlError, OptionError
from daskdl.nn.conf.errors import PathError, got
from daskdl.nn.conf.network import NetworkConfiguration
from daskdl.nn.conf.spellings import Taking
from daskdl.nn.conf.values import Conf, Count, Index, Positive

__all__ = ["SOURCE_OPTIONS", "Cluster", "Data", "Job", "Training"]


def _texts(value: Any) -> Any:
    """Take one text or several: what pydantic's own unions refuse in three lines."""
    if value == "":
        raise PathError("must not be empty.")
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and all(map(_is_text, value)):
        return tuple(value)
    raise PathError(f"must be text or a list of texts, got {got(value)}.")


def _named_texts(value: Any) -> Any:
    """Take texts, or a mapping of inputs or outputs to texts."""
    if not isinstance(value, Mapping):
        return _texts(value)
    return {str(name): _texts_at(str(name), item) for name, item in value.items()}


def _texts_at(name: str, value: Any) -> Any:
    try:
        return _texts(value)
    except PathError as error:
        raise error.below(name) from None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _type_with_options(value: Any) -> Any:
    """Take the name of a type, or a mapping with `type` and its options."""
    if value is None or isinstance(value, str | dict):
        return value
    raise PathError(f"must be text or a mapping with a `type`, got {got(value)}.")


def _pre_processors(value: Any) -> Any:
    """Take one type with options or several, and refuse what cannot be made."""
    for one in value if isinstance(value, list | tuple) else [value]:
        _type_with_options(one)
    try:
        SourceOptions(pre_processor=value)
    except DaskdlError as error:
        raise PathError(str(error)) from error
    return value


def _size(value: Any) -> Any:
    """Take a number of bytes as well as ``2 GiB``."""
    return str(value) if type(value) is int else value


_ONE_OR_MORE = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ]
}
_NAMED = {
    "anyOf": [
        *_ONE_OR_MORE["anyOf"],
        {"type": "object", "additionalProperties": _ONE_OR_MORE},
    ]
}

Texts = Annotated[Any, BeforeValidator(_texts), WithJsonSchema(_ONE_OR_MORE)]
NamedTexts = Annotated[Any, BeforeValidator(_named_texts), WithJsonSchema(_NAMED)]
TypeWithOptions = Annotated[
    Any,
    BeforeValidator(_type_with_options),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
]
PreProcessors = Annotated[
    Any,
    BeforeValidator(_pre_processors),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "object"},
                {
                    "type": "array",
                    "items": {"anyOf": [{"type": "string"}, {"type": "object"}]},
                },
            ]
        }
    ),
]
Size = Annotated[str, BeforeValidator(Taking(_size, ({"type": "integer"},)))]


class Data(Conf):
    """Where the examples are and what they are made of."""

    train: Annotated[
        Texts, Field(description="Path or URL, or several, of the training data.")
    ]
    test: Annotated[
        Texts | None,
        Field(description="What the trained network is evaluated on."),
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
    key: Annotated[str | None, Field(description="Column that names each example.")] = (
        None
    )
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
            "those of `model`, else those that are stored with the labels."
        ),
    ] = None
    features_mask: Annotated[
        str | None, Field(description="Column: 1 keeps a time step, 0 drops it.")
    ] = None
    labels_mask: Annotated[
        str | None, Field(description="The same for the labels.")
    ] = None
    feature_shape: Annotated[
        tuple[Count, ...] | None,
        Field(description="Shape that flat features are brought to: [1, 28, 28]."),
    ] = None
    require_success: Annotated[
        bool,
        Field(description="Refuse a directory without _SUCCESS."),
    ] = True
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
    encoding: Annotated[str, Field(description="Of CSV and JSON files.")] = "UTF-8"
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
        """Return the options for opening `train` or `test`.

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


# What of Data goes to the sources as it stands.
SOURCE_OPTIONS = tuple(
    name
    for name in Data.model_fields
    if name not in ("train", "test", "normalize", "class_names")
)


class Training(Conf):
    """How the workers train together.

    The keys below `shuffle` belong to the training master; those that are not given
    have the master's own defaults, and those of the other master are refused.
    """

    master: Annotated[
        Literal["shared", "averaging"],
        Field(
            description="shared: workers exchange compressed updates without waiting; "
            "averaging: they average their parameters every few minibatches."
        ),
    ] = "shared"
    epochs: Annotated[Count, Field(description="Passes over the training data.")] = 1
    batch_size: Annotated[
        Count | None,
        Field(
            description="Examples a minibatch, per worker; 32 if not given. Data that "
            "are stored as minibatches keep theirs if not given."
        ),
    ] = None
    shuffle: Annotated[
        bool, Field(description="Deal the minibatches in a new order every epoch.")
    ] = True
    threshold_algorithm: Annotated[
        TypeWithOptions | None,
        Field(
            description="shared: how the threshold of a message is chosen: adaptive, "
            "target_sparsity or fixed, or a mapping with that `type` and its options."
        ),
    ] = None
    residual_post_processor: Annotated[
        TypeWithOptions | None,
        Field(
            description="shared: what happens to what was not sent: clipping or none, "
            "or a mapping with that `type` and its options."
        ),
    ] = None
    rounding: Annotated[
        Literal["nearest", "down"] | None,
        Field(
            description="shared: send an element once it has reached half of the "
            "threshold (nearest), or all of it, as DL4J does (down)."
        ),
    ] = None
    averaging_frequency: Annotated[
        Count | None,
        Field(description="averaging: minibatches a worker between two averagings."),
    ] = None
    save_updater: Annotated[
        bool | None, Field(description="averaging: average the updater state too.")
    ] = None
    worker_prefetch_num_batches: Annotated[
        Index | None, Field(description="Minibatches that a worker reads ahead.")
    ] = None
    start_timeout_s: Annotated[
        Positive | None, Field(description="Limit for the workers to start.")
    ] = None
    peer_timeout_s: Annotated[
        Positive | None, Field(description="Limit for a peer that keeps silent.")
    ] = None
    idle_timeout_s: Annotated[
        Positive | None, Field(description="Limit for the client between two epochs.")
    ] = None
    elastic: Annotated[
        bool | None,
        Field(description="Workers that join train from the next epoch on."),
    ] = None

    @model_validator(mode="after")
    def _check_master(self) -> "Training":
        known = {field.name for field in fields(_MASTERS[self.master])}
        for name in self._given():
            if name not in known:
                raise PathError(f"does not go with master {self.master!r}.", name)
        try:
            self.training_master()
        except OptionError as error:
            raise PathError(str(error).removeprefix("training.")) from error
        return self

    def training_master(self) -> TrainingMaster:
        """Return the training master that the keys describe."""
        return training_master(self.master, self._given())

    def _given(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in _MASTER_OPTIONS}
        return {name: value for name, value in values.items() if value is not None}


_MASTERS = {
    "shared": SharedTrainingMaster,
    "averaging": ParameterAveragingTrainingMaster,
}
_MASTER_OPTIONS = tuple(
    name
    for name in Training.model_fields
    if name not in ("master", "epochs", "batch_size", "shuffle")
)


class Cluster(Conf):
    """Where to train: on this machine, or on a cluster that runs already."""

    workers: Annotated[
        Count | None,
        Field(
            description="Worker processes to start here, one a core if not given; with "
            "a scheduler, how many must be there at least."
        ),
    ] = None
    memory_limit: Annotated[
        Size | None, Field(description="Of each worker started here, e.g. 2 GiB.")
    ] = None
    scheduler: Annotated[
        str | None, Field(description="Address of a running one: tcp://host:8786.")
    ] = None
    resources: Annotated[
        dict[str, Positive] | None,
        Field(
            description="What a worker of the running cluster must offer to train, "
            "such as GPU: 1."
        ),
    ] = None
    timeout_s: Annotated[
        Positive, Field(description="Limit for the scheduler's answer.")
    ] = 10.0
    dashboard: Annotated[
        bool, Field(description="Serve Dask's dashboard of a cluster started here.")
    ] = False
    security: Annotated[
        Literal["tls", "none"] | None,
        Field(
            description="Of a cluster started here: tls, with certificates made for "
            "it, if not given; none lets every user of this machine in."
        ),
    ] = None

    @model_validator(mode="after")
    def _check_resources(self) -> "Cluster":
        if self.resources and self.scheduler is None:
            raise PathError(
                "goes with a scheduler only: workers started here offer none.",
                "resources",
            )
        return self


class Job(Conf):
    """A whole job: a network, its data, how and where to train, and where it goes."""

    network: Annotated[
        NetworkConfiguration | None,
        Field(description="The network to train: `layers`, or a graph of `vertices`."),
    ] = None
    model: Annotated[
        str | None,
        Field(
            description="A saved network to go on from, in place of `network`: a file "
            "of daskdl or of DL4J."
        ),
    ] = None
    data: Annotated[Data, Field(description="The examples, and what is in them.")]
    training: Annotated[
        Training, Field(description="How the workers train together.")
    ] = Training()
    cluster: Annotated[
        Cluster, Field(description="Where to train: here, or on a running cluster.")
    ] = Cluster()
    output: Annotated[
        str | None,
        Field(
            description="Directory or URL that gets model, evaluation, statistics and "
            "report; must not exist. If not given: runs/<job>-<date>-<time>."
        ),
    ] = None

    @model_validator(mode="after")
    def _check_network(self) -> "Job":
        if self.network is None and self.model is None:
            raise PathError("must be given, or `model` in its place.", "network")
        if self.network is not None and self.model is not None:
            raise PathError("must be left out where `network` is given.", "model")
        return self
